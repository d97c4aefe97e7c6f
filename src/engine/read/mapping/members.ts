/** A cell of a `metadata` column: a JSON object whose members become metadata. */
import { inexactNumber, jsonString, writtenAgain } from '../json/text.js';

/** Members as key and JSON text, or the reason why the cell is no such object. */
export function membersOf(cell: string): [key: string, json: string][] | string {
  let value: unknown;
  try {
    value = JSON.parse(cell);
  } catch {
    return 'metadata is not a JSON object; to keep the column as text, give it another key with --map';
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return 'metadata is not a JSON object';
  }
  const number = inexactNumber(cell);
  if (number !== null) return inexactReason('metadata', number);
  const members = Object.entries(value).map(([key, member]) => [key, writtenAgain(member)] as const);
  if (members.some(([, json]) => json === null)) return 'metadata is nested too deeply';
  return members as [key: string, json: string][];
}

/** JSON text of members, each with a comma before it. */
export function membersText(members: readonly (readonly [key: string, json: string])[]): string {
  return members.map(([key, json]) => `,${jsonString(key)}:${json}`).join('');
}

export const inexactReason = (where: string, number: string): string =>
  `${where}: no number holds ${number} exactly; write it in quotes`;
