/** The dependencies of an import, and its result. */
import type { Readable } from 'node:stream';
import type { Clock } from '../clock.js';
import type { ExitCode } from '../errors.js';
import type { Plan, Summary } from '../model.js';
import type { SavedPlan } from '../plan/saved-plan.js';
import type { Records } from '../read/index.js';
import type { ServiceClient } from '../service/client.js';
import type { DownloadOptions } from '../service/download.js';
import type { StoredRun } from '../state/runs.js';
import type { Scope, State } from '../state/state.js';

/** @param about `rows` that would be sent; `continues`: the run that continues, null for a new one. @throws ProfilesError */
export type Confirm = (about: { plan: Plan; rows: number; continues: string | null }) => Promise<void>;

export interface ImportDeps {
  state: State;
  /** Null if there is no token: enough for a dry run, which then knows nothing of past imports. */
  scope: Scope | null;
  /** Called when planning begins, if something may be sent; connects only when it sends. */
  client(): Promise<ServiceClient>;
  /** A hash of the token and these texts; null for an account with a name. */
  tokenHash?: ((texts: readonly string[]) => Promise<string>) | null | undefined;
  /** Saves the plan of a dry run. */
  savePlan?: ((plan: SavedPlan) => Promise<void>) | undefined;
  /** The service as reports name it. */
  service: { account: string | null; region: string; base_url: string };
  clock: Clock;
  random: () => number;
  cwd: string;
  platform: NodeJS.Platform;
  stdin: Readable;
  /** Files beside the inputs that were read for this import, such as mapping files: they are not replaced. */
  reads?: readonly string[] | undefined;
  /** The file in which the caller reports the import when it has ended. Absolute. */
  reportFile?: string | null | undefined;
  /** Read instead of files, as one input with this name. */
  records?: Records | undefined;
  /** For a run that continues: inputs that are elsewhere now. */
  inputs?: readonly string[] | undefined;
  /** Options for downloading inputs. They do not include the token. */
  download: Pick<DownloadOptions, 'timeoutMs' | 'proxy'>;
  /** Asks whether to continue an unfinished run of the same content. Without it, only `resume` does. */
  offer?: ((run: StoredRun) => Promise<boolean>) | undefined;
  /** Asks whether the plan may be sent, and throws if not. */
  confirm?: Confirm | undefined;
  /** How long rows are kept for the history of profiles, milliseconds. Default: 90 days. */
  historyKeepMs?: number | undefined;
  /** Worker threads for parsing; 0 parses in this thread. */
  threads: number;
  /**
   * Makes V8 optimize less of the program while most of it runs rarely; the function that it returns restores the
   * default. It affects the whole process, so programs that embed the engine do without it.
   */
  optimizeLess?: (() => () => void) | undefined;
  /** First Ctrl-C: ends reading and waiting. Its reason names the signal, or is the error that ends the import. */
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
