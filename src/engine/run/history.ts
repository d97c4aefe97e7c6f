/**
 * Finds the history of one profile (contract §1 `history`): the recorded rows that were sent, rejected, or
 * left out. Rows that an import found unchanged are not recorded.
 */
import { RunRequests } from '../model/run-requests.js';
import type { Kind } from '../model.js';
import { idHashes } from '../read/index.js';
import { HISTORY_KEPT_MS, type HistoryEntry } from '../state/history.js';
import type { StoredRun } from '../state/runs.js';
import { MERGED, type Outcome, outcomesOf, type RowOutcome, without } from './outcome.js';
import { rejectsFrom } from './rejects-form.js';
import type { ImportDeps } from './start.js';

/** One row of an input, or one profile that `identify` sent. */
export interface HistoryRecord {
  /** ISO 8601: when it was sent last. */
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

interface Found {
  records: HistoryRecord[];
  /** Runs with unchanged rows, of which the profile may be one. */
  maybeUnchanged: string[];
}

type Deps = Pick<ImportDeps, 'state' | 'clock' | 'cwd'>;

/** @returns `records`: newest first */
export async function historyOf(kind: Kind, id: string, deps: Deps): Promise<Found> {
  const { state, clock, cwd } = deps;
  const [hash] = idHashes(state.secret, [id]);
  const since = clock.now() - HISTORY_KEPT_MS;
  const named = (run: StoredRun) => ({ ...run, inputs: rejectsFrom(cwd, run.inputs) });
  const runs = new Map((await state.runs.all()).map((run) => [run.run, named(run)]));
  const jobs = new Map((await state.jobs.all()).map((job) => [job.job_id, job]));
  const known = new Map<string, RunRequests>();
  const entries = (await state.history.find(kind, hash!)).filter(({ at }) => at >= since);
  const records: HistoryRecord[] = [];
  for (const entry of entries) {
    const { at, line, input, run, scope } = entry;
    const of = runs.get(run ?? '');
    if (run !== null && !known.has(run)) known.set(run, new RunRequests(await state.requests.of(run)));
    const isProfile = entry.what === 'identify';
    const outcome = isProfile ? ofProfile(entry, jobs) : ofRow(entry, of, known.get(run ?? ''));
    if (!outcome) continue;
    records.push({
      at: new Date(at).toISOString(),
      command: isProfile ? 'identify' : 'import',
      ...{ run, file: input === null ? null : (of?.inputs[input]?.path ?? null), line },
      ...{ account: scope.account, region: scope.region },
      ...outcome,
    });
  }
  const listed = new Set(entries.map(({ run }) => run));
  const unchanged = await state.history.unchanged();
  const maybeUnchanged = [...runs.values()].filter((run) => {
    const isLookedAt = !listed.has(run.run) && Date.parse(run.started_at) >= since;
    return isLookedAt && unchanged.get(run.run)?.some((input) => run.inputs[input]?.kind === kind);
  });
  records.sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
  return { records, maybeUnchanged: maybeUnchanged.map(({ run }) => run) };
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
  if (!record || what === 'identify') return null;
  const chain = requests!.chainOf(record);
  // The line of the request that sent an overtaken row says it, unless the row was found at fault then.
  if (what === 'overtaken' && !chain.some(({ state }) => state === 'rejected')) return null;
  const outcome = outcomesOf(chain)[what];
  if (what !== 'sent') return outcome;
  // It was sent, whatever its outcome is.
  const went = { ...outcome, request: record.seq, job_id: record.job_id };
  const isWith = merged && !['rejected', 'unknown', 'unsent'].includes(outcome.outcome);
  return isWith ? { ...went, outcome: 'merged', reason: MERGED } : went;
}

type Jobs = ReadonlyMap<string, Awaited<ReturnType<Deps['state']['jobs']['all']>>[number]>;

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
