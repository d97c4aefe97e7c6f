/** Reads request bodies as strictly as the spec allows, and reports every problem, item by item. */

import { Buffer, isUtf8 } from 'node:buffer';
import type { Piece } from './profile.js';
import { type DataType, dataType, widen } from './properties.js';
import { eachElement, eachMember, space } from './raw-json.js';
import { ID_FIELD, type Kind } from './types.js';

export interface Item extends Piece {
  id: string;
}

/** One problem of a body. `where` is a path such as `users[3].company_id`. */
export interface Problem {
  /** 400: the body does not have the shape of the operation. 422: it has, but a value is invalid. */
  status: 400 | 422;
  where: string;
  message: string;
}

export interface Bulk {
  items: Item[];
  /** Metadata keys and their types, from which user properties are derived. Empty for companies. */
  properties: Record<string, DataType>;
}

export type Reading<T> = { ok: true; value: T } | { ok: false; problems: Problem[] };

/** Reads the body of a bulk upsert (spec: Endpoints 1 and 3). */
export function readBulk(kind: Kind, bytes: Uint8Array): Reading<Bulk> {
  const parsed = parse(bytes);
  if (!parsed.ok) return parsed;
  const { json, value } = parsed.value;
  const problems = unknownKeys(value, [kind], 'body');
  const list = isObject(value) ? own(value, kind) : undefined;
  if (!Array.isArray(list)) problems.push({ status: 400, where: kind, message: `${kind} must be an array` });
  else if (list.length === 0) problems.push({ status: 400, where: kind, message: `${kind} is empty` });
  else problems.push(...list.flatMap((item, i) => itemProblems(kind, item, `${kind}[${i}]`)));
  if (problems.length > 0) return { ok: false, problems };

  const items: Item[] = [];
  let start = 0; // the last value of a repeated key wins, as with JSON.parse
  eachMember(json, space(json, 0), (_key, from) => {
    start = from;
  });
  eachElement(json, start, (from) => items.push(rawItem(kind, json, from)));
  const properties = new Map<string, DataType>();
  if (kind === 'users') {
    for (const item of list as { metadata?: Record<string, unknown> }[]) gather(properties, item.metadata);
  }
  return { ok: true, value: { items, properties: Object.fromEntries(properties) } };
}

/** Reads the body of a single company's upsert (spec: Endpoint 2), which has the form of one item. */
export function readCompany(bytes: Uint8Array): Reading<Item> {
  const parsed = parse(bytes);
  if (!parsed.ok) return parsed;
  const { json, value } = parsed.value;
  const problems = itemProblems('companies', value, 'body');
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, value: rawItem('companies', json, space(json, 0)) };
}

function parse(bytes: Uint8Array): Reading<{ json: string; value: unknown }> {
  const wrong = (message: string): Reading<never> => ({
    ok: false,
    problems: [{ status: 400, where: 'body', message }],
  });
  if (!isUtf8(bytes)) return wrong('not UTF-8');
  const json = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
  try {
    return { ok: true, value: { json, value: JSON.parse(json) } };
  } catch (error) {
    return wrong(`not JSON: ${(error as Error).message}`);
  }
}

function itemProblems(kind: Kind, item: unknown, where: string): Problem[] {
  if (!isObject(item)) return [{ status: 400, where, message: 'an item must be an object' }];
  const idField = ID_FIELD[kind];
  const problems = unknownKeys(item, [idField, 'company_id', 'metadata'], where);
  const wrong = (field: string, message: string): void => {
    problems.push({ status: 422, where: `${where}.${field}`, message: `${field} ${message}` });
  };
  const id = own(item, idField);
  if (id === undefined) wrong(idField, 'is missing');
  else if (typeof id !== 'string') wrong(idField, 'must be a string');
  else if (id === '') wrong(idField, 'is empty');
  const company = own(item, 'company_id');
  if (kind === 'users' && company !== undefined && typeof company !== 'string')
    wrong('company_id', 'must be a string');
  const metadata = own(item, 'metadata');
  if (metadata !== undefined && !isObject(metadata)) wrong('metadata', 'must be an object');
  return problems;
}

function unknownKeys(value: unknown, known: readonly string[], where: string): Problem[] {
  if (!isObject(value)) return [{ status: 400, where, message: 'must be an object' }];
  return Object.keys(value)
    .filter((key) => !known.includes(key))
    .map((key) => ({ status: 400, where, message: `unknown key ${JSON.stringify(key)}` }));
}

/** The item that begins at index `at`. Its metadata stays text. */
function rawItem(kind: Kind, json: string, at: number): Item {
  const item: Item = { id: '', companyId: null, metadata: null };
  eachMember(json, at, (key, start, end) => {
    if (key === 'metadata') item.metadata = json.slice(start, end);
    else if (key === ID_FIELD[kind]) item.id = JSON.parse(json.slice(start, end)) as string;
    else item.companyId = JSON.parse(json.slice(start, end)) as string;
  });
  return item;
}

function gather(properties: Map<string, DataType>, metadata: Record<string, unknown> | undefined): void {
  for (const key in metadata) {
    const type = dataType(metadata[key]);
    if (type !== undefined) properties.set(key, widen(properties.get(key), type));
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An own member of a parsed object: inherited ones, such as `constructor`, do not count. */
function own(value: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}
