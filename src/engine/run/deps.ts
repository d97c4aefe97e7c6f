/** The dependencies of an import, and its result. */
import type { Readable } from 'node:stream';
import type { ExitCode } from '../errors.js';
import type { Plan, Summary } from '../model.js';
import type { SavedPlan } from '../plan/saved-plan.js';
import type { Records } from '../read/index.js';
import type { ServiceClient } from '../service/client.js';
import type { DownloadOptions } from '../service/download.js';
import type { StoredRun } from '../state/runs.js';
import type { Scope, State } from '../state/state.js';
import type { Clock } from '../util/clock.js';

/**
 * Asks for confirmation before anything is sent.
 * @param about `rows`: how many rows would be sent; `continues`: the run that continues, null for a new one
 * @throws ProfilesError if the user does not confirm
 */
export type Confirm = (about: { plan: Plan; rows: number; continues: string | null }) => Promise<void>;

export interface ImportDeps {
  state: State;
  /**
   * Null if there is no token. That is enough for a dry run, which then cannot use the records of past
   * imports.
   */
  scope: Scope | null;
  /**
   * Returns the client, which connects with its first request. May be called more than once. A dry run calls
   * it only to check properties.
   */
  client(): Promise<ServiceClient>;
  /** Returns a hash of the token and these texts. Null for an account with a name. */
  tokenHash?: ((texts: readonly string[]) => Promise<string>) | null | undefined;
  /** A dry run that leaves no trace: no rejects file. Default: false. */
  rehearsal?: boolean | undefined;
  /** Saves the plan. Without it, a dry run only reports its plan. */
  savePlan?: ((plan: SavedPlan) => Promise<void>) | undefined;
  /** The service as reports name it. */
  service: { account: string | null; region: string; base_url: string };
  clock: Clock;
  random: () => number;
  cwd: string;
  platform: NodeJS.Platform;
  stdin: () => Readable;
  /** Other files that this import reads, such as mapping files. No output may replace them. */
  reads?: readonly string[] | undefined;
  /** Absolute path of the report that the caller writes when the import has ended. */
  reportFile?: string | null | undefined;
  /** Read instead of files, as one input that is named by the first of `ImportOptions.paths`. */
  records?: Records | undefined;
  /** Options for downloading inputs. They do not include the token. */
  download: Pick<DownloadOptions, 'timeoutMs' | 'proxy'>;
  /**
   * Asks whether to continue an unfinished run of the same content. Without it, a run continues only with the
   * option `resume`.
   */
  offer?: ((run: StoredRun) => Promise<boolean>) | undefined;
  /** Asks whether the plan may be sent, and throws if not. */
  confirm?: Confirm | undefined;
  /** How long rows are kept for the history of profiles, in milliseconds. Default: 90 days. */
  historyKeepMs?: number | undefined;
  /** Worker threads for parsing; 0 parses in this thread. */
  threads: number;
  /**
   * First Ctrl-C: ends reading and waiting. Its reason is the name of the signal, or the error that ends the
   * import.
   */
  stop: AbortSignal;
  /** Second Ctrl-C: ends requests in flight. */
  abort: AbortSignal;
}

/** How an import ended. */
export interface ImportResult {
  summary: Summary;
  /** Exit code that the command would have. */
  exit: ExitCode;
  /** The error that ended it early, or null. */
  failure: unknown;
}
