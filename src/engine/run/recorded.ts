/**
 * What is recorded of a run, and how it is read again. What a saved plan or an earlier session has decided has one form: the
 * inputs, and how their rows become items. The state must not hold values that may be personal data: constant values
 * (`set`) and conditions (`where`). A keyed digest stands in place of each; the values are in the run's private folder on
 * the machine where it began, and elsewhere they are given again.
 */
import { createHmac } from 'node:crypto';
import { basename, join, resolve } from 'node:path';
import { type ErrorDetails, InputError, StateError, UsageError } from '../errors.js';
import type { CellType, Format, Kind } from '../model.js';
import type { Condition, MappingRules } from '../options/mapping-rules.js';
import type { ImportOptions } from '../options.js';
import type { PlannedInput } from '../plan/plan.js';
import type { SavedPlan } from '../plan/saved-plan.js';
import type { StoredRun } from '../state/runs.js';
import type { State } from '../state/state.js';
import { folderAdvice } from '../util/file-trouble.js';
import { replaceFile } from '../util/replace-file.js';

export interface RecordedInput {
  path: string;
  /** Where a run has read it; a plan may be carried out on another machine. */
  location?: string;
  kind: Kind;
  format?: Format;
  digest: string;
  types: CellType[];
}

export interface Recorded {
  run: string;
  item_format: number;
  inputs: readonly RecordedInput[];
  /** For messages: `run 20261120-101500-x7k2`, or `the plan`. */
  name: string;
  /** What to do about a file that is not one of the inputs. */
  otherwise: string;
  /** Of the error for an input that is not found. */
  missing(path: string): ErrorDetails;
  /** The error for an input with another content. @param now all inputs. @param what what is not possible then */
  changed(index: number, now: readonly PlannedInput[], cwd: string, what: string): InputError;
}

export function recordedInPlan({ run, item_format, inputs }: SavedPlan): Recorded {
  const missing = (path: string) => ({ problem: { code: 'plan_input', path } }) as const;
  return {
    ...{ run, item_format, name: 'the plan', missing },
    inputs: inputs as (SavedPlan['inputs'][number] & RecordedInput)[],
    otherwise: 'name the file that the plan was made of, or make a new plan',
    changed: (index, now, cwd) => {
      const { path, bytes } = inputs[index]!;
      const { size } = now[index]!.scan;
      const sizes = size === bytes ? '' : ` (${size} bytes, not ${bytes})`;
      return new InputError(`has changed since the plan was made${sizes}`, {
        file: path,
        problem: { code: 'plan_input', path, paths: pathsNow(inputs, now, cwd) },
      });
    },
  };
}

/** The paths that name the same inputs here. A run may have begun in another folder. */
const pathsNow = (
  inputs: readonly Pick<RecordedInput, 'path'>[],
  now: readonly PlannedInput[],
  cwd: string,
): string[] =>
  inputs.map(({ path }, index) => {
    const { location } = now[index]!.opened;
    // Copies of downloads and archive members have other names.
    const isElsewhere = basename(location) === basename(path) && location !== resolve(cwd, path);
    return isElsewhere ? location : path;
  });

export const recordedInRun = ({ run, item_format, inputs }: StoredRun): Recorded => ({
  ...{ run, item_format, inputs, name: `run ${run}` },
  otherwise: 'name the file that the run read, or import this one',
  missing: (path) => ({
    hint: 'name a file with the same content',
    problem: { code: 'run_input', run, path },
  }),
  changed: (index, now, cwd, what) => {
    const { path } = inputs[index]!;
    const paths = pathsNow(inputs, now, cwd);
    return new InputError(`has changed since run ${run} began, so ${what}`, {
      file: path,
      hint: 'restore the old content, or start a new import of the file',
      problem: { code: 'input_changed', path: paths[index]!, paths },
    });
  },
});

/** The file in the private folder of a run: what this machine alone knows of it. */
const KEPT_FILE = 'values.json';

interface Kept {
  /** The private values, each with its digest. */
  values: [digest: string, value: string][];
  /** Where inputs are by now, by index, as far as that differs from the run. */
  places: [index: number, location: string][];
}

/** Empty if this machine does not have the file, or only a part of it. */
function keptOf({ spools }: Pick<State, 'spools'>, run: string) {
  try {
    const { values, places } = JSON.parse(spools.read(run, KEPT_FILE)) as Kept;
    return { values: new Map(values), places: new Map(places) };
  } catch {
    return { values: new Map<string, string>(), places: new Map<number, string>() };
  }
}

/** Where the inputs of a run are on this machine, by index, as far as that differs from the run. */
export const placesOf = (state: Pick<State, 'spools'>, { run }: Recorded): Map<number, string> =>
  keptOf(state, run).places;

type Stored = Pick<StoredRun, 'options'>;
type What = 'set' | 'where';
type Value = [what: What, name: string, value: string];

/** Private values that were given again. */
export interface Repeated {
  sets?: readonly MappingRules['set'][] | undefined;
  where?: readonly Condition[] | undefined;
}

const rulesIn = (options: ImportOptions): MappingRules[] =>
  [options, options.byKind?.companies, options.byKind?.users].flatMap((one) => one?.rules ?? []);

/** The private values of options. */
export const valuesOf = (options: ImportOptions): Required<Repeated> => ({
  sets: rulesIn(options).map(({ set }) => set),
  where: options.where ?? [],
});

/**
 * The options with others in place of their private values.
 * @param replace returns what stands there; null leaves the value out
 */
function replaceValues(options: ImportOptions, replace: (...value: Value) => string | null): ImportOptions {
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

const digestOf = (secret: Buffer, ...value: Value): string =>
  createHmac('sha256', secret).update(JSON.stringify(value)).digest('hex');

/** The options as the state has them. */
export const sealed = (options: ImportOptions, secret: Buffer): ImportOptions =>
  replaceValues(options, (...value) => digestOf(secret, ...value));

/** The options of a run for what needs no values. */
export const withoutValues = ({ options }: Stored): ImportOptions =>
  replaceValues(options as ImportOptions, () => null);

/** The conditions of rows that a run was to send; null if this machine does not have their values. */
export function conditionsOf(
  { spools }: Pick<State, 'spools'>,
  run: string,
  { options }: Stored,
): Condition[] | null {
  const kept = keptOf({ spools }, run).values;
  const where = valuesOf(options as ImportOptions).where!;
  const found = where.flatMap(([column, is, digest]): Condition[] => {
    const value = kept.get(digest);
    return value === undefined ? [] : [[column, is, value]];
  });
  return found.length === where.length ? found : null;
}

/** Whether the run set values for every item. */
export const hasSets = ({ options }: Stored): boolean =>
  valuesOf(options as ImportOptions).sets!.some((set) => set.length > 0);

/**
 * Writes the private values, so that this machine does not ask for them again.
 * @param places the inputs that this machine has elsewhere, so that they are named once
 * @returns the options as the state has them
 * @throws StateError
 */
export async function storeOptions(
  state: State,
  run: string,
  options: ImportOptions,
  places: Kept['places'] = [],
): Promise<ImportOptions> {
  const values: Kept['values'] = [];
  const stored = replaceValues(options, (...value) => {
    const digest = digestOf(state.secret, ...value);
    values.push([digest, value[2]]);
    return digest;
  });
  if (values.length + places.length === 0) return stored;
  const file = join(state.spools.folder(run), KEPT_FILE);
  await replaceFile(file, JSON.stringify({ values, places } satisfies Kept)).catch((error: Error) => {
    const message = `cannot save constant values, conditions, and places of inputs to ${file}: ${error.message}`;
    throw new StateError(message, { ...folderAdvice(error), cause: error });
  });
  return stored;
}

/**
 * Restores the options of an earlier session, with their private values.
 * @param given values that the user gave again, because this machine does not have them
 * @throws UsageError if values are missing, or differ from those that the run began with
 */
export function restoreOptions(
  { secret, spools }: Pick<State, 'secret' | 'spools'>,
  { run, options }: StoredRun,
  given: Repeated = {},
): ImportOptions {
  const kept = keptOf({ spools }, run).values;
  const { sets, where } = given;
  const values: Value[] = [
    ...(sets ?? []).flat().map(([key, value]): Value => ['set', key, value]),
    ...(where ?? []).map(([column, is, value]): Value => ['where', `${column}${is}`, value]),
  ];
  const again = new Map(values.map((value) => [digestOf(secret, ...value), value]));
  const isGiven = { set: sets !== undefined, where: where !== undefined };
  const strays = new Map(again);
  const names = { set: new Set<string>(), where: new Set<string>() };
  const missing = { set: new Set<string>(), where: new Set<string>() };
  const restored = replaceValues(options as ImportOptions, (what, name, digest) => {
    names[what].add(name);
    strays.delete(digest);
    const value = isGiven[what] ? again.get(digest)?.[2] : kept.get(digest);
    if (value !== undefined && digestOf(secret, what, name, value) === digest) return value;
    missing[what].add(name);
    return null;
  });
  for (const what of ['set', 'where'] as const) {
    const isStray = [...strays.values()].some(([of]) => of === what);
    if (!isStray && !(isGiven[what] && missing[what].size > 0)) continue;
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
