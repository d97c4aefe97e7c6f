/** Reads request bodies as strictly as the spec allows, and reports every problem, item by item. */

import { Buffer, isUtf8 } from 'node:buffer';
import type * as z from 'zod';
import type { Problem } from './answer.js';
import { type DataType, dataType, widen } from './lookups.js';
import { ID_FIELD, type Kind, type Piece } from './profile.js';
import { eachElement, eachMember, space } from './raw-json.js';
import { BODIES } from './schemas.js';

export interface Item extends Piece {
  id: string;
}

export interface Bulk {
  items: Item[];
  /** Metadata keys and their types, from which user properties are derived. Empty for companies. */
  properties: Record<string, DataType>;
}

/** What is wrong with a body. */
export interface Invalid {
  /** 400: it does not have the shape of the operation. 422: it has, but a value is invalid. */
  status: 400 | 422;
  problems: Problem[];
}

/**
 * Reads the body of a bulk upsert (spec: Endpoints 1 and 3), or of a single company's upsert (spec: Endpoint 2), which
 * has the form of one item.
 */
export function readItems(kind: Kind, form: 'bulk' | 'single', bytes: Uint8Array): Bulk | Invalid {
  const wrong = (message: string): Invalid => ({ status: 400, problems: [{ where: 'body', message }] });
  if (!isUtf8(bytes)) return wrong('not UTF-8');
  const json = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    return wrong(`not JSON: ${(error as Error).message}`);
  }
  const { error } = BODIES[kind][form].safeParse(value);
  if (error) return invalid(error.issues, form);

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

function invalid(issues: readonly z.core.$ZodIssue[], form: 'bulk' | 'single'): Invalid {
  const [unknown, others] = [true, false].map((is) =>
    issues.filter(({ code }) => (code === 'unrecognized_keys') === is),
  ) as [z.core.$ZodIssueUnrecognizedKeys[], z.core.$ZodIssue[]];
  const where = (path: readonly PropertyKey[]): string =>
    (form === 'bulk' && path.length > 0 ? path : ['body', ...path])
      .map((part, i) => (typeof part === 'number' ? `[${part}]` : `${i > 0 ? '.' : ''}${String(part)}`))
      .join('');
  const problems = [
    ...unknown.flatMap(({ path, keys }) =>
      keys.map((key) => ({ where: where(path), message: `unknown key ${JSON.stringify(key)}` })),
    ),
    ...others.map(({ path, message }) => ({ where: where(path), message })),
  ];
  const ofValues = others.every(({ path }) => path.length === (form === 'bulk' ? 3 : 1));
  return { status: ofValues && unknown.length === 0 ? 422 : 400, problems };
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
