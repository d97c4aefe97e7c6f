/**
 * Checks requests and replies against the spec, by hand, and has the examples in `fixtures/wire`. Nothing is imported from
 * `src/`: this must not repeat a mistake in a schema of the program.
 */
import { readdirSync, readFileSync } from 'node:fs';

/** The format is described in `fixtures/wire/README.md`. */
export interface WireExample {
  name: string;
  about: string;
  listener: 'base' | 'lookup';
  request: { method: string; path: string; headers: Record<string, string>; body?: unknown };
  reply: { status: number; headers: Record<string, string>; body?: unknown; text?: string };
  sandbox?:
    | false
    | {
        faults?: string[];
        limits?: Record<string, unknown>;
        submit?: { path: string; body: unknown };
        after_ms?: number;
      };
}

const FOLDER = new URL('../../fixtures/wire/', import.meta.url);

/** All examples in the order of their names, or those named. */
export function wireExamples(...names: string[]): WireExample[] {
  const files = names.length > 0 ? names.map((name) => `${name}.json`) : readdirSync(FOLDER).sort();
  return files
    .filter((file) => file.endsWith('.json'))
    .map((file) => JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) as WireExample);
}

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Check = (value: unknown) => boolean;

const text: Check = (value) => typeof value === 'string';
const integer: Check = (value) => Number.isInteger(value);
const number: Check = (value) => typeof value === 'number';
const boolean: Check = (value) => typeof value === 'boolean';
const textOrNull: Check = (value) => value === null || typeof value === 'string';
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export interface SeenRequest {
  listener: 'base' | 'lookup';
  method: string;
  /** The path as it was sent. */
  path: string;
  /** Headers by lower-case name. */
  headers: Record<string, string>;
  body: string;
}

const BULK = { companies: 'company_id', users: 'user_id' } as const;
const LOOKUPS = '/api/v1/analytics/exports/lookups/';

/** Headers that are part of HTTP itself, and those in the spec. */
const HEADERS = new Set(
  'host connection content-length transfer-encoding user-agent authorization content-type accept'.split(' '),
);

/** The problems of a request, one sentence each; empty if it follows the spec. */
export function checkRequest(request: SeenRequest, key: string): string[] {
  const { headers, method, path } = request;
  const wrong = Object.keys(headers)
    .filter((name) => !HEADERS.has(name))
    .map((name) => `header ${name} is not in the spec`);
  if (headers.authorization !== `Token ${key}`) wrong.push('Authorization is not "Token <key>"');
  if (headers.accept !== undefined && headers.accept !== 'application/json') {
    wrong.push(`Accept is ${headers.accept}`);
  }
  const operation = operationOf(request);
  if (operation === undefined) return [...wrong, `${method} ${path} is no operation of the spec`];
  if (operation.kind === 'read') {
    if (request.body !== '') wrong.push('a body where none is needed');
    return wrong;
  }
  if (!/^application\/json(; ?charset=utf-8)?$/i.test(headers['content-type'] ?? '')) {
    wrong.push(`Content-Type is ${headers['content-type']}`);
  }
  let body: Json;
  try {
    body = JSON.parse(request.body) as Json;
  } catch {
    return [...wrong, 'the body is not JSON'];
  }
  return [...wrong, ...operation.check(body)];
}

type Operation = { kind: 'read' } | { kind: 'write'; check: (body: Json) => string[] };

function operationOf({ listener, method, path }: SeenRequest): Operation | undefined {
  const route = `${listener} ${method} ${path}`;
  if (route === 'base POST /v1/companies/bulk_identify') return { kind: 'write', check: bulk('companies') };
  if (route === 'base POST /v1/users/bulk_identify') return { kind: 'write', check: bulk('users') };
  if (route === 'base POST /v1/companies/identify') return { kind: 'write', check: company };
  // The id is one segment, without a slash, and is not `.` or `..`, which a URL parser would resolve.
  if (/^base GET \/v1\/background_jobs\/(?!\.{1,2}$)[\w.~!$&'()*+,;=:@%-]+$/.test(route))
    return { kind: 'read' };
  const list = Object.keys(RECORDS).find((name) => route === `lookup GET ${LOOKUPS}${name}`);
  return list === undefined ? undefined : { kind: 'read' };
}

function bulk(kind: 'companies' | 'users'): (body: Json) => string[] {
  return (body) => {
    if (!isObject(body)) return ['the body is not an object'];
    const extra = Object.keys(body).filter((name) => name !== kind);
    if (extra.length > 0) return [`unexpected key ${extra.join(', ')} in the body`];
    const items = body[kind];
    if (!Array.isArray(items)) return [`${kind} is not an array`];
    return items.flatMap((item, i) => itemProblems(kind, item).map((problem) => `${kind}[${i}]: ${problem}`));
  };
}

const company = (body: Json): string[] => itemProblems('companies', body);

function itemProblems(kind: 'companies' | 'users', item: unknown): string[] {
  if (!isObject(item)) return ['not an object'];
  const known = kind === 'users' ? ['user_id', 'company_id', 'metadata'] : ['company_id', 'metadata'];
  const wrong = Object.keys(item)
    .filter((name) => !known.includes(name))
    .map((name) => `unexpected key ${name}`);
  const id = item[BULK[kind]];
  if (typeof id !== 'string' || id === '') wrong.push(`${BULK[kind]} is ${JSON.stringify(id)}`);
  if ('company_id' in item && !text(item.company_id)) wrong.push('company_id is no string');
  if ('metadata' in item && !isObject(item.metadata)) wrong.push('metadata is no object');
  return wrong;
}

/** Fields of the records, with the types in the spec. */
const JOB: Record<string, Check> = {
  job_id: (value) => typeof value === 'string' && URL.canParse(value),
  type: text,
  status: text,
  filename: text,
  file_size: integer,
  total_rows: integer,
  start_time: text,
  end_time: textOrNull,
  links: text,
};
const PROGRESS: Record<string, Check> = { completed_rows: integer, elapsed_time: number };
const RECORDS: Record<string, Record<string, Check>> = {
  user_properties: {
    id: integer,
    type: (value) => value === 'user_property',
    key: text,
    display_name: text,
    data_type: text,
    is_auto_property: boolean,
  },
  embeds: { id: integer, title: text, type: (value) => value === 'banner' || value === 'card' },
  checklists: { display_name: text, key: text, data_type: text },
};
const ERROR: Record<string, Check> = { details: text, error: text, error_code: text, message: text };

/** The problems of the reply to a request. Fields that are not in the spec are allowed. */
export function checkReply(method: string, path: string, status: number, body: unknown): string[] {
  if (status >= 400) {
    const errors = isObject(body) ? body.errors : undefined;
    if (!Array.isArray(errors) || errors.length === 0) return ['no errors in the error body'];
    return errors.flatMap((error) => fields(ERROR, error));
  }
  if (path.endsWith('/bulk_identify')) {
    const early = isObject(body) && ('completed_rows' in body || 'elapsed_time' in body);
    return [
      ...(status === 202 ? [] : [`status ${status}`]),
      ...fields(JOB, body),
      ...(early ? ['progress in a bulk reply'] : []),
    ];
  }
  if (method === 'GET' && path.startsWith('/v1/background_jobs/')) {
    return [...(status === 200 ? [] : [`status ${status}`]), ...fields({ ...JOB, ...PROGRESS }, body)];
  }
  const record = RECORDS[path.slice(LOOKUPS.length)];
  if (path.startsWith(LOOKUPS) && record !== undefined) {
    return Array.isArray(body) ? body.flatMap((one) => fields(record, one)) : ['not an array'];
  }
  return []; // the spec does not show a single company's success
}

function fields(checks: Record<string, Check>, record: unknown): string[] {
  if (!isObject(record)) return ['not an object'];
  return Object.entries(checks)
    .filter(([name, check]) => !check(record[name]))
    .map(([name]) => `${name} is ${JSON.stringify(record[name])}`);
}
