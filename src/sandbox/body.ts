/** Reads request bodies as strictly as the spec allows, and reports every problem, item by item. */

import { Buffer, isUtf8 } from 'node:buffer';
import { type DataType, dataType, widen } from './lookups.js';
import type { Piece } from './profile.js';
import { eachElement, eachMember, space } from './raw-json.js';
import { ID_FIELD, type Kind } from './types.js';

export interface Item extends Piece {
  id: string;
}

/** One problem of a body. `where` is a path such as `users[3].company_id`. */
interface Problem {
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

/** What is wrong with a body: `status` is for the whole of it. */
export interface Invalid {
  status: 400 | 422;
  problems: Problem[];
}

/**
 * Reads the body of a bulk upsert (spec: Endpoints 1 and 3), or of a single company's upsert (spec: Endpoint 2), which
 * has the form of one item.
 */
export function readItems(kind: Kind, form: 'bulk' | 'single', bytes: Uint8Array): Bulk | Invalid {
  const wrong = (message: string): Invalid => ({
    status: 400,
    problems: [{ status: 400, where: 'body', message }],
  });
  if (!isUtf8(bytes)) return wrong('not UTF-8');
  const json = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    return wrong(`not JSON: ${(error as Error).message}`);
  }
  const problems = form === 'bulk' ? bulkProblems(kind, value) : itemProblems(kind, value, 'body');
  if (problems.length > 0)
    return { status: problems.some(({ status }) => status === 400) ? 400 : 422, problems };

  let start = space(json, 0);
  if (form === 'single') return { items: [rawItem(kind, json, start)], properties: {} };
  const items: Item[] = [];
  eachMember(json, start, (_key, from) => {
    start = from; // the last value of a repeated key wins, as with JSON.parse
  });
  eachElement(json, start, (from) => items.push(rawItem(kind, json, from)));
  const properties = new Map<string, DataType>();
  if (kind === 'users') {
    for (const item of (value as { users: { metadata?: Record<string, unknown> }[] }).users)
      gather(properties, item.metadata);
  }
  return { items, properties: Object.fromEntries(properties) };
}

function bulkProblems(kind: Kind, value: unknown): Problem[] {
  const problems = unknownKeys(value, [kind], 'body');
  const list = isObject(value) ? own(value, kind) : undefined;
  if (Array.isArray(list) && list.length > 0)
    return [...problems, ...list.flatMap((item, i) => itemProblems(kind, item, `${kind}[${i}]`))];
  const message = Array.isArray(list) ? `${kind} is empty` : `${kind} must be an array`;
  return [...problems, { status: 400, where: kind, message }];
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
