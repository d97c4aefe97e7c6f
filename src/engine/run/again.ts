/**
 * Reads a rejects file as its run read the rows, so that the fixed rows become the same items as in the original import
 * (contract §3 "Rejects"). If that run sent nothing, its valid rows would be forgotten, so such an import names them.
 */
import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { UsageError } from '../errors.js';
import type { Kind, NotSent } from '../model.js';
import type { MappingRules } from '../options/mapping-rules.js';
import type { ImportOptions } from '../options.js';
import type { Scanned } from '../plan/plan.js';
import { type AgainOptions, mergeRules, type RejectsHead } from '../read/index.js';
import { sameScope } from '../state/access.js';
import type { RejectsRecord, WrittenRejects } from '../state/rejects.js';
import type { StoredRun } from '../state/runs.js';
import type { Scope, State } from '../state/state.js';
import { count } from '../util/numbers.js';
import { sealed } from './recorded.js';
import { digestOf, type Reading, readOrigin, rowKey, type Unsent } from './rejects-form.js';
import { isCarriedOut } from './start.js';
import type { Ending } from './summary.js';

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
  const { rules, byKind, maxCellBytes, excelText, stated } = options;
  const location = resolve(cwd, path);
  const known = found.run === null ? [] : await state.rejects.ofRun(found.run);
  const chosen = chooseInput(known, found, location);
  const beside = chosen === null && found.run !== null ? await readOrigin(location, found.run) : null;
  const record = chosen ?? beside;
  if (record === null) {
    const { kind, id, userId, companyId } = options;
    if (stated?.columns)
      return { kind, id, userId, companyId, rules, byKind, maxCellBytes, excelText, again: undefined };
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
  const named = [...[...map, ...types].map(([column]) => column), ...include, ...exclude];
  const parts = beside ? [beside] : known.filter((one) => one.input === record.input);
  return {
    ...identifiersOf(kind, reading, found, options),
    userId: undefined,
    byKind: undefined,
    rules: { ...mergeRules(reading.rules, own), set },
    maxCellBytes: Math.max(maxCellBytes, reading.maxCellBytes),
    excelText: excelText || reading.excelText,
    again: {
      runs: [...new Set(parts.flatMap(({ run, owner }) => [run, owner]))],
      key,
      unedited: BigUint64Array.from(parts.flatMap(({ unedited }) => [...unedited])).sort(),
      named,
      added: found.columns.filter((column) => ![...reading.columns, ...named].includes(column)),
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
 * Finds the input that the rows of a rejects file come from: by any of its columns, then by its location, since a person may
 * have taken columns out, then by all of its columns. Null if they do not identify one input.
 */
function chooseInput(
  records: readonly RejectsRecord[],
  { columns }: RejectsHead,
  location: string,
): RejectsRecord | null {
  const columnsOf = ({ reading }: RejectsRecord): string[] => [...(reading as Reading).columns];
  const one = (some: readonly RejectsRecord[]): RejectsRecord | undefined => {
    const readings = some.map(({ reading, input }) =>
      JSON.stringify({ ...(reading as Reading), path: input }),
    );
    return new Set(readings).size === 1 ? some[0] : undefined;
  };
  const fits = records.filter(
    (record) => columns.length === 0 || columnsOf(record).some((column) => columns.includes(column)),
  );
  const here = fits.find((record) => record.location === location);
  return one(fits) ?? here ?? one(fits.filter((of) => isDeepStrictEqual(columnsOf(of), columns))) ?? null;
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

/** Null if it sent its rows, or had none to send. */
export function unsentOf(
  { inputs }: Scanned,
  { mode, rows }: Pick<Ending, 'mode' | 'rows'>,
  options: ImportOptions,
  { state, cwd }: { state: State; cwd: string },
): Unsent | null {
  if (mode === 'sent' || !rows.unsent) return null;
  return {
    rows: rows.unsent,
    inputs: inputs.map(({ opened, scan: { digest, rows } }) => ({
      path: opened.path,
      digest,
      valid: rows.read - rows.filtered - rows.rejected,
      filtered: rows.filtered,
    })),
    options: sealed(options, state.secret),
    cwd,
  };
}

/**
 * What the runs of these rejects files did not send, and no later run has sent to the same service; and the warnings
 * about it.
 * @param scope null: any service
 */
export async function notSentBefore(
  { inputs }: Scanned,
  { state, scope }: { state: State; scope: Scope | null },
): Promise<{ notSent: NotSent[]; warnings: string[] }> {
  const records = inputs.flatMap(({ opened }) => opened.again?.records ?? []);
  const all = records.length === 0 ? [] : await state.runs.all();
  const known = all.filter((run) => scope === null || sameScope(run.scope, scope));
  const here = new Set(inputs.map(({ scan }) => scan.digest));
  const found = new Map<string, NotSent>();
  for (const record of records) {
    const { rows = 0, inputs = [] } = (record.unsent ?? {}) as Partial<Unsent>;
    const left = inputs.filter(
      (input) => input.valid > 0 && !here.has(input.digest) && !isSentSince(record, input, known),
    );
    if (left.length === 0) continue;
    const valid = left.reduce((sum, input) => sum + input.valid, 0);
    const files = left.map(({ path }) => path);
    found.set(record.owner, { run: record.run, files, rows: Math.min(valid, rows) });
  }
  const notSent = [...found.values()];
  const warnings = notSent.map(
    ({ run, files, rows }) =>
      `${count(rows, 'valid row')} of ${files.join(', ')} ${rows === 1 ? 'was' : 'were'} not sent by run ${run}`,
  );
  const unknown = inputs.flatMap(({ opened: { path, isRejects, again } }) =>
    isRejects && !again
      ? `${path}: this state does not know its run; if that sent nothing, its valid rows are still to be sent`
      : [],
  );
  return { notSent, warnings: [...warnings, ...unknown] };
}

/** Whether a later run has sent all that the input had to send. */
const isSentSince = (
  { written_at }: Pick<WrittenRejects, 'written_at'>,
  { digest, filtered }: Unsent['inputs'][number],
  known: readonly StoredRun[],
): boolean =>
  known.some((run) => {
    const { started_at, status, finished, inputs, summary } = run;
    if (started_at < written_at || summary === null || !isCarriedOut(run)) return false;
    if (status === 'superseded' || (!finished && summary.rows.unsent)) return false;
    return inputs.some(
      (input, at) => input.digest === digest && (summary.files[at]?.rows.filtered ?? 0) <= filtered,
    );
  });
