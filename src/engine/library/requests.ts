/** What a program asks for, and how that becomes the options of the flow: the command's defaults, checked values. */
import { UsageError } from '../errors.js';
import { DEFAULTS, type ImportOptions, type ReadOptions, type SendOptions } from '../options.js';
import { MAX_CELL_BYTES, type MappingRules, mergeRules, readMapping } from '../read/index.js';
import type { ServiceOptions } from './service.js';

/** What is read, and how. A field that is left out is as in the command: found out, or its default. */
export interface ReadRequest extends Partial<Omit<ReadOptions, 'paths' | 'rules'>> {
  /** Paths, relative to `cwd`. `-` is `stdin`. Patterns are not expanded. */
  files: readonly string[];
  /** Read where `files` names `-`: a stream, or anything that yields its bytes. */
  stdin?: AsyncIterable<Uint8Array | string>;
  /** What becomes of columns, as `--map`, `--include`, `--exclude`, `--set`, `--type`, `--types`, `--empty`. */
  rules?: Partial<MappingRules>;
  /** A mapping file, relative to `cwd`. `rules` and the fields of this request win over it. */
  mapping?: string;
  /** Where relative paths begin, and where rejects files are written. Default: the working directory. */
  cwd?: string;
  /** Path of the rejects file, for one input. Default: `<name>.rejects.csv`; an existing file is never overwritten. */
  rejects?: string;
  /** Worker threads for files above 8 MiB. Default 2; 0 parses on this thread. */
  threads?: number;
  /**
   * Stops early: nothing more is read or sent, a request in flight is let finish, waiting ends. An import that was
   * sending ends with status `interrupted` and can be continued; one that was still planning throws InterruptedError.
   */
  signal?: AbortSignal;
}

export interface PlanRequest
  extends ReadRequest,
    Partial<
      Pick<ImportOptions, 'chunkSize' | 'chunkBytes' | 'changedOnly' | 'refreshAfterMs' | 'checkProperties'>
    > {
  /** Without it the plan knows nothing of past imports: no estimate, nothing unchanged. `checkProperties` needs it. */
  service?: ServiceOptions;
  /** State of earlier imports. Default: none; a temporary folder is used, and removed. */
  stateDir?: string;
}

export interface ImportRequest
  extends ReadRequest,
    Partial<Omit<SendOptions, 'rejects'>>,
    Partial<Pick<ImportOptions, 'checkProperties' | 'full' | 'resume'>> {
  service: ServiceOptions;
  /**
   * Folder of the state: what was sent and what was acknowledged. Made if needed. Keep it between imports: without
   * it nothing can be continued. The command's own folder may be given.
   */
  stateDir: string;
  /** Ends requests in flight too. What became of them is then unknown; the import that continues names them. */
  abort?: AbortSignal;
}

/**
 * Options as the flow takes them. Field by field: the state keeps them, so nothing else of the request may slip in.
 * @param cwd absolute
 * @throws UsageError for a number out of range; ConfigError for the mapping file
 */
export async function optionsOf(
  request: PlanRequest & Partial<ImportRequest>,
  cwd: string,
  dryRun: boolean,
): Promise<ImportOptions> {
  const {
    kind,
    id,
    companyId,
    rules: fileRules,
  } = request.mapping ? await readMapping(request.mapping, cwd) : { rules: {} };
  const named = {
    kind: request.kind ?? kind,
    id: request.id ?? id,
    companyId: request.companyId ?? companyId,
    format: request.format,
    delimiter: request.delimiter,
    encoding: request.encoding,
  };
  if (request.files.length === 0) throw new UsageError('files: there is none');
  if (request.rejects !== undefined && request.files.length > 1) {
    throw new UsageError('rejects names one file, and there are several inputs');
  }
  return {
    ...given(named),
    paths: [...request.files],
    rules: mergeRules(fileRules, request.rules ?? {}),
    maxCellBytes: wholeNumber('maxCellBytes', request.maxCellBytes, MAX_CELL_BYTES, 1),
    chunkSize: wholeNumber('chunkSize', request.chunkSize, DEFAULTS.chunkSize, 1),
    chunkBytes: wholeNumber('chunkBytes', request.chunkBytes, DEFAULTS.chunkBytes, 1),
    concurrency: wholeNumber('concurrency', request.concurrency, DEFAULTS.concurrency, 1),
    retries: wholeNumber('retries', request.retries, DEFAULTS.retries, 0),
    retryDelayMs: wholeNumber('retryDelayMs', request.retryDelayMs, DEFAULTS.retryDelayMs, 0),
    maxRetryAfterMs: wholeNumber('maxRetryAfterMs', request.maxRetryAfterMs, DEFAULTS.maxRetryAfterMs, 0),
    busyTimeoutMs: wholeNumber('busyTimeoutMs', request.busyTimeoutMs, DEFAULTS.busyTimeoutMs, 0),
    wait: request.wait ?? true,
    waitTimeoutMs: wholeNumber('waitTimeoutMs', request.waitTimeoutMs ?? undefined, null, 0),
    intervalMs: wholeNumber('intervalMs', request.intervalMs ?? undefined, null, 1),
    invalid: request.invalid ?? 'none',
    rejects: request.rejects ?? null,
    changedOnly: request.changedOnly ?? false,
    refreshAfterMs: wholeNumber('refreshAfterMs', request.refreshAfterMs ?? undefined, null, 1),
    continueOnError: request.continueOnError ?? false,
    checkProperties: request.checkProperties ?? false,
    full: request.full ?? false,
    resume: request.resume ?? false,
    dryRun,
  };
}

type Named = Omit<ReadOptions, 'paths' | 'rules' | 'maxCellBytes'>;

const given = (named: { [K in keyof Named]?: Named[K] | undefined }): Named =>
  Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined));

/**
 * A number of a request, or `otherwise` where it is left out.
 * @throws UsageError naming the field: further in, a wait of NaN or a thread less than none would never end
 */
export function wholeNumber<T>(
  name: string,
  value: number | undefined,
  otherwise: T,
  least: number,
): number | T {
  if (value === undefined) return otherwise;
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new UsageError(`${name}: ${value} is not a whole number of at least ${least}`);
}
