/** The requests of the library, and how they become the options of an import, with checks and defaults. */
import { resolve } from 'node:path';
import { UsageError } from '../errors.js';
import { givenFacts } from '../options/file-facts.js';
import type { MappingRules } from '../options/mapping-rules.js';
import {
  type ImportOptions,
  importNumbers,
  type ReadOptions,
  type SendOptions,
  WORDS,
  withDefaults,
  wordOption,
} from '../options.js';
import { cellType, factsOf, readMappings, withMappings } from '../read/index.js';
import { wholeNumber } from '../util/numbers.js';
import type { ServiceOptions } from './service.js';

/** What to read, and how. Options that you leave out are detected, or have the default of the command. */
export interface ReadRequest extends Partial<Omit<ReadOptions, 'paths' | 'rules' | 'byKind' | 'stated'>> {
  /**
   * The inputs: paths relative to `cwd`, folders, patterns, files in zip archives, and `https://` URLs; `-`
   * is `stdin`. The name of an existing file is never read as a pattern. Give either `files` or `records`.
   */
  files?: readonly string[];
  /**
   * Items instead of files: objects as in a JSON input. They are pulled as needed and copied to a private
   * file until the run has finished, so a generator may yield any number of them. Reports call the input
   * `records`, and number the items from 1. Each is converted as by `JSON.stringify`: `undefined` members are
   * left out, a `Date` becomes ISO text, and `toJSON` is called. A `bigint` becomes a number if a double can
   * represent it exactly, otherwise text. Values that JSON does not have (NaN, Infinity, an invalid `Date`, a
   * `Map` or `Set`, a cycle) end the import with a UsageError that names the record, and nothing is sent.
   * Errors of the iterable are thrown unchanged.
   */
  records?: Iterable<object> | AsyncIterable<object>;
  /** The input that `-` in `files` means: a stream, or any async iterable of bytes or text. */
  stdin?: AsyncIterable<Uint8Array | string>;
  /** Rules for columns and their values. */
  rules?: Partial<MappingRules>;
  /** Mapping files, relative to `cwd`: one for all inputs, or one for each kind. `rules` and the other options override them. */
  mapping?: string | readonly string[];
  /** The folder for relative paths and for rejects files. Default: the working directory. */
  cwd?: string;
  /** Path of the rejects file, for one input. Default: `<name>.rejects.csv`, or `.ndjson` for JSON. */
  rejects?: string;
  /** Worker threads for files of more than 8 MiB (compressed, workbook, or Parquet: 1 MiB). Default 2; 0 parses on this thread. */
  threads?: number;
  /**
   * Stops the import: requests in flight finish, and nothing more is read, sent, or waited for. If the import
   * was sending, it ends with status `interrupted` and can be continued. If it was still planning, it throws
   * InterruptedError.
   */
  signal?: AbortSignal;
}

/** What to plan. */
export interface PlanRequest
  extends ReadRequest,
    Partial<
      Pick<
        ImportOptions,
        | 'chunkSize'
        | 'chunkBytes'
        | 'changedOnly'
        | 'refreshAfterMs'
        | 'maxChanged'
        | 'trackKeys'
        | 'checkProperties'
      >
    > {
  /**
   * Needed for an estimate, for `changedOnly`, and for `checkProperties`, which is the only one that contacts
   * the service.
   */
  service?: ServiceOptions;
  /**
   * Folder of the state with the records of earlier imports. Default: a temporary one, which is removed
   * afterwards.
   */
  stateDir?: string;
  /** A file to save the plan to, relative to `cwd`, for `plan` of an import. It needs a service. */
  savePlan?: string;
  /** See `ImportRequest`. */
  state?: string;
}

/** What to import, and where. */
export interface ImportRequest
  extends ReadRequest,
    Partial<Omit<SendOptions, 'rejects'>>,
    Partial<Pick<ImportOptions, 'checkProperties' | 'full' | 'resume'>> {
  /** The service, and the account to import into. */
  service: ServiceOptions;
  /**
   * Folder of the state, which records what was sent and what the service acknowledged. It is created if
   * needed. Keep it between imports: without it, nothing can be continued. It may be the folder that the
   * command uses.
   */
  stateDir: string;
  /**
   * The location of the state, if it is not in that folder: another folder, or
   * `postgres://user:password@host/database?schema=profiles` for imports from several machines. The folder
   * then has only files of this machine, such as copies of inputs.
   */
  state?: string;
  /**
   * A saved plan to carry out: its file, relative to `cwd`. If a run of it is unfinished, that continues. `files` then
   * names inputs that are elsewhere now, which are recognized by their content; of the other options, only those of
   * sending and waiting apply.
   */
  plan?: string;
  /**
   * The id of a run of this state to continue, or to follow its jobs. `files` and options as with `plan`. If the run is
   * continued elsewhere, repeat its `where` and `rules.set`.
   */
  run?: string;
  /** With `plan`: sends it although it was applied. With `run`: sends the rows of its failed requests again. */
  again?: boolean;
  /**
   * Stops the import, and also ends requests in flight. Their outcome is then unknown: a resume sends them
   * again, and lists them.
   */
  abort?: AbortSignal;
}

/** The paths of the mapping files. */
export const mappingsOf = ({ mapping = [] }: Pick<ReadRequest, 'mapping'>): readonly string[] =>
  typeof mapping === 'string' ? [mapping] : mapping;

/**
 * Makes the options of an import. Copies each field by name, because the state stores the options, and must
 * not store anything else of the request, such as the token.
 * @param cwd absolute
 * @throws UsageError for a number out of range or an unknown word; ConfigError for an invalid mapping file
 */
export async function optionsOf(
  request: PlanRequest & Partial<ImportRequest>,
  cwd: string,
  dryRun: boolean,
): Promise<ImportOptions> {
  const paths = inputsOf(request);
  const { id, userId, companyId } = request;
  const files = await readMappings(mappingsOf(request), cwd, {}, request.signal);
  const rules = request.rules ?? {};
  const asked = { kind: request.kind, id, userId, companyId, rules };
  const named = {
    ...givenFacts(factsOf(request.records ? [] : files, request)),
    where: request.where,
    limit: request.limit === undefined ? undefined : wholeNumber(request.limit, 'limit', { least: 1 }),
    ...withMappings(files, asked, {}, paths.length === 1),
  };
  for (const [column, is] of request.where ?? []) wordOption(`where ${column}`, is, WORDS.is);
  if (request.rejects !== undefined && paths.length > 1) {
    throw new UsageError('rejects takes one file, but there are several inputs');
  }
  if (request.maxChanged && request.changedOnly !== true)
    throw new UsageError('maxChanged has no effect without changedOnly');
  checkSending(request);
  if (request.skipLines !== undefined) wholeNumber(request.skipLines, 'skipLines', { least: 0 });
  for (const name of ['kind', 'format', 'shortRows'] as const) {
    if (named[name] !== undefined) wordOption<string>(name, named[name], WORDS[name]);
  }
  checkContradictions(rules);
  for (const [column, type] of rules.types ?? []) cellType(type, `rules.types: ${column}`);
  for (const name of ['empty', 'keys'] as const) {
    if (rules[name] !== undefined) wordOption<string>(`rules.${name}`, rules[name], WORDS[name]);
  }
  return {
    ...given(named),
    paths,
    ...(request.records && { format: 'ndjson' as const }),
    rules: named.rules,
    ...importNumbers(request),
    ...withDefaults(request),
    outcomes: request.outcomes == null ? null : resolve(cwd, request.outcomes),
    ...{ failed: false, dryRun },
  };
}

/**
 * @throws UsageError for two values for one column or key, and for a column that is excluded, and also included or
 * mapped
 */
function checkContradictions({ include = [], exclude = [], ...rules }: Partial<MappingRules>): void {
  for (const name of ['map', 'set', 'types'] as const) {
    const given = new Map<string, string>();
    for (const [left, right] of rules[name] ?? []) {
      const before = given.get(left);
      if (before !== undefined && before !== right) {
        throw new UsageError(`rules.${name}: ${JSON.stringify(left)} has two values`);
      }
      given.set(left, right);
    }
  }
  const both = include.find((column) => exclude.includes(column));
  if (both !== undefined)
    throw new UsageError(`rules: ${JSON.stringify(both)} is both included and excluded`);
  const unsent = rules.map?.find(([column]) => exclude.includes(column));
  if (unsent !== undefined)
    throw new UsageError(`rules: ${JSON.stringify(unsent[0])} is both mapped and excluded`);
}

/** @throws UsageError for an unknown word, or a bound that is out of range */
export function checkSending({ onFailure, maxChanged }: Partial<ImportRequest>): void {
  if (onFailure !== undefined) wordOption<string>('onFailure', onFailure, WORDS.onFailure);
  if (!maxChanged) return;
  if ('rows' in maxChanged) wholeNumber(maxChanged.rows, 'maxChanged.rows', { least: 0 });
  else if (!(maxChanged.percent >= 0 && maxChanged.percent <= 100))
    throw new UsageError(`maxChanged.percent: ${maxChanged.percent} is not a number from 0 to 100`);
}

/** The name of `records` in reports. */
const RECORDS = 'records';

/**
 * The names of the inputs.
 * @throws UsageError if there are none, or for options that do not apply to `records`
 */
function inputsOf(request: ReadRequest): string[] {
  const { files, records } = request;
  if (records === undefined) {
    if (files === undefined) throw new UsageError('files or records must be given');
    if (files.length === 0) throw new UsageError('files must name at least one file');
    return [...files];
  }
  if (files !== undefined) throw new UsageError('files and records cannot be combined');
  const isIterable =
    typeof records === 'object' &&
    records !== null &&
    (Symbol.asyncIterator in records || Symbol.iterator in records);
  if (!isIterable) throw new UsageError('records must be an iterable or async iterable of objects');
  for (const name of ['format', 'delimiter', 'encoding', 'jsonPath', 'stdin'] as const) {
    if (request[name] !== undefined) throw new UsageError(`${name} does not apply to records`);
  }
  return [RECORDS];
}

type Named = Omit<ReadOptions, 'paths' | 'rules' | 'maxCellBytes'>;

const given = (named: { [K in keyof Named]?: Named[K] | undefined }): Named =>
  Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined));
