/** The options of an import: read from flags, the mapping file, and the config file; and those of a run as flags of another. */
import { readlinkSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { ImportOptions, InvalidBound, ReadOptions } from '../../engine/options.js';
import * as reading from '../../engine/read/index.js';
import type { Context } from '../context.js';
import { flagsOf, isSplit } from '../guide/again.js';
import type { Given } from '../guide/questions.js';
import * as table from '../options/index.js';
import type { Flags } from './command.js';

const { SELECTING, SENDING, WAITING, RETRYING, REJECTING } = table;
const CARRIED_OUT = { ...SELECTING, ...SENDING, ...WAITING, ...RETRYING, ...REJECTING };

/** The options of an import: flags override `import.*` of the config file. @throws UsageError; ConfigError */
export async function importOptions(
  paths: readonly string[],
  flags: Flags,
  context: Context,
  answered: reading.MappingFile | null = null,
): Promise<ImportOptions> {
  const { importDefaults } = await context.settings();
  const read = await readingOptions(paths, flags, importDefaults, context, answered);
  const all = { ...importDefaults, ...flags };
  const options = table.engineValues(CARRIED_OUT, all);
  const waiting = table.waitingIn(all);
  // `--full` overrides `import.changed_only` of the config file.
  const changedOnly = options.changedOnly && !options.full;
  return {
    ...{ ...read, ...options, ...waiting, changedOnly, failed: false, rejects: null },
    dryRun: options.dryRun || flags.savePlan !== undefined,
    maxChanged: changedOnly ? options.maxChanged : null,
    invalid: invalidBound(all, flags),
    ...writtenFiles(flags, context.cwd),
  };
}

/** The file to save the plan to. */
export const savePlanOf = (flags: Flags): string | undefined =>
  table.given({ savePlan: SENDING.savePlan }, flags).savePlan;

/** What flags change of an import that was planned or begun before: only what was given. @throws UsageError */
export function changesOf(options: table.Table, flags: Flags, cwd: string): Partial<ImportOptions> {
  const { wait, waitTimeoutMs } = table.waitingIn(flags);
  const changes: Partial<ImportOptions> = table.engineGiven(options, flags);
  return {
    ...changes,
    ...(!wait && { wait }),
    ...(waitTimeoutMs !== null && { waitTimeoutMs }),
    ...(changes.onFailure === 'isolate' && { wait: true }),
    ...writtenFiles(flags, cwd),
  };
}

/** Files that are written. The path of outcomes is absolute, because a resume may run in another folder. @throws UsageError */
function writtenFiles(flags: Flags, cwd: string): Pick<ImportOptions, 'outcomes'> & { rejects?: string } {
  const { rejects, outcomes } = table.given(table.REPORTING, flags);
  if (outcomes === '-' || outcomes === '')
    throw table.usage('--outcomes takes the name of a file', 'such as --outcomes outcomes.csv');
  return {
    ...(rejects !== undefined && { rejects }),
    outcomes: outcomes === undefined ? null : resolve(cwd, outcomes),
  };
}

/**
 * Checks that the files that an import writes are all different: otherwise one would replace another after
 * everything was sent.
 * @param files paths by the flags that name them
 * @throws UsageError
 */
export function checkFilesDiffer(files: Record<string, string | null | undefined>, cwd: string): void {
  const flags = new Map<string, string>();
  for (const [flag, path] of Object.entries(files)) {
    if (path === null || path === undefined) continue;
    const place = targetOf(resolve(cwd, path));
    const other = flags.get(place);
    if (other) throw table.usage(`${other} and ${flag} both name ${path}`, 'name a file for each of them');
    flags.set(place, flag);
  }
}

/** Where a path leads, each link followed, also if nothing is there yet. Whoever writes there says what is wrong with it. */
function targetOf(path: string, most = 40): string {
  const parent = dirname(path);
  if (parent === path || most === 0) return path;
  const place = join(targetOf(parent, most), basename(path));
  try {
    return targetOf(resolve(dirname(place), readlinkSync(place)), most - 1);
  } catch {
    return place; // it is no link
  }
}

/** How many rows may be invalid: any number with `--skip-invalid`, a count or a share of the rows with `--max-invalid`. */
function invalidBound(all: Flags, flags: Flags): InvalidBound {
  const { maxInvalid, skipInvalid } = table.valuesOf(REJECTING, all);
  // Each of these flags overrides both keys of the config file.
  const isSwitched = flags.maxInvalid === undefined && flags.skipInvalid !== undefined;
  return (isSwitched ? undefined : maxInvalid) ?? (skipInvalid ? 'any' : 'none');
}

/**
 * How files are read and mapped: flags override the mapping file, which overrides the config file.
 * @param defaults `import.*` of the config file @param answered a mapping in place of the mapping files
 * @throws UsageError; ConfigError for the mapping file
 */
export async function readingOptions(
  paths: readonly string[],
  flags: Flags,
  defaults: Flags,
  { cwd, stop }: Pick<Context, 'cwd' | 'stop'>,
  answered: reading.MappingFile | null = null,
): Promise<ReadOptions> {
  const zoneIn = (of: Flags): string | undefined => table.given({ zone: table.READING.zone }, of).zone;
  const zones = { zone: zoneIn(flags), otherwise: zoneIn(defaults) };
  const files = answered
    ? await reading.mappingsOf(answered, 'the answers')
    : await reading.readMappings(mappingFiles(flags), cwd, zones, stop);
  const facts = reading.factsOf(files, table.given(table.READING, flags));
  const read = table.engineValues(table.READING, { ...defaults, ...facts, ...flags });
  const inMapping = files.find(({ kind }) => kind === undefined)?.zone;
  const rules = rulesOf(flags, zones.zone ?? inMapping ?? zones.otherwise);
  const mapped = reading.withMappings(files, { ...read, rules }, rulesOf(defaults), paths.length === 1);
  return { paths: [...paths], ...read, ...mapped };
}

/** The names of the mapping files, as given on the command line. */
export const mappingFiles = (flags: Flags): readonly string[] =>
  table.given({ mapping: table.COLUMNS.mapping }, flags).mapping ?? [];

function rulesOf(flags: Flags, zone?: string): reading.SomeRules {
  const { type, null: nulls, allowId: allowIds, mapping: _, ...rules } = table.given(table.COLUMNS, flags);
  const { include = [], map = [], exclude = [] } = rules;
  const named = [
    ...include.map((name) => [`--include ${name}`, name] as const),
    ...map.map((pair) => [`--map ${pair.join('=')}`, pair[0]] as const),
  ];
  const twice = named.find(([, column]) => exclude.includes(column));
  if (twice)
    throw table.usage(`${twice[0]} and --exclude ${twice[1]} contradict each other`, 'leave out one of them');
  return { ...rules, ...reading.typeRules(type, (column) => `--type ${column}`, zone), nulls, allowIds };
}

/** What flags decide, so that it is not asked. */
export const givenBy = ({ guide, map, include, exclude, keys, zone }: Flags): Given => ({
  all: guide === true,
  columns: [map, include, exclude, keys].some((rule) => rule !== undefined),
  zone: typeof zone === 'string' ? zone : null,
});

/** The values that a run sets for every item, in the form of `--set`. */
export function setIn({ rules, byKind }: ImportOptions): string[] {
  const all = [rules, byKind?.companies?.rules, byKind?.users?.rules].flatMap((each) => each?.set ?? []);
  return [...new Set(all.map((pair) => pair.join('=')))];
}

/** How a run reads and sends. Null if each kind has its own rules, or a key has `=`, which flags cannot say. */
export function flagsIn(options: ImportOptions): string[] | null {
  const { kind, where = [], limit, userId, byKind = {} } = options;
  const [own, other] = Object.values(byKind);
  const { rules, id, companyId } = { ...options, ...own };
  if (other || isSplit([...rules.map.map(([, key]) => key), ...rules.set.map(([key]) => key)])) return null;
  const { map, types, infer, empty, keys, nulls, trim, allowIds, include, exclude } = rules;
  const mapping: reading.MappingFile = {
    kind: kind ?? (own && (byKind.companies ? 'companies' : 'users')),
    ...reading.writtenFacts(options),
    ...{ id, company_id: companyId, keys, empty, null: nulls && [...nulls], trim },
    ...{ map: Object.fromEntries(map), include: [...include], exclude: [...exclude] },
    type: { ...Object.fromEntries(types), ...(!infer && { '*': 'string' }) },
    allow_id: allowIds && [...allowIds],
  };
  return [
    ...flagsOf(mapping),
    ...(userId === undefined ? [] : ['--user-id', userId]),
    ...where.flatMap((condition) => ['--where', condition.join('')]),
    ...(limit === undefined ? [] : ['--limit', String(limit)]),
    ...sendingIn(options),
  ];
}

/** The options of a run that are neither about columns nor of one session. */
const OF_RUN = table.OPTIONS.filter(({ heading, name, ofSession }) => {
  return (
    name === 'maxCell' || (heading === 'Sending' && !ofSession && name !== 'dryRun' && name !== 'resume')
  );
});

/** How a run is sent, as flags, as far as that differs from the defaults. */
function sendingIn(options: ImportOptions): string[] {
  const values = new Map<string, unknown>(Object.entries(options));
  const said: string[] = [];
  for (const { name, sets = name, default: usual, needs = '', type, typed, key } of OF_RUN) {
    const value = values.get(sets) ?? null;
    if (value === null || value === usual || !said.join(' ').includes(needs)) continue;
    // A size as people read it is rounded.
    const text = type.kind === 'size' || type.kind === 'flag' ? String(value) : type.write(value);
    if (typed.startsWith('-o ')) said.push('-o', `${key}=${text}`);
    else said.push(typed, ...(type.kind === 'flag' ? [] : [text]));
  }
  return said;
}

/** How many rows may be invalid, as flags. */
export function invalidIn({ invalid }: ImportOptions): string[] {
  if (typeof invalid === 'object') return ['--max-invalid', REJECTING.maxInvalid.type.write(invalid)];
  return invalid === 'any' ? ['--skip-invalid'] : [];
}
