/** Items as JSON text: what is around their values (spec: Company, User), their identifiers, and how two become one. */
import { ID_FIELD, type Kind, type RejectedRow } from '../model.js';
import { Hashes } from './hashes.js';
import { cleaner } from './identifier.js';
import { look } from './json/look.js';
import { decoded, objectMembers } from './json/members.js';
import { METADATA } from './mapping/targets.js';
import { OPEN_BRACE, type Output, viewOf } from './text/bytes.js';
import type { OpenedInput } from './types.js';

/** Before the identifier. */
export const headOf = (kind: Kind): string => `{"${ID_FIELD[kind]}":`;
/** Before the company, and before the members of the metadata. */
const COMPANY = ',"company_id":';
const OPEN_METADATA = ',"metadata":';

/**
 * Writes the beginning of an item. The members of its metadata follow, each with a comma before it.
 * @param company empty if it names none
 * @param room for what follows
 * @returns where the members begin
 */
export function beginItem(out: Output, head: string, id: string, company: string, room: number): number {
  out.write(head);
  out.writeJson(id);
  if (company !== '') {
    out.write(COMPANY);
    out.writeJson(company);
  }
  out.write(OPEN_METADATA, room);
  return out.length;
}

/** Writes the end of an item. @param start of the members of its metadata: without any, it has none */
export function endItem(out: Output, start: number): void {
  if (out.length === start) out.length -= OPEN_METADATA.length;
  else {
    out.bytes[start] = OPEN_BRACE; // where the comma of the first one is
    out.write('}');
  }
  out.write('}');
}

/** The version of the rules by which a record becomes an item. Runs begun under other rules are not continued. */
export const ITEM_FORMAT_VERSION = 1;

/** JSON text of an empty value; null if its key is left out. */
export const EMPTY = { omit: null, null: 'null', string: '""' } as const;

/** An item as it is sent (spec: Company, User). */
export type Item = Record<string, unknown> & { metadata?: Record<string, unknown> };

export const parseItem = (bytes: Uint8Array): Item =>
  JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')) as Item;

/** The result of two consecutive upserts: keys of the later win, others stay. */
export function mergeUpserts(earlier: Item, later: Item): Item {
  const { metadata: under, ...fields } = earlier;
  const { metadata: over, ...laterFields } = later;
  const merged: Item = { ...fields, ...laterFields };
  if (under || over) merged.metadata = { ...under, ...over };
  return merged;
}

/** Keyed hashes of merged items. Equal items have equal hashes, regardless of the order of their keys. */
export class MergedHashes {
  readonly #hashes: Hashes;
  readonly #field: string;

  constructor(kind: Kind, hashKey: Uint8Array) {
    this.#hashes = new Hashes(hashKey, 'merged');
    this.#field = ID_FIELD[kind];
  }

  of({ metadata = {}, ...fields }: Item): bigint {
    const { [this.#field]: _, ...others } = fields;
    const sorted = Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1));
    return this.#hashes.of(JSON.stringify([others, sorted]));
  }
}

/** The identifier of an item as it is sent, which is its first member. @param start where the item begins */
export function idOfItem(items: Buffer, start: number, kind: Kind): string {
  const at = start + headOf(kind).length;
  return JSON.parse(items.toString('utf8', at, look(items, viewOf(items), at, items.length))) as string;
}

/**
 * Reads rows as they are in the file: gives the text in a column or field, undefined if there is none. Of JSON, null is
 * empty, and any other value is as it is written.
 * @param others whether to take JSON values that are not texts
 */
export function valuesIn(columns: readonly string[], others = true) {
  const places = new Map(columns.map((column, place) => [column, place]));
  return (original: RejectedRow['original']): ((column: string) => string | undefined) => {
    if ('cells' in original) return (column) => original.cells[places.get(column) ?? -1];
    const flat = objectMembers(String(original.item));
    const nested = flat.flatMap(([name, json]) => (name === METADATA ? objectMembers(json) : []));
    const fields = new Map([...nested, ...flat]);
    return (column) => {
      const json = fields.get(column);
      if (json?.startsWith('"')) return decoded(json.slice(1, -1));
      return json === 'null' ? '' : others ? json : undefined;
    };
  };
}

/** Reads the texts of some columns or fields; null for one that is empty. */
export function textsIn(columns: readonly string[], wanted: readonly string[], others = false) {
  const values = valuesIn(columns, others);
  return (original: RejectedRow['original']): (string | null)[] => {
    const valueIn = values(original);
    return wanted.map((column) => valueIn(column) || null);
  };
}

/** The identifier of a row as it is in the file; empty if it has none. */
export function idOfOriginal(original: RejectedRow['original'], input: OpenedInput): string {
  const valueIn = valuesIn(input.columns)(original);
  const text = valueIn(input.idColumn) ?? ('item' in original ? valueIn(ID_FIELD[input.kind]) : null) ?? '';
  return cleaner(input.rules)?.(text) ?? text;
}
