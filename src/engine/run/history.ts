/**
 * Finds the history of one profile (contract §1 `history`): the recorded rows that were sent, rejected, or
 * left out. Rows that an import found unchanged are not recorded: if asked, they are searched in the inputs of the
 * import, if these have not changed.
 */
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ProfilesError } from '../errors.js';
import { envelopeBytes, type Kind } from '../model.js';
import type { ImportOptions } from '../options.js';
import { digestFile, idHashes } from '../read/index.js';
import type { HistoryEntry } from '../state/history.js';
import { RunRequests } from '../state/run-requests.js';
import type { StoredRun } from '../state/runs.js';
import type { KnownJob } from '../state/state.js';
import type { ImportDeps } from './deps.js';
import { reopenInputs } from './inputs.js';
import {
  MERGED,
  type Outcome,
  outcomeOf,
  outcomeOfOvertaken,
  type RowOutcome,
  sentLaterReason,
  without,
} from './outcome.js';
import { RunRows } from './rows.js';
import { hasConditions } from './stored-options.js';

/** One row of an input, or one profile that `identify` sent. */
export interface HistoryRecord {
  /** ISO 8601: when it was sent last; for an unchanged row, when its run began. */
  at: string;
  command: 'import' | 'identify';
  outcome: Outcome;
  run: string | null;
  file: string | null;
  line: number | null;
  request: number | null;
  job_id: string | null;
  reason: string | null;
  account: string;
  region: string;
}

/** A run with unchanged rows, in an input of which the profile was not searched. */
export interface Unread {
  run: string;
  /**
   * `unasked`: searching was not asked for. `changed`: the input has changed or is missing. `selected`: the run read
   * only some rows, and the state does not store which ones.
   */
  why: 'unasked' | 'changed' | 'selected';
}

export interface HistoryDeps extends Pick<ImportDeps, 'state' | 'cwd' | 'stop' | 'clock' | 'threads'> {
  /** Milliseconds: older rows are not reported. */
  keepMs: number;
  /** Whether to search inputs for rows that were unchanged, which takes as long as reading them. */
  unchanged: boolean;
}

/** @returns `records`: newest first. @throws the reason of `stop` */
export async function historyOf(
  kind: Kind,
  id: string,
  deps: HistoryDeps,
): Promise<{ records: HistoryRecord[]; unread: Unread[] }> {
  const { state, clock, keepMs } = deps;
  const [hash] = idHashes(state.secret, [id]);
  const since = clock.now() - keepMs;
  const runs = new Map((await state.runs.all()).map((run) => [run.run, run]));
  const known = new Known(deps, await state.jobs.all());
  const entries = (await state.history.find(kind, hash!)).filter(({ at }) => at >= since);
  const records: HistoryRecord[] = [];
  for (const entry of entries) records.push(...(await known.recordsOf(entry, runs.get(entry.run ?? ''))));
  const listed = new Set(entries.map(({ run }) => run));
  const unread: Unread[] = [];
  const unchanged = await state.history.unchanged();
  for (const run of runs.values()) {
    if (listed.has(run.run) || !run.kinds.includes(kind) || Date.parse(run.started_at) < since) continue;
    if (!unchanged.get(run.run)?.some((input) => run.inputs[input]?.kind === kind)) continue;
    if (!deps.unchanged) {
      unread.push({ run: run.run, why: 'unasked' });
      continue;
    }
    const found = await known.lookUp(run, kind, hash!);
    records.push(...found.records);
    unread.push(...found.unread);
  }
  records.sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
  return { records, unread };
}

/** Reads records of runs and jobs from the state, once for each. */
class Known {
  readonly #requests = new Map<string, RunRequests>();
  readonly #jobs: Map<string, string>;
  readonly #digests = new Map<string, Promise<string | null>>();

  constructor(
    private readonly deps: HistoryDeps,
    jobs: readonly KnownJob[],
  ) {
    this.#jobs = new Map(
      jobs.map(({ job_id, status, record }) => [
        job_id,
        status === 'completed' && record.completed_rows === 0 ? 'short' : status,
      ]),
    );
  }

  async requests(run: string): Promise<RunRequests> {
    const known = this.#requests.get(run) ?? new RunRequests(await this.deps.state.requests.of(run));
    this.#requests.set(run, known);
    return known;
  }

  async recordsOf(entry: HistoryEntry, run: StoredRun | undefined): Promise<HistoryRecord[]> {
    const { at, line, scope } = entry;
    const base = {
      at: new Date(at).toISOString(),
      file: entry.input === null ? null : (run?.inputs[entry.input]?.path ?? null),
      line,
      account: scope.account,
      region: scope.region,
    };
    if (entry.what === 'identify') {
      const outcome = this.#ofProfile(entry);
      return [{ ...base, command: 'identify', run: null, ...outcome }];
    }
    const outcome = await this.#ofRow(entry, run);
    return outcome ? [{ ...base, command: 'import', run: entry.run, ...outcome }] : [];
  }

  async #ofRow(entry: HistoryEntry, run: StoredRun | undefined): Promise<RowOutcome | null> {
    if (entry.what === 'rejected') {
      const file = run?.inputs[entry.input ?? 0]?.rejects_file;
      return without('rejected', file ? `see ${file}` : null);
    }
    const requests = await this.requests(entry.run!);
    const record = requests.of(entry.seq ?? -1);
    if (!record) return null;
    const chain = requests.chainOf(record);
    if (entry.what === 'left_out') return without('unsent', sentLaterReason(record));
    // The line of the request that sent it says it.
    if (entry.what === 'overtaken') return null;
    if (entry.what === 'doubtful') return outcomeOfOvertaken(chain, 'unknown');
    const sent = outcomeOf(chain);
    // It was sent, whatever its outcome is.
    const went = { ...sent, request: record.seq, job_id: record.job_id };
    const isWith = entry.merged && !['rejected', 'unknown', 'unsent'].includes(sent.outcome);
    return isWith ? { ...went, outcome: 'merged', reason: MERGED } : went;
  }

  #ofProfile({ job_id, note }: HistoryEntry): RowOutcome {
    if (job_id === null) {
      if (note === 'unsent') return without('unsent', 'it did not arrive');
      return without('submitted', note === 'submitted' ? null : 'it is not known whether it arrived');
    }
    const status = this.#jobs.get(job_id);
    const isEnd = status === 'completed' || status === 'failed' || status === 'short';
    return { ...without(isEnd ? status : 'submitted', null), job_id };
  }

  /** Searches the inputs of a run for rows of an id. */
  async lookUp(
    run: StoredRun,
    kind: Kind,
    hash: bigint,
  ): Promise<{ records: HistoryRecord[]; unread: Unread[] }> {
    const { state, cwd, stop: signal, threads } = this.deps;
    const records: HistoryRecord[] = [];
    const unread: Unread[] = [];
    const walk = new RunRows(run.run, (await this.requests(run.run)).all, { state, threads, signal });
    const options = run.options as ImportOptions;
    const itemLimitBytes = options.chunkBytes - envelopeBytes(kind);
    // The limit holds for all inputs of a kind together, so it is not known which rows of one input were read.
    const isOne = run.inputs.filter((input) => input.kind === kind).length === 1;
    const isSelected = hasConditions(run) || (options.limit != null && !isOne);
    const { started_at: at, scope } = run;
    const base = {
      at,
      command: 'import',
      run: run.run,
      account: scope.account,
      region: scope.region,
    } as const;
    for (const [index, input] of run.inputs.entries()) {
      if (input.kind !== kind) continue;
      const { path: file, location, digest, types } = input;
      const isAsItWas = (await this.#digestOf(resolve(cwd, location))) === digest;
      if (!isAsItWas || isSelected) {
        unread.push({ run: run.run, why: isAsItWas ? 'selected' : 'changed' });
        continue;
      }
      try {
        const [opened] = await reopenInputs({ ...run, inputs: [input] }, options, {
          ...this.deps,
          stop: signal,
        });
        const walked = { opened: opened!, scan: { schema: { types, itemLimitBytes } } };
        for await (const rows of walk.walk(index, walked, hash))
          for (const { row: _row, id: _id, ...outcome } of rows) records.push({ ...base, file, ...outcome });
      } catch (error) {
        // The input can no longer be read as the run read it.
        if (!(error instanceof ProfilesError) || signal.aborted) throw error;
        unread.push({ run: run.run, why: 'changed' });
      }
    }
    return { records, unread };
  }

  /** The digest of a file; null if there is none. Cached, because nightly imports read the same file. */
  #digestOf(location: string): Promise<string | null> {
    const known = this.#digests.get(location) ?? digestOf(location, this.deps.stop);
    this.#digests.set(location, known);
    return known;
  }
}

async function digestOf(location: string, signal: AbortSignal): Promise<string | null> {
  const found = await stat(location).catch(() => null);
  // A FIFO would wait for a writer.
  if (!found?.isFile()) return null;
  try {
    return (await digestFile({ path: location, location }, signal)).digest;
  } catch (error) {
    if (signal.aborted) throw error;
    return null;
  }
}
