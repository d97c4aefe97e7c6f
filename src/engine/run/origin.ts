/**
 * Records how a run read the rows that it rejected, and applies the same rules when the rejects file is
 * imported. So the fixed rows become the same items as in the original import (contract §3 "Rejects"). A file beside the
 * rejects file, at its path plus `.json`, has the record for machines whose state does not know the run. It has no cell
 * values; values of `set` are keyed digests.
 */
import { createHash, createHmac } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { InputError, StateError, UsageError } from '../errors.js';
import { bytesOf, hashesOf } from '../fingerprints/tables.js';
import type { Kind } from '../model.js';
import type { MappingRules } from '../options/mapping-rules.js';
import type { ImportOptions } from '../options.js';
import {
  type AgainOptions,
  cellType,
  isOrigin,
  mergeRules,
  type OpenedInput,
  ORIGIN_MEMBER,
  OWN_PREFIX,
  type RejectsHead,
} from '../read/index.js';
import type { RejectsRecord } from '../state/rejects.js';
import type { State } from '../state/state.js';
import { fileTrouble } from '../util/file-trouble.js';
import { replaceFile } from '../util/replace-file.js';
import { obstacle } from '../util/written-file.js';
import type { Reading } from './origin-schema.js';
import type { Unsent } from './unsent.js';

/**
 * How one input of a run was read: all that its rejects file needs.
 * @param types of a CSV's columns, as the plan decided them. @param key of the digests
 */
export function readingOf(
  input: OpenedInput,
  types: readonly MappingRules['types'][number][1][],
  key: string,
): Reading {
  const { path, kind, idColumn: id, companyIdColumn: companyId, rules, targets, csv } = input;
  const { maxCellBytes, maxColumns, maxDepth } = input;
  const decided = targets.flatMap(({ role, column }, index): MappingRules['types'][number][] =>
    role === 'metadata' && types[index] !== undefined ? [[column, types[index]]] : [],
  );
  // A type that the user chose takes precedence over the one that the plan decided.
  const pinned = rules.types.filter(([, type]) => type !== 'auto');
  const set = rules.set.map(([name, value]) => [name, digestOf(name, value, key)] as const);
  return {
    ...{ path, kind, id, companyId, maxCellBytes, maxColumns, maxDepth, excelText: csv?.excelText },
    columns: targets.map(({ column }) => column).filter((column) => !column.startsWith(OWN_PREFIX)),
    rules: { ...rules, set, types: [...new Map([...decided, ...pinned])] },
  };
}

const digestOf = (name: string, value: string, key: string): string =>
  createHmac('sha256', key)
    .update(JSON.stringify([name, value]))
    .digest('hex');

/** The key for hashes of rejected rows, derived from the secret of the state. Hexadecimal. */
export const rowKey = (secret: Buffer): string =>
  createHash('sha256').update('rejected rows:').update(secret).digest('hex');

/**
 * Returns the options for reading a rejects file: those with which its run read the rows, overridden by
 * `options`.
 * @throws UsageError if the state does not know the run, or the file may come from several inputs, and the
 * options do not describe the columns; if constant values of the run must be given again
 */
export async function readAgain(
  found: RejectsHead,
  { path, cwd }: { path: string; cwd: string },
  options: ImportOptions,
  state: State,
): Promise<AgainOptions> {
  const { rules, byKind, maxCellBytes, maxColumns, maxDepth, excelText, stated } = options;
  const location = resolve(cwd, path);
  const known = found.run === null ? [] : await state.rejects.ofRun(found.run);
  const chosen = chooseInput(known, found, location);
  const beside = chosen === null && found.run !== null ? await readOrigin(location, found.run) : null;
  const record = chosen ?? beside;
  if (record === null) {
    const { kind, id, userId, companyId } = options;
    const limits = { maxCellBytes, maxColumns, maxDepth };
    if (stated?.columns)
      return { kind, id, userId, companyId, rules, byKind, ...limits, excelText, again: undefined };
    const why =
      known.length > 0
        ? `may hold rows of ${known.length} files of run ${found.run}`
        : found.run === null
          ? 'does not name its run'
          : `comes from run ${found.run}, which this state does not know`;
    throw new UsageError(`${path}: is a rejects file that ${why}`, {
      hint: 'say what its columns are',
      problem: { code: 'rejects_of_unknown_run', path },
    });
  }
  const key = beside?.key ?? rowKey(state.secret);
  const reading = record.reading as Reading;
  const kind = options.kind ?? reading.kind;
  const own = stated?.rules[kind] ?? {};
  const { map = [], types = [], include = [], exclude = [] } = own;
  const { set } = byKind?.[kind]?.rules ?? rules;
  checkSet(path, record, { set, exclude }, key);
  const parts = beside ? [beside] : known.filter((one) => one.input === record.input);
  return {
    ...identifiersOf(kind, reading, found, options),
    userId: undefined,
    byKind: undefined,
    rules: { ...mergeRules(reading.rules as MappingRules, own), set },
    maxCellBytes: Math.max(maxCellBytes, reading.maxCellBytes),
    maxColumns: Math.max(maxColumns, reading.maxColumns),
    maxDepth: Math.max(maxDepth, reading.maxDepth),
    excelText: excelText || reading.excelText,
    again: {
      runs: [...new Set(parts.flatMap(({ run, owner }) => [run, owner]))],
      key,
      unedited: BigUint64Array.from(parts.flatMap(({ unedited }) => [...unedited])).sort(),
      named: [...[...map, ...types].map(([column]) => column), ...include, ...exclude],
      records: parts.map(({ run, owner, unsent, written_at }) => ({ run, owner, unsent, written_at })),
    },
  };
}

/**
 * The identifier columns that the options name, if the file has them; otherwise those of the run, if the kind
 * is the same.
 */
function identifiersOf(
  kind: Kind,
  reading: Reading,
  { columns }: RejectsHead,
  { id, userId, companyId, byKind }: ImportOptions,
): Pick<AgainOptions, 'kind' | 'id' | 'companyId'> {
  const here = (...names: (string | undefined)[]): string | undefined =>
    names.find((name) => name !== undefined && (columns.length === 0 || columns.includes(name)));
  const before = kind === reading.kind ? reading : null;
  const isUsers = kind === 'users';
  return {
    kind,
    id: here(id, isUsers ? userId : companyId, byKind?.[kind]?.id) ?? before?.id,
    companyId: isUsers
      ? (here(companyId, byKind?.users?.companyId) ?? before?.companyId ?? undefined)
      : undefined,
  };
}

/**
 * Finds the input that the rows of a rejects file come from: by its columns, then by its location. Null if
 * neither identifies one input.
 */
function chooseInput(
  records: readonly RejectsRecord[],
  { columns }: RejectsHead,
  location: string,
): RejectsRecord | null {
  const fits = records.filter(({ reading }) => {
    const known = new Set((reading as Reading).columns);
    return columns.some((column) => known.has(column)) || columns.length === 0;
  });
  const readings = new Set(
    fits.map(({ reading, input }) => JSON.stringify({ ...(reading as Reading), path: input })),
  );
  if (readings.size <= 1) return fits[0] ?? null;
  const here = fits.find((record) => record.location === location);
  if (here) return here;
  const exactly = fits.filter(
    ({ reading }) => JSON.stringify((reading as Reading).columns) === JSON.stringify(columns),
  );
  return new Set(exactly.map(({ input }) => input)).size === 1 ? exactly[0]! : null;
}

/** @throws UsageError if a key that the run set for every item is neither set to the same value nor excluded */
function checkSet(
  path: string,
  { run, reading }: Pick<RejectsRecord, 'run' | 'reading'>,
  { set, exclude }: Pick<MappingRules, 'set' | 'exclude'>,
  key: string,
): void {
  const digests = new Map(set.map(([name, value]) => [name, digestOf(name, value, key)]));
  const wrong = (reading as Reading).rules.set.filter(
    ([name, digest]) => !exclude.includes(name) && digests.get(name) !== digest,
  );
  if (wrong.length === 0) return;
  const keys = wrong.map(([name]) => name);
  const why = keys.some((name) => digests.has(name)) ? 'to other values' : 'and its values are not kept';
  throw new UsageError(`${path}: run ${run} set ${keys.join(', ')} for every item, ${why}`, {
    hint: 'give the values again',
    problem: { code: 'constants_missing', keys },
  });
}

/** The version of the format. */
const VERSION = 1;

/** A record without what holds on one machine only. */
type Origin = Omit<RejectsRecord, 'location' | 'mark'> & {
  /** The key of its hashes and digests. Hexadecimal. */
  key: string;
};

/** The file beside a rejects file. */
const originPath = (rejects: string): string => `${rejects}.json`;

/** Whether a file that no import has written stands where the file beside this rejects file would. */
export const isOriginTaken = (rejects: string): boolean =>
  existsSync(originPath(rejects)) &&
  obstacle(originPath(rejects), { name: 'of an import', isOne: isOrigin }) !== null;

/** @param rejects absolute path of the rejects file. @throws StateError */
export async function writeOrigin(rejects: string, { unedited, unsent, ...origin }: Origin): Promise<void> {
  if (isOriginTaken(rejects)) return;
  const hashes = Buffer.from(bytesOf(unedited)).toString('base64');
  // How its options read the other rows stays in the state.
  const { rows, inputs } = (unsent ?? {}) as Partial<Unsent>;
  const left = unsent ? { rows, inputs } : null;
  const content = { [ORIGIN_MEMBER]: VERSION, ...origin, unsent: left, unedited: hashes };
  const path = originPath(rejects);
  await replaceFile(path, `${JSON.stringify(content, null, 2)}\n`).catch((error: NodeJS.ErrnoException) => {
    throw new StateError(`${path}: cannot be written: ${fileTrouble(error.code)}`, {
      hint: 'make room on the disk',
      cause: error,
    });
  });
}

/**
 * Reads the file beside a rejects file. Null if there is none, or if it belongs to another run.
 * @param rejects absolute path of the rejects file
 * @throws InputError if it is damaged
 */
async function readOrigin(rejects: string, run: string): Promise<(Origin & { written_at: '' }) | null> {
  const bytes = await readFile(originPath(rejects)).catch(() => null);
  if (bytes === null || !isOrigin(bytes)) return null;
  try {
    const { originSchema } = await import('./origin-schema.js'); // zod loads slowly
    const { [ORIGIN_MEMBER]: _, unedited, ...origin } = originSchema.parse(JSON.parse(bytes.toString()));
    for (const [column, type] of origin.reading.rules.types) cellType(type, column);
    if (origin.run !== run && origin.owner !== run) return null;
    return { ...origin, written_at: '', unedited: hashesOf(Buffer.from(unedited, 'base64')) };
  } catch (error) {
    throw new InputError('is not as the import wrote it, so the rejects file beside it cannot be read', {
      file: originPath(basename(rejects)),
      hint: 'restore the file, or remove it and say what the columns are',
      cause: error,
    });
  }
}
