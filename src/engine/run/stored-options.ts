/**
 * The options of a run in the state, which must not hold values that may be personal data: constant values (`set`) and
 * conditions (`where`). A keyed digest stands in place of each. The values are in the run's private folder on the machine
 * where it began; elsewhere, they are given again.
 */
import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { StateError, UsageError } from '../errors.js';
import type { Condition, MappingRules } from '../options/mapping-rules.js';
import type { ImportOptions } from '../options.js';
import type { StoredRun } from '../state/runs.js';
import type { State } from '../state/state.js';
import { folderAdvice } from '../util/file-trouble.js';
import { replaceFile } from '../util/replace-file.js';

/** Has pairs of a digest and its value. */
const VALUES_FILE = 'values.json';

type Recorded = Pick<StoredRun, 'options'>;
type What = 'set' | 'where';
type Named = [what: What, name: string, value: string];

/** Private values that were given again. */
export interface Repeated {
  sets?: readonly MappingRules['set'][] | undefined;
  where?: readonly Condition[] | undefined;
}

const rulesIn = (options: ImportOptions): MappingRules[] =>
  [options, options.byKind?.companies, options.byKind?.users].flatMap((one) => one?.rules ?? []);

/** The private values of options. */
export const valuesOf = (
  options: ImportOptions,
): { sets: MappingRules['set'][]; where: readonly Condition[] } => ({
  sets: rulesIn(options).map(({ set }) => set),
  where: options.where ?? [],
});

const namedIn = ({ sets = [], where = [] }: Repeated): Named[] => [
  ...sets.flat().map(([key, value]): Named => ['set', key, value]),
  ...where.map(([column, is, value]): Named => ['where', `${column}${is}`, value]),
];

/**
 * The options with others in place of their private values.
 * @param replace returns what stands there; null leaves the value out
 */
function replaceValues(options: ImportOptions, replace: (...value: Named) => string | null): ImportOptions {
  const copy = structuredClone(options);
  for (const rules of rulesIn(copy)) {
    rules.set = rules.set.flatMap(([key, value]) => {
      const other = replace('set', key, value);
      return other === null ? [] : [[key, other] as const];
    });
  }
  copy.where &&= copy.where.flatMap(([column, is, value]) => {
    const other = replace('where', `${column}${is}`, value);
    return other === null ? [] : [[column, is, other] as const];
  });
  return copy;
}

const digestOf = (secret: Buffer, ...value: Named): string =>
  createHmac('sha256', secret).update(JSON.stringify(value)).digest('hex');

/** The options as the state has them. */
export const sealed = (options: ImportOptions, secret: Buffer): ImportOptions =>
  replaceValues(options, (...value) => digestOf(secret, ...value));

/** The options of a run for what needs no values. */
export const withoutValues = ({ options }: Recorded): ImportOptions =>
  replaceValues(options as ImportOptions, () => null);

/** Whether the run sent only rows that meet conditions. */
export const hasConditions = ({ options }: Recorded): boolean =>
  valuesOf(options as ImportOptions).where.length > 0;

/** Whether the run set values for every item. */
export const hasSets = ({ options }: Recorded): boolean =>
  valuesOf(options as ImportOptions).sets.some((set) => set.length > 0);

/** Writes the private values, so that this machine does not ask for them again. @returns the options as the state has them @throws StateError */
export async function storeOptions(
  state: State,
  run: string,
  options: ImportOptions,
): Promise<ImportOptions> {
  const values: [digest: string, value: string][] = [];
  const stored = replaceValues(options, (...value) => {
    const digest = digestOf(state.secret, ...value);
    values.push([digest, value[2]]);
    return digest;
  });
  if (values.length > 0) {
    const file = join(state.spools.folder(run), VALUES_FILE);
    await replaceFile(file, JSON.stringify(values)).catch((error: Error) => {
      throw new StateError(`cannot save constant values and conditions to ${file}: ${error.message}`, {
        ...folderAdvice(error),
        cause: error,
      });
    });
  }
  return stored;
}

/** Pairs in a private file of a run. Empty if this machine does not have the file, or only a part of it. */
export function keptPairs<K, V>({ spools }: Pick<State, 'spools'>, run: string, file: string): Map<K, V> {
  try {
    return new Map(JSON.parse(spools.read(run, file)) as [K, V][]);
  } catch {
    return new Map();
  }
}

/**
 * Restores the options of an earlier session, with their private values.
 * @param given values that the user gave again, because this machine does not have them
 * @throws UsageError if values are missing, or differ from those that the run began with
 */
export function restoreOptions(state: State, stored: StoredRun, given: Repeated = {}): ImportOptions {
  const { run, options } = stored;
  const kept = keptPairs<string, string>(state, run, VALUES_FILE);
  const again = { set: new Map<string, string>(), where: new Map<string, string>() };
  for (const value of namedIn(given)) again[value[0]].set(digestOf(state.secret, ...value), value[2]);
  const isGiven = { set: given.sets !== undefined, where: given.where !== undefined };
  const names = { set: new Set<string>(), where: new Set<string>() };
  const missing = { set: new Set<string>(), where: new Set<string>() };
  const strays = { set: new Set(again.set.keys()), where: new Set(again.where.keys()) };
  const restored = replaceValues(options as ImportOptions, (what, name, digest) => {
    names[what].add(name);
    strays[what].delete(digest);
    const value = (isGiven[what] ? again[what] : kept).get(digest);
    if (value !== undefined && digestOf(state.secret, what, name, value) === digest) return value;
    missing[what].add(name);
    return null;
  });
  for (const what of ['set', 'where'] as const) {
    if (strays[what].size === 0 && !(isGiven[what] && missing[what].size > 0)) continue;
    throw new UsageError(`run ${run} did not begin with these values, so it cannot be continued with them`, {
      hint: 'give those that it began with',
      problem: { code: 'values_differ', run, set: [], where: [], [what]: [...names[what]] },
    });
  }
  if (missing.set.size + missing.where.size === 0) return restored;
  throw new UsageError(`run ${run} was given values that are not on this machine`, {
    hint: 'give them again',
    problem: { code: 'values_missing', run, set: [...missing.set], where: [...missing.where] },
  });
}
