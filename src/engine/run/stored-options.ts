/**
 * The options of a run in the state, which must not hold values that may be personal data: constant values (`set`) and
 * conditions (`where`). They are stored in the run's private folder on the machine where it began. The state has only a
 * keyed digest, with which values are checked that are read or given again.
 */
import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { StateError, UsageError } from '../errors.js';
import { KINDS } from '../model.js';
import type { Condition, MappingRules } from '../options/mapping-rules.js';
import type { ImportOptions } from '../options.js';
import type { StoredRun } from '../state/runs.js';
import type { State } from '../state/state.js';
import { folderAdvice } from '../util/file-trouble.js';
import { replaceFile } from '../util/replace-file.js';

const VALUES_FILE = 'values.json';

type SetValues = MappingRules['set'];

interface Values {
  /** Constant values in the order of `setsOf`. */
  sets: readonly SetValues[];
  where: readonly Condition[];
}

/** Private values that were given again. */
export type Repeated = { [K in keyof Values]?: Values[K] | undefined };

/** Identifies private values without storing them: their keys in order, and a keyed digest (hexadecimal). */
interface Mark {
  keys: string[][];
  digest: string;
}

/** What the state stores instead of the values. */
interface Stored {
  setMark?: Mark;
  whereMark?: Mark;
}

/** All constant values: first those for all inputs, then those of each kind, in the order of `KINDS`. */
export const setsOf = ({ rules, byKind }: Pick<ImportOptions, 'rules' | 'byKind'>): SetValues[] => [
  rules.set,
  ...KINDS.map((kind) => byKind?.[kind]?.rules.set ?? []),
];

/** The options with other constant values, in the order of `setsOf`. */
function withSets<T extends Pick<ImportOptions, 'rules' | 'byKind'>>(
  options: T,
  sets: readonly SetValues[],
): T {
  const { rules, byKind } = options;
  const kinds = KINDS.flatMap((kind, index) => {
    const own = byKind?.[kind];
    return own ? [[kind, { ...own, rules: { ...own.rules, set: sets[index + 1] ?? [] } }]] : [];
  });
  return {
    ...options,
    rules: { ...rules, set: sets[0] ?? [] },
    ...(byKind && { byKind: Object.fromEntries(kinds) }),
  };
}

const markOfSets = (sets: readonly SetValues[], secret: Buffer): Mark => ({
  keys: sets.map((set) => set.map(([key]) => key)),
  digest: digestOf('set', sets, secret),
});

/** Sorted, because their order does not matter. */
const sorted = (where: readonly Condition[]): string[] => where.map((one) => JSON.stringify(one)).sort();

const markOfWhere = (where: readonly Condition[], secret: Buffer): Mark => ({
  keys: [where.map(([column, is]) => `${column}${is}`)],
  digest: digestOf('where', sorted(where), secret),
});

const digestOf = (what: string, values: unknown, secret: Buffer): string =>
  createHmac('sha256', secret)
    .update(`${what}:${JSON.stringify(values)}`)
    .digest('hex');

/** Whether the run sent only rows that meet conditions, which the state does not store. */
export const hasConditions = ({ options }: Pick<StoredRun, 'options'>): boolean =>
  (options as Stored).whereMark !== undefined;

/** Whether the run set values for every item, which the state does not store. */
export const hasSets = ({ options }: Pick<StoredRun, 'options'>): boolean =>
  (options as Stored).setMark !== undefined;

/**
 * The options as the state stores them. Writes the private values, so that this machine does not ask for them again.
 * @throws StateError
 */
export async function storeOptions(state: State, run: string, options: ImportOptions): Promise<unknown> {
  const values: Values = { sets: setsOf(options), where: options.where ?? [] };
  // A session that needs no row has only the marks: what is stored stays.
  if (values.where.length > 0 || values.sets.some((set) => set.length > 0)) {
    const file = join(state.spools.folder(run), VALUES_FILE);
    await replaceFile(file, JSON.stringify(values)).catch((error: Error) => {
      throw new StateError(`cannot save constant values and conditions to ${file}: ${error.message}`, {
        ...folderAdvice(error),
        cause: error,
      });
    });
  }
  return withoutValues(options, state.secret);
}

/** Whether this machine has the private values of a run, if it has any. */
export const hasValues = (state: State, run: StoredRun): boolean =>
  !(hasSets(run) || hasConditions(run)) || readValues(state, run) !== null;

/** Null if this machine does not have them as they were given. */
function readValues(state: State, { run, options }: StoredRun): Values | null {
  const { setMark, whereMark } = options as Stored;
  try {
    const text = state.spools.read(run, VALUES_FILE);
    const values = JSON.parse(text) as Values;
    const isWhole =
      (!setMark || markOfSets(values.sets, state.secret).digest === setMark.digest) &&
      (!whereMark || markOfWhere(values.where, state.secret).digest === whereMark.digest);
    return isWhole ? values : null;
  } catch {
    return null;
  }
}

/** The options with marks in place of private values. */
export function withoutValues(options: ImportOptions, secret: Buffer): Omit<ImportOptions, 'where'> & Stored {
  const { where = [], ...others } = options;
  const sets = setsOf(options);
  return {
    ...withSets(others, []),
    ...(sets.some((set) => set.length > 0) && { setMark: markOfSets(sets, secret) }),
    ...(where.length > 0 && { whereMark: markOfWhere(where, secret) }),
  };
}

/**
 * Restores the options of an earlier session, with their private values.
 * @param given values that the user gave again, because this machine does not have them
 * @throws UsageError if values are missing, or differ from those that the run began with
 */
export function restoreOptions(state: State, stored: StoredRun, given: Repeated = {}): ImportOptions {
  const { run } = stored;
  const { setMark, whereMark, ...options } = stored.options as ImportOptions & Stored;
  const kept = setMark || whereMark ? readValues(state, stored) : { sets: [], where: [] };
  const lacksSets = setMark !== undefined && !kept && given.sets === undefined;
  const lacksWhere = whereMark !== undefined && !kept && given.where === undefined;
  if (lacksSets || lacksWhere) {
    throw new UsageError(`run ${run} was given values that are not on this machine`, {
      hint: 'give them again',
      problem: {
        code: 'values_missing',
        run,
        set: lacksSets ? namesIn(setMark!) : [],
        where: lacksWhere ? namesIn(whereMark!) : [],
      },
    });
  }
  const values = {
    sets: given.sets ? setsAgain(run, given.sets, setMark, state.secret) : (kept?.sets ?? []),
    where: given.where ? whereAgain(run, given.where, whereMark, state.secret) : (kept?.where ?? []),
  };
  return { ...withSets(options, values.sets), ...(values.where.length > 0 && { where: values.where }) };
}

const namesIn = ({ keys }: Mark): string[] => [...new Set(keys.flat())];

/** The values in the order of the run. @throws UsageError if they differ */
function setsAgain(
  run: string,
  given: readonly SetValues[],
  mark: Mark | undefined,
  secret: Buffer,
): SetValues[] {
  const all = new Map(given[0]);
  const known = mark?.keys ?? [];
  const sets = known.map((keys, index) => {
    const own = new Map(given[index]);
    return keys.map((key): [string, string] => [key, own.get(key) ?? all.get(key) ?? '']);
  });
  const names = new Set(known.flat());
  const strays = given.flat().filter(([key]) => !names.has(key));
  const values = new Set(given.flat().map(([key]) => key));
  const lacks = [...names].some((key) => !values.has(key));
  if (!mark && strays.length === 0) return [...given];
  if (mark && strays.length === 0 && !lacks && digestOf('set', sets, secret) === mark.digest) return sets;
  throw differ(run, { set: [...names], where: [] });
}

/** @throws UsageError if they differ from those that the run began with */
function whereAgain(
  run: string,
  given: readonly Condition[],
  mark: Mark | undefined,
  secret: Buffer,
): readonly Condition[] {
  if (mark ? markOfWhere(given, secret).digest === mark.digest : given.length === 0) return given;
  throw differ(run, { set: [], where: mark ? namesIn(mark) : [] });
}

const differ = (run: string, names: { set: string[]; where: string[] }): UsageError =>
  new UsageError(`run ${run} did not begin with these values, so it cannot be continued with them`, {
    hint: 'give those that it began with',
    problem: { code: 'values_differ', run, ...names },
  });
