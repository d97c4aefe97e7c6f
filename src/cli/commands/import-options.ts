/** Reads the options of an import: flags override the mapping file, which overrides the config file. */
import { resolve } from 'node:path';
import { UsageError } from '../../engine/errors.js';
import type { ImportOptions, InvalidBound, ReadOptions } from '../../engine/options.js';
import { cellType, readMappings, type SomeRules, statedBy, withMappings } from '../../engine/read/index.js';
import type { Context } from '../context.js';
import {
  COLUMNS,
  engineValues,
  given,
  READING,
  REJECTING,
  REPORTING,
  RETRYING,
  SELECTING,
  SENDING,
  type Values,
  valuesOf,
  WAITING,
} from '../options/index.js';
import type { Flags } from './command.js';

export type Form = 'text' | 'json' | 'ndjson';

/** How an import is reported. */
export interface Report {
  form: Form;
  /** Whether output that others read may contain cells. */
  values: boolean;
  /** The name of the report page, as given on the command line. */
  page: string | null;
}

/** @throws UsageError for two forms at once */
export function reportOf(flags: Flags): Report {
  const { reportValues, report = null } = valuesOf(REPORTING, flags);
  return { form: formOf(flags), values: reportValues, page: report };
}

/** @throws UsageError for two forms at once */
function formOf(flags: Flags): Form {
  if (flags.json && flags.ndjson) {
    throw new UsageError('--json and --ndjson cannot be combined', { hint: 'choose one of them' });
  }
  return flags.json ? 'json' : flags.ndjson ? 'ndjson' : 'text';
}

/** The options of an import: flags override `import.*` of the config file. @throws UsageError; ConfigError */
export async function importOptions(
  paths: readonly string[],
  flags: Flags,
  context: Context,
): Promise<ImportOptions> {
  const { importDefaults } = await context.settings();
  const reading = await readingOptions(paths, flags, importDefaults, context);
  const rejecting = valuesOf(REJECTING, { ...importDefaults, ...flags });
  const options = engineValues(
    { ...SELECTING, ...SENDING, ...WAITING, ...RETRYING, ...REJECTING },
    { ...importDefaults, ...flags },
  );
  if (options.full && flags.resume) {
    throw new UsageError('--full and --resume cannot be combined: --full sends everything again', {
      hint: 'choose one of them',
    });
  }
  if (flags.changedOnly && options.full) {
    throw new UsageError('--changed-only and --full cannot be combined', { hint: 'choose one of them' });
  }
  // `--full` overrides `import.changed_only` of the config file.
  const changedOnly = options.changedOnly && !options.full;
  if (flags.refreshAfter !== undefined && !changedOnly) {
    throw new UsageError('--refresh-after has no effect without --changed-only: every row is sent', {
      hint: 'add --changed-only, or leave --refresh-after out',
    });
  }
  if (flags.maxChanged !== undefined && !changedOnly) {
    throw new UsageError('--max-changed has no effect without --changed-only: every row is sent', {
      hint: 'add --changed-only, or leave --max-changed out',
    });
  }
  const isolate = isolateOf(options, flags.isolate === true);
  if (flags.isolateJobs !== undefined && !options.isolate) {
    throw new UsageError('--isolate-jobs has no effect without --isolate', { hint: 'add --isolate' });
  }
  if (flags.outcomes !== undefined && options.dryRun) {
    throw new UsageError('--outcomes and --dry-run cannot be combined: a dry run sends no rows', {
      hint: 'leave one out',
    });
  }
  return {
    ...reading,
    ...options,
    isolate,
    changedOnly,
    maxChanged: changedOnly ? options.maxChanged : null,
    invalid: invalidBound(rejecting, flags),
    rejects: rejecting.rejects ?? null,
    outcomes: outcomesFile(given({ outcomes: SENDING.outcomes }, flags).outcomes, context.cwd),
    failed: false,
  };
}

/**
 * Whether to isolate, which needs waiting.
 * @param isFlag whether a flag asks for it; otherwise, the config file or a plan does
 * @throws UsageError for a flag that has no effect
 */
export function isolateOf(
  { isolate, wait }: Pick<ImportOptions, 'isolate' | 'wait'>,
  isFlag: boolean,
): boolean {
  if (!isFlag || wait) return isolate && wait;
  throw new UsageError('--isolate and --no-wait cannot be combined: isolation needs to see how jobs end', {
    hint: 'leave one out',
  });
}

/** The file to save the plan to. @throws UsageError if the plan could not be saved */
export function savePlanOf({ dryRun, resume, paths }: ImportOptions, flags: Flags): string | undefined {
  const { savePlan } = given({ savePlan: SENDING.savePlan }, flags);
  if (savePlan === undefined) return undefined;
  const refuse = (message: string, hint: string): never => {
    throw new UsageError(message, { hint });
  };
  if (!dryRun)
    refuse('--save-plan saves the plan of a dry run', 'add --dry-run; profiles apply then sends it');
  if (resume)
    refuse('--save-plan and --resume cannot be combined', 'a resume sends what its run has planned');
  if (paths.includes('-')) {
    refuse(
      'a plan of stdin (-) cannot be saved: it could not be read again',
      'save the input to a file first',
    );
  }
  return savePlan;
}

/** Makes the path absolute, because a resume may run in another folder. @throws UsageError */
export function outcomesFile(path: string | undefined, cwd: string): string | null {
  if (path === undefined) return null;
  if (path !== '-' && path !== '') return resolve(cwd, path);
  throw new UsageError('--outcomes takes the name of a file', { hint: 'such as --outcomes outcomes.csv' });
}

/**
 * Checks that the files that an import writes are all different: otherwise one would replace another after
 * everything was sent.
 * @param files paths by the flags that name them
 * @throws UsageError
 */
export function checkFilesDiffer(
  files: Readonly<Record<string, string | null | undefined>>,
  cwd: string,
): void {
  const flags = new Map<string, string>();
  for (const [flag, path] of Object.entries(files)) {
    if (path === null || path === undefined) continue;
    const place = resolve(cwd, path);
    const other = flags.get(place);
    if (other !== undefined) {
      throw new UsageError(`${other} and ${flag} both name ${path}`, {
        hint: 'name a file for each of them',
      });
    }
    flags.set(place, flag);
  }
}

/**
 * How many rows may be invalid: any number with `--skip-invalid`, a count or a share of the rows with
 * `--max-invalid`.
 */
function invalidBound({ maxInvalid, skipInvalid }: Values<typeof REJECTING>, flags: Flags): InvalidBound {
  if (flags.maxInvalid !== undefined && flags.skipInvalid === true) {
    throw new UsageError('--skip-invalid and --max-invalid cannot be combined: one has no bound', {
      hint: 'choose one of them',
    });
  }
  // Each of these flags overrides both keys of the config file.
  if (flags.maxInvalid === undefined && flags.skipInvalid !== undefined)
    return flags.skipInvalid ? 'any' : 'none';
  return maxInvalid ?? (skipInvalid ? 'any' : 'none');
}

/**
 * How files are read and mapped: flags override the mapping file, which overrides the config file.
 * @param defaults `import.*` of the config file
 * @throws UsageError; ConfigError for the mapping file
 */
export async function readingOptions(
  paths: readonly string[],
  flags: Flags,
  defaults: Flags,
  { cwd, stop }: Pick<Context, 'cwd' | 'stop'>,
): Promise<ReadOptions> {
  const read = engineValues(READING, { ...defaults, ...flags });
  const files = await readMappings(mappingFiles(flags), cwd, stop);
  const asked = { ...read, rules: rulesOf(flags) };
  return {
    paths: [...paths],
    ...read,
    ...withMappings(files, asked, rulesOf(defaults), paths.length === 1),
    stated: statedBy(files, asked.rules, flags.types !== undefined),
  };
}

/** The names of the mapping files, as given on the command line. */
export const mappingFiles = (flags: Flags): readonly string[] =>
  given({ mapping: COLUMNS.mapping }, flags).mapping ?? [];

function rulesOf(flags: Flags): SomeRules {
  const { type, types, map, include, exclude, set, empty, keys, trim, ...more } = given(COLUMNS, flags);
  const infer = types === undefined ? undefined : types === 'auto';
  const both = include?.find((column) => exclude?.includes(column));
  if (both !== undefined) {
    throw new UsageError(`--include ${both} and --exclude ${both} contradict each other`, {
      hint: 'leave out one of them',
    });
  }
  const unsent = map?.find(([column]) => exclude?.includes(column));
  if (unsent !== undefined) {
    throw new UsageError(`--map ${unsent.join('=')} and --exclude ${unsent[0]} contradict each other`, {
      hint: 'leave out one of them',
    });
  }
  const { null: nulls, allowId: allowIds } = more;
  return { map, include, exclude, set, types: typesOf(type), infer, empty, keys, trim, nulls, allowIds };
}

const typesOf = (
  given: readonly (readonly [column: string, type: string])[] | undefined,
): SomeRules['types'] => given?.map(([column, type]) => [column, cellType(type, `--type ${column}`)]);
