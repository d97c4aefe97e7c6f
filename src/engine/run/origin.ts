/**
 * Records how a run read the rows that it rejected, and applies the same rules when the rejects file is
 * imported. So the fixed rows become the same items as in the original import (contract §3 "Rejects").
 */
import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { UsageError } from '../errors.js';
import type { MappingRules } from '../mapping-rules.js';
import type { Kind } from '../model.js';
import type { ImportOptions } from '../options.js';
import { type AgainOptions, mergeRules, type OpenedInput, type RejectsHead } from '../read/index.js';
import type { RejectsRecord } from '../state/rejects.js';
import type { State } from '../state/state.js';

/**
 * How one input of a run was read. Constant values are left out: they are metadata, which the state must not
 * hold.
 */
export interface Reading {
  /** As the user wrote it. */
  path: string;
  /** Columns of a CSV, without those that an earlier rejects file added. */
  columns: string[];
  kind: Kind;
  id: string;
  companyId: string | null;
  /** Includes the types of all columns. */
  rules: MappingRules;
  /** Metadata keys that the run set to a constant value for every item. */
  set: string[];
  maxCellBytes: number;
  excelText?: boolean | undefined;
}

/** @param types of a CSV's columns, as the plan decided them */
export function readingOf(input: OpenedInput, types: readonly MappingRules['types'][number][1][]): Reading {
  const { path, kind, idColumn, companyIdColumn, rules, targets, maxCellBytes, excelText } = input;
  const decided = targets.flatMap(({ role, column }, index): MappingRules['types'][number][] =>
    role === 'metadata' && types[index] !== undefined ? [[column, types[index]]] : [],
  );
  // A type that the user chose takes precedence over the one that the plan decided.
  const pinned = rules.types.filter(([, type]) => type !== 'auto');
  return {
    path,
    columns: targets.map(({ column }) => column).filter((column) => !column.startsWith('_profiles_')),
    kind,
    id: idColumn,
    companyId: companyIdColumn,
    rules: { ...rules, set: [], types: [...new Map([...decided, ...pinned])] },
    set: rules.set.map(([key]) => key),
    maxCellBytes,
    excelText,
  };
}

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
  input: { path: string; cwd: string },
  options: ImportOptions,
  state: State,
): Promise<AgainOptions> {
  const { path } = input;
  const { rules, byKind, maxCellBytes, excelText, stated } = options;
  const all = found.run === null ? [] : await state.rejects.ofRun(found.run);
  const record = chooseInput(all, found, resolve(input.cwd, path));
  if (record === null) {
    const { kind, id, userId, companyId } = options;
    if (stated?.columns)
      return { kind, id, userId, companyId, rules, byKind, maxCellBytes, excelText, again: undefined };
    const sentence =
      all.length > 0 ? `may hold rows of ${all.length} files of run ${found.run}` : unknown(found);
    throw new UsageError(`${path}: is a rejects file that ${sentence}`, {
      hint: 'say what its columns are',
      problem: { code: 'rejects_of_unknown_run', path },
    });
  }
  const reading = record.reading as Reading;
  const kind = options.kind ?? reading.kind;
  const own = stated?.rules[kind] ?? {};
  const set = (byKind?.[kind]?.rules ?? rules).set;
  checkSet(path, record, { set, exclude: own.exclude ?? [] });
  const parts = all.filter((one) => one.input === record.input);
  return {
    ...identifiersOf(kind, reading, found, options),
    userId: undefined,
    byKind: undefined,
    rules: { ...mergeRules(reading.rules, own), set },
    maxCellBytes: Math.max(maxCellBytes, reading.maxCellBytes),
    excelText: excelText || reading.excelText,
    again: {
      runs: parts.map(({ run }) => run),
      key: rowKey(state.secret),
      unedited: joined(parts.map(({ unedited }) => unedited)),
      named: [
        ...[...(own.map ?? []), ...(own.types ?? [])].map(([column]) => column),
        ...(own.include ?? []),
        ...(own.exclude ?? []),
      ],
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
  const here = (names: readonly (string | undefined)[]): string | undefined =>
    names.find((name) => name !== undefined && (columns.length === 0 || columns.includes(name)));
  const same = kind === reading.kind;
  const asked = here([id, kind === 'users' ? userId : companyId, byKind?.[kind]?.id]);
  const company = kind === 'users' ? here([companyId, byKind?.users?.companyId]) : undefined;
  return {
    kind,
    id: asked ?? (same ? reading.id : undefined),
    companyId: company ?? (same && kind === 'users' ? (reading.companyId ?? undefined) : undefined),
  };
}

const unknown = ({ run }: RejectsHead): string =>
  run === null ? 'does not name its run' : `comes from run ${run}, which this state does not know`;

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

/** @throws UsageError if a key that the run set for every item is neither set again nor excluded */
function checkSet(
  path: string,
  { run, reading }: RejectsRecord,
  { set, exclude }: Pick<MappingRules, 'set' | 'exclude'>,
): void {
  const given = new Set([...set.map(([key]) => key), ...exclude]);
  const missing = (reading as Reading).set.filter((key) => !given.has(key));
  if (missing.length === 0) return;
  throw new UsageError(
    `${path}: run ${run} set ${missing.join(', ')} for every item, and its values are not kept`,
    {
      hint: 'give the values again',
      problem: { code: 'constants_missing', keys: missing },
    },
  );
}

/** Merges the hashes of several files, in ascending order. */
function joined(parts: readonly BigUint64Array[]): BigUint64Array {
  const all = new BigUint64Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all.sort();
}
