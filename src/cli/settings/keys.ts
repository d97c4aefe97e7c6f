/** Dotted keys of the config file, as `config get`, `set` and `unset` take them. */
import type * as z from 'zod';
import { ConfigError } from '../../engine/errors.js';
import { nearest } from '../../engine/nearest.js';
import { accountShape, type ConfigFile, importShape, leafShape, NAME, regionShape } from './schema.js';

/** A known key: its parts, and the schema of its value. */
export interface Key {
  /** As it is written: `accounts.prod.regions.eu.base_url`. */
  name: string;
  path: readonly string[];
  schema: z.ZodType;
  /** True for a token: it is never taken from the command line and never printed. */
  secret: boolean;
}

export type Scalar = string | number | boolean;

/**
 * Reads a dotted key.
 * @throws ConfigError naming the nearest known key
 */
export function parseKey(name: string): Key {
  const path = name.split('.');
  const schema = schemaAt(path);
  if (schema) return { name, path, schema, secret: path.at(-1) === 'token' };
  if (/^(accounts\.[^.]+\.)?regions\.sandbox\./.test(name)) {
    throw new ConfigError(`${name}: the sandbox is embedded and has no hosts to set`);
  }
  const like = nearestKey(path);
  throw new ConfigError(`unknown key "${name}"`, {
    hint: like
      ? `did you mean "${like}"?`
      : 'keys are token, region, regions.<name>.base_url, import.chunk_size and more: profiles help config',
  });
}

/** The known key most like an unknown one, names of accounts and regions taken as they are. */
export function nearestKey(path: readonly string[]): string | undefined {
  return nearest(path.join('.'), knownKeys(path));
}

/** All keys, with the names that `path` holds put in, else `<name>`. */
export function knownKeys(path: readonly string[]): string[] {
  const account = NAME.test(path[1] ?? '') ? path[1]! : '<name>';
  const own = path.length > 2 && nearest(path[0]!, ['accounts']) !== undefined;
  return [
    ...Object.keys(accountShape),
    ...sectionKeys(path),
    ...(own || path.length === 0
      ? sectionKeys(path.slice(2)).map((key) => `accounts.${account}.${key}`)
      : []),
  ];
}

function sectionKeys(path: readonly string[]): string[] {
  const region = NAME.test(path[1] ?? '') ? path[1]! : '<name>';
  return [
    ...Object.keys(leafShape),
    ...Object.keys(regionShape).map((key) => `regions.${region}.${key}`),
    ...Object.keys(importShape).map((key) => `import.${key}`),
  ];
}

function schemaAt(path: readonly string[]): z.ZodType | undefined {
  if (path.length === 1 && Object.hasOwn(accountShape, path[0]!)) return own(accountShape, path[0]!);
  if (path[0] === 'accounts' && path.length > 2) {
    return NAME.test(path[1]!) ? sectionSchema(path.slice(2)) : undefined;
  }
  return sectionSchema(path);
}

function sectionSchema(path: readonly string[]): z.ZodType | undefined {
  if (path.length === 1) return own(leafShape, path[0]!);
  if (path.length === 2 && path[0] === 'import') return own(importShape, path[1]!);
  if (path.length === 3 && path[0] === 'regions' && NAME.test(path[1]!) && path[1] !== 'sandbox') {
    return own(regionShape, path[2]!);
  }
  return undefined;
}

const own = (shape: Readonly<Record<string, z.ZodType>>, key: string): z.ZodType | undefined =>
  Object.hasOwn(shape, key) ? shape[key] : undefined;

/**
 * Types a value from the command line as its key's schema wants it: `5000` is a number for `chunk_size`
 * and text for `delimiter`.
 * @throws ConfigError
 */
export function parseValue(key: Key, text: string): Scalar {
  const literal = /^(true|false|-?\d+(\.\d+)?)$/.test(text) ? [JSON.parse(text) as Scalar] : [];
  for (const candidate of [text, ...literal]) {
    if (key.schema.safeParse(candidate).success) return candidate;
  }
  throw new ConfigError(`${key.name}: "${text}": ${reasonAgainst(key.schema, [...literal, text])}`);
}

/** Why none of these will do: a message of the schema's own tells more than one about types. */
function reasonAgainst(schema: z.ZodType, candidates: readonly Scalar[]): string {
  const messages = candidates.map((candidate) => schema.safeParse(candidate).error?.issues[0]?.message ?? '');
  const best = messages.find((message) => !message.startsWith('Invalid')) ?? messages[0] ?? '';
  return best.replace(/^Invalid (input|option): /, '');
}

/** The value at a path, own properties only. */
export function valueAt(file: ConfigFile, path: readonly string[]): Scalar | undefined {
  let at: unknown = file;
  for (const part of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return undefined;
    at = (at as Record<string, unknown>)[part];
  }
  return typeof at === 'object' ? undefined : (at as Scalar);
}

/** A copy with the value set; `undefined` removes it, and with it every folder that becomes empty. */
export function withValue(file: ConfigFile, path: readonly string[], value: Scalar | undefined): ConfigFile {
  const change = (at: unknown, [part, ...rest]: readonly string[]): Record<string, unknown> => {
    const copy = { ...(at as Record<string, unknown> | undefined) };
    if (part === undefined) return copy;
    const next = rest.length === 0 ? value : change(Object.hasOwn(copy, part) ? copy[part] : undefined, rest);
    if (next === undefined || (typeof next === 'object' && Object.keys(next).length === 0)) delete copy[part];
    else copy[part] = next;
    return copy;
  };
  return change(file, path) as ConfigFile;
}

/** Every value of a file with its dotted key, in the file's order, `$schema` left out. */
export function* leaves(file: ConfigFile): Generator<[path: string[], value: Scalar]> {
  function* walk(at: object, path: string[]): Generator<[string[], Scalar]> {
    for (const [part, value] of Object.entries(at)) {
      if (typeof value === 'object' && value !== null) yield* walk(value, [...path, part]);
      else if (part !== '$schema') yield [[...path, part], value as Scalar];
    }
  }
  yield* walk(file, []);
}
