/**
 * Finds the history of one profile (contract §1 `history`): the recorded rows that were sent, rejected, or
 * left out. Rows that an import found unchanged are not recorded: if asked, they are searched in the inputs of the
 * import, if these have not changed.
 */
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ProfilesError } from '../errors.js';
import { RunRequests } from '../model/run-requests.js';
import { envelopeBytes, type Kind } from '../model.js';
import { digestFile, idHashes } from '../read/index.js';
import type { HistoryEntry } from '../state/history.js';
import type { StoredRun } from '../state/runs.js';
import { openAs } from './inputs.js';
import { MERGED, type Outcome, outcomesOf, type RowOutcome, without } from './outcome.js';
import { hasConditions, withoutValues } from './recorded.js';
import { RunRows } from './rows.js';
import type { ImportDeps } from './start.js';

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

interface Found {
  records: HistoryRecord[];
  unread: Unread[];
}

/** @returns `records`: newest first. @throws the reason of `stop` */
export async function historyOf(kind: Kind, id: string, deps: HistoryDeps): Promise<Found> {
  const { state, clock, keepMs } = deps;
  const [hash] = idHashes(state.secret, [id]);
  const since = clock.now() - keepMs;
  const runs = new Map((await state.runs.all()).map((run) => [run.run, run]));
  const jobs = new Map((await state.jobs.all()).map((job) => [job.job_id, job]));
  const known = new Map<string, RunRequests>();
  const entries = (await state.history.find(kind, hash!)).filter(({ at }) => at >= since);
  const found: Found = { records: [], unread: [] };
  for (const entry of entries) {
    const { at, line, input, run, scope } = entry;
    const of = runs.get(run ?? '');
    if (run !== null && !known.has(run)) known.set(run, new RunRequests(await state.requests.of(run)));
    const isProfile = entry.what === 'identify';
    const outcome = isProfile ? ofProfile(entry, jobs) : ofRow(entry, of, known.get(run ?? ''));
    if (!outcome) continue;
    found.records.push({
      at: new Date(at).toISOString(),
      command: isProfile ? 'identify' : 'import',
      ...{ run, file: input === null ? null : (of?.inputs[input]?.path ?? null), line },
      ...{ account: scope.account, region: scope.region },
      ...outcome,
    });
  }
  const listed = new Set(entries.map(({ run }) => run));
  const unchanged = await state.history.unchanged();
  const digests = new Map<string, Promise<string | null>>();
  for (const run of runs.values()) {
    if (listed.has(run.run) || !run.kinds.includes(kind) || Date.parse(run.started_at) < since) continue;
    if (!unchanged.get(run.run)?.some((input) => run.inputs[input]?.kind === kind)) continue;
    if (!deps.unchanged) found.unread.push({ run: run.run, why: 'unasked' });
    else await lookUp(run, kind, hash!, digests, deps, found);
  }
  found.records.sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
  return found;
}

/** Null for a row that another entry tells of. */
function ofRow(
  { what, input, seq, merged }: HistoryEntry,
  run: StoredRun | undefined,
  requests: RunRequests | undefined,
): RowOutcome | null {
  if (what === 'rejected') {
    const file = run?.inputs[input ?? 0]?.rejects_file;
    return without('rejected', file ? `see ${file}` : null);
  }
  const record = requests?.of(seq ?? -1);
  // The line of the request that sent an overtaken row says it.
  if (!record || what === 'identify' || what === 'overtaken') return null;
  const outcome = outcomesOf(requests!.chainOf(record))[what];
  if (what !== 'sent') return outcome;
  // It was sent, whatever its outcome is.
  const went = { ...outcome, request: record.seq, job_id: record.job_id };
  const isWith = merged && !['rejected', 'unknown', 'unsent'].includes(outcome.outcome);
  return isWith ? { ...went, outcome: 'merged', reason: MERGED } : went;
}

type Jobs = ReadonlyMap<string, Awaited<ReturnType<HistoryDeps['state']['jobs']['all']>>[number]>;

function ofProfile({ job_id, note }: HistoryEntry, jobs: Jobs): RowOutcome {
  if (job_id === null) {
    if (note === 'unsent') return without('unsent', 'it did not arrive');
    return without('submitted', note === 'submitted' ? null : 'it is not known whether it arrived');
  }
  const { status, record } = jobs.get(job_id) ?? {};
  const isEnd = status === 'completed' || status === 'failed';
  const isEmpty = status === 'completed' && record?.completed_rows === 0;
  return { ...without(isEmpty ? 'short' : isEnd ? status : 'submitted', null), job_id };
}

/**
 * Searches the inputs of a run for rows of an id.
 * @param digests by location, since nightly imports read the same file
 */
async function lookUp(
  stored: StoredRun,
  kind: Kind,
  hash: bigint,
  digests: Map<string, Promise<string | null>>,
  deps: HistoryDeps,
  { records, unread }: Found,
): Promise<void> {
  const { state, cwd, stop: signal } = deps;
  const { run, started_at, inputs } = stored;
  const { account, region } = stored.scope;
  const walk = new RunRows(run, new RunRequests(await state.requests.of(run)), { ...deps, signal });
  const options = withoutValues(stored);
  const itemLimitBytes = options.chunkBytes - envelopeBytes(kind);
  const mine = [...inputs.entries()].filter(([, input]) => input.kind === kind);
  // The limit holds for all inputs of a kind together, so it is not known which rows of one input were read.
  const isSelected = hasConditions(stored) || (options.limit != null && mine.length > 1);
  for (const [index, input] of mine) {
    const { path: file, types } = input;
    const location = resolve(cwd, input.location);
    if (!digests.has(location)) digests.set(location, digestOf(location, signal));
    const isAsItWas = (await digests.get(location)) === input.digest;
    if (!isAsItWas || isSelected) {
      unread.push({ run, why: isAsItWas ? 'selected' : 'changed' });
      continue;
    }
    try {
      const [opened] = await openAs([input], [input], options, deps);
      const walked = { opened: opened!, scan: { schema: { types, itemLimitBytes } } };
      for await (const rows of walk.walk(index, walked, hash))
        for (const { row: _row, id: _id, ...outcome } of rows)
          records.push({ at: started_at, command: 'import', run, account, region, file, ...outcome });
    } catch (error) {
      // The input can no longer be read as the run read it.
      if (!(error instanceof ProfilesError) || signal.aborted) throw error;
      unread.push({ run, why: 'changed' });
    }
  }
}

/** The digest of a file; null if there is none. */
async function digestOf(location: string, signal: AbortSignal): Promise<string | null> {
  const found = await stat(location).catch(() => null);
  // A FIFO would wait for a writer.
  if (!found?.isFile()) return null;
  return digestFile({ path: location, location }, signal).then(
    ({ digest }) => digest,
    (error) => {
      if (signal.aborted) throw error;
      return null;
    },
  );
}
