/** Reads request bodies as strictly as the spec allows, and reports every problem, item by item. */

import { isUtf8 } from 'node:buffer';
import type * as z from 'zod';
import { parseJson, Refusal } from './answer.js';
import { type DataType, dataType, widen } from './lookups.js';
import { ID_FIELD, type Kind, type Piece } from './profile.js';
import { eachPart } from './raw-json.js';
import { BODIES } from './schemas.js';

export interface Item extends Piece {
  id: string;
}

export interface Bulk {
  items: Item[];
  /** Metadata keys and their types, from which user properties are derived. Empty for companies. */
  properties: Record<string, DataType>;
}

/**
 * Reads the body of a bulk upsert (spec: Endpoints 1 and 3), or of a single company's upsert (spec: Endpoint 2), which
 * has the form of one item.
 * @throws Refusal
 */
export function readItems(kind: Kind, form: 'bulk' | 'single', body: Buffer): Bulk {
  if (!isUtf8(body)) throw new Refusal(400, { where: 'body', message: 'not UTF-8' });
  const json = body.toString();
  const value = parseJson(json);
  const { error } = BODIES[kind][form].safeParse(value);
  if (error) throw invalid(error.issues, form);
  if (form === 'single') return { items: [rawItem(kind, json, 0)], properties: {} };
  const items: Item[] = [];
  let list = 0;
  eachPart(json, 0, (start) => {
    list = start; // the last value of a repeated key wins, as with JSON.parse
  });
  eachPart(json, list, (start) => items.push(rawItem(kind, json, start)));
  const properties = new Map<string, DataType>();
  for (const { metadata = {} } of (value as { users?: { metadata?: object }[] }).users ?? []) {
    for (const [key, one] of Object.entries(metadata)) {
      const type = dataType(one);
      if (type !== undefined) properties.set(key, widen(properties.get(key), type));
    }
  }
  return { items, properties: Object.fromEntries(properties) };
}

/**
 * 400: the body does not have the shape of the operation. 422: it has, but a value is invalid. Unknown keys come first,
 * because they often are why another one is missing.
 */
function invalid(issues: readonly z.core.$ZodIssue[], form: 'bulk' | 'single'): Refusal {
  const keysOf = (issue: z.core.$ZodIssue) => (issue.code === 'unrecognized_keys' ? issue.keys : []);
  const problems = issues
    .toSorted((a, b) => keysOf(b).length - keysOf(a).length)
    .flatMap((issue) => {
      const path = form === 'bulk' && issue.path.length > 0 ? issue.path : ['body', ...issue.path];
      const where = path
        .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
        .join('');
      const unknown = keysOf(issue).map((key) => `unknown key ${JSON.stringify(key)}`);
      const messages = unknown.length > 0 ? unknown : [issue.message];
      return messages.map((message) => ({ where: where.slice(1), message }));
    });
  const ofValues = issues.every(({ path }) => path.length === (form === 'bulk' ? 3 : 1));
  return new Refusal(ofValues ? 422 : 400, problems);
}

/** The item that begins at index `at`. Its metadata stays text. */
function rawItem(kind: Kind, json: string, at: number): Item {
  const item: Item = { id: '', companyId: null, metadata: null };
  eachPart(json, at, (start, end, key) => {
    const text = json.slice(start, end);
    if (key === 'metadata') item.metadata = text;
    else if (key === ID_FIELD[kind]) item.id = JSON.parse(text) as string;
    else item.companyId = JSON.parse(text) as string;
  });
  return item;
}
