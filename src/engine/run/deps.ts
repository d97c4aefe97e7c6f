/** What an import is given, and what comes of it. */
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
  /** Null where there is no token yet: enough for a dry run, which then knows nothing of past imports. */
  scope: Scope | null;
  /** Asked for as planning begins, where something may be sent; it connects when it sends. */
  client(): Promise<ServiceClient>;
  /** A hash of the token with these texts; null for an account that goes by its name. */
  tokenHash?: ((texts: readonly string[]) => Promise<string>) | null | undefined;
  /** Takes the plan of a dry run, where it is to be saved. */
  savePlan?: ((plan: SavedPlan) => Promise<void>) | undefined;
  /** As reports name it. */
  service: { account: string | null; region: string; base_url: string };
  clock: Clock;
  random: () => number;
  cwd: string;
  platform: NodeJS.Platform;
  stdin: Readable;
  /** Read in place of files, as one input that goes by this name. */
  records?: Records | undefined;
  /** Of a run that continues: inputs that lie elsewhere now. */
  inputs?: readonly string[] | undefined;
  /** How inputs that are addresses are fetched. The token is no part of it. */
  download: Pick<DownloadOptions, 'timeoutMs' | 'proxy'>;
  /** Asks whether an unfinished run of the same content is to continue. Without it, only `resume` makes it. */
  offer?: ((run: StoredRun) => Promise<boolean>) | undefined;
  /** Asks whether what is planned may go out; it throws where it may not. */
  confirm?: Confirm | undefined;
  /** Milliseconds for which rows are kept for the history of profiles. Default 90 days. */
  historyKeepMs?: number | undefined;
  /** Worker threads for parsing; 0 parses in this thread. */
  threads: number;
  /**
   * Makes V8 optimize less of the program while most of it runs rarely; what it gives makes it as usual again. For the
   * whole process, so a program that embeds the engine goes without.
   */
  optimizeLess?: (() => () => void) | undefined;
  /** First Ctrl-C: intake and waiting end. Its reason names the signal, or is the error that ends the import. */
  stop: AbortSignal;
  /** Second Ctrl-C: requests in flight end. */
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
