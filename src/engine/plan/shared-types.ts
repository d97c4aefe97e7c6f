/** One type for a key in all inputs of a kind: their cells decide it together, as if they were one file (contract §3 "Types"). */
import type { Kind } from '../model.js';
import { decide, type Inferred, type OpenedInput, type Scan, sameDecimals } from '../read/index.js';

interface Member {
  input: { opened: Pick<OpenedInput, 'kind' | 'path'>; scan: Scan };
  inferred: readonly Inferred[];
  result(texts: ReadonlyMap<string, string>): Scan;
}

/** Keys that are text in at least one input, or would be if all inputs were one file. */
export class SharedTypes {
  readonly #members = new Map<Kind, Member[]>();

  /** @param result scans anew with keys that are text, and why */
  add(input: Member['input'], inferred: readonly Inferred[], result: Member['result']): void {
    const { kind } = input.opened;
    const members = this.#members.get(kind) ?? [];
    this.#members.set(kind, members);
    members.push({ input, inferred, result });
  }

  /** Once all inputs are scanned: replaces the scans of those in which a key would be a number, or a boolean, although it is text elsewhere. */
  settle(): void {
    for (const members of this.#members.values()) {
      const texts = textsOf(members);
      for (const { input, inferred, result } of members) {
        if (inferred.some(({ key, type }) => texts.has(key) && type !== 'string')) input.scan = result(texts);
      }
    }
  }
}

/** Keys that are text, by the cells of all inputs, and what makes them so. */
function textsOf(members: readonly Member[]): Map<string, string> {
  const texts = new Map<string, string>();
  const decimalsOf = new Map<string, number>();
  const typesOf = new Map<string, Set<boolean>>();
  for (const { key, type, stats } of members.flatMap(({ inferred }) => inferred)) {
    decimalsOf.set(key, sameDecimals(decimalsOf.get(key) ?? stats.decimals, stats.decimals));
    typesOf.set(key, (typesOf.get(key) ?? new Set()).add(type === 'boolean'));
  }
  for (const { input, inferred } of members) {
    for (const { key, place, ...own } of inferred) {
      const isNumber = own.type === 'integer' || own.type === 'number';
      // A zero at the end is evidence where the cells of all inputs differ in their decimals.
      const stats = { ...own.stats, decimals: decimalsOf.get(key)! };
      const { type, reason } = isNumber ? decide(stats, place) : own;
      // Booleans beside other values are text, as they are in one sheet.
      const isText = type === 'string' || (type === 'boolean' && typesOf.get(key)!.size > 1);
      if (isText && !texts.has(key)) texts.set(key, `${input.opened.path}, ${reason}`);
    }
  }
  return texts;
}
