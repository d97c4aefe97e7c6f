/** The shards of a run and the slots that they share: the tables `shards` and `slots`. */
import { UsageError } from '../../errors.js';
import type { RunStatus, Summary } from '../../model.js';
import type { Transaction } from '../database.js';
import { withoutCells } from '../runs.js';
import type { ShardRecord, ShardStore } from '../shards.js';
import { STORED, shardName, storedJson, storedOrNull } from '../stored-json.js';
import type { Tables } from '../tables.js';
import type { ShardId } from '../types.js';

interface ShardRow extends Omit<ShardRecord, 'finished' | 'rejects' | 'summary'> {
  run: string;
  finished: number;
  rejects: string;
  summary: string | null;
}

const recordOf = ({
  run,
  shard,
  status,
  finished,
  rejects,
  summary,
  started_at,
  ended_at,
}: ShardRow): ShardRecord => ({
  shard,
  status,
  finished: finished === 1,
  rejects: storedJson<(string | null)[]>(rejects, STORED.shardRejects, shardName(run, shard)),
  summary: storedOrNull<Summary>(summary, STORED.shardSummary, shardName(run, shard)),
  started_at,
  ended_at,
});

const SHARDS_OF = 'SELECT * FROM shards WHERE run = ? ORDER BY shard';

/** Null if the database cannot lock single shards. */
export function shardsOf(tables: Tables): ShardStore | null {
  const { db, backend, runs, requests, sends, sent } = tables;
  if (!backend.liveShards) return null;
  return {
    of: async (run) => (await db.all<ShardRow>(SHARDS_OF, run)).map(recordOf),
    begin: (id, run, plan) => {
      sent.forgetSession();
      return tables.writeIn(run.scope, async (tx, scope) => {
        const known = await tx.get<{ scope: number; options: string; finished: number }>(
          'SELECT scope, options, finished FROM runs WHERE run = ?',
          id.run,
        );
        if (!known) {
          await runs.insert(tx, scope, run);
          await sends.begin(tx, run.run, plan.made);
          for (const request of plan.requests) await requests.insert(tx, run.run, request);
        } else checkSame(id.run, known, { scope, digest: plan.digest });
        await addShards(tx, id, run.inputs.length);
        await tx.run(
          `UPDATE shards SET status = 'running', finished = 0, ended_at = NULL, started_at = coalesce(started_at, ?)
           WHERE run = ? AND shard = ?`,
          tables.time(),
          id.run,
          id.shard,
        );
        if (known?.finished === 0) await runs.reopen(tx, id.run);
        // If it died before, only its unfinished jobs keep their slots. Unanswered requests take a slot when
        // they are sent.
        await tx.run(
          `DELETE FROM slots WHERE run = ?1 AND shard = ?2 AND NOT EXISTS (
             SELECT 1 FROM requests r WHERE r.run = ?1 AND (r.seq = slots.request OR r.parent = slots.request)
               AND r.state = 'acknowledged')`,
          id.run,
          id.shard,
        );
      });
    },
    setRejects: (id, input, file) =>
      tables.write(async (tx) => {
        const [own] = await tx.all<{ rejects: string }>(
          'SELECT rejects FROM shards WHERE run = ? AND shard = ?',
          id.run,
          id.shard,
        );
        const files = storedJson<(string | null)[]>(
          own!.rejects,
          STORED.shardRejects,
          shardName(id.run, id.shard),
        );
        files[input] = file;
        await tx.run(
          'UPDATE shards SET rejects = ? WHERE run = ? AND shard = ?',
          JSON.stringify(files),
          id.run,
          id.shard,
        );
      }),
    end: (id, { status, finished, endedBy, summary }, whole) =>
      tables.write(async (tx) => {
        const at = tables.time();
        await tx.run(
          'UPDATE shards SET status = ?, finished = ?, summary = ?, ended_at = ? WHERE run = ? AND shard = ?',
          status,
          finished ? 1 : 0,
          JSON.stringify(withoutCells(summary)),
          at,
          id.run,
          id.shard,
        );
        const all = (await tx.all<ShardRow>(SHARDS_OF, id.run)).map(recordOf);
        const total = whole(await requests.ofRun(tx, id.run));
        for (const [input, file] of total.files.entries()) {
          file.rejects_file = all.find(({ rejects }) => rejects[input])?.rejects[input] ?? null;
        }
        const done = all.filter((shard) => shard.finished).length;
        const reached = done === all.length ? total.status : statusOf(all, finished ? null : status);
        if (reached === 'running') await runs.setSummary(tx, id.run, total);
        else {
          const end = { status: reached, finished: done === all.length, endedBy, summary: total, at };
          await runs.end(tx, id.run, end);
        }
        return { status: reached, finished: done, summary: total };
      }),
    takeSlot: async (id, request, most) => {
      const taken =
        'SELECT count(*) AS taken, max(CASE WHEN request = ? THEN 1 ELSE 0 END) AS own FROM slots WHERE run = ?';
      const isRoom = (slots: { taken: number; own: number | null } | undefined): boolean =>
        slots?.own === 1 || slots!.taken < most;
      // First without a transaction, because many shards may be waiting.
      if (!isRoom(await db.get(taken, request, id.run))) return false;
      return tables.write(async (tx) => {
        if (!isRoom(await tx.get(taken, request, id.run))) return false;
        await tx.run(
          `INSERT INTO slots (run, request, shard) VALUES (?, ?, ?)
           ON CONFLICT (run, request) DO UPDATE SET shard = excluded.shard`,
          id.run,
          request,
          id.shard,
        );
        return true;
      });
    },
    releaseSlot: async (id, request) => {
      await tables.write((tx) => tx.run('DELETE FROM slots WHERE run = ? AND request = ?', id.run, request));
    },
    deadSlots: async (run) => {
      const slots = await db.all<{ request: number; shard: number }>(
        'SELECT request, shard FROM slots WHERE run = ? ORDER BY request',
        run,
      );
      const live = new Set(await backend.liveShards!(run));
      return slots.filter(({ shard }) => !live.has(shard));
    },
  };
}

/** Checks that the run has the same scope and plan. @throws UsageError */
function checkSame(
  run: string,
  known: { scope: number; options: string },
  wanted: { scope: number; digest: string },
): void {
  const { plan } = storedJson<{ plan?: { digest: string } }>(known.options, STORED.options, run);
  if (known.scope === wanted.scope && plan?.digest === wanted.digest) return;
  throw new UsageError(`run ${run} carries out another plan than this one`, {
    hint: 'make a new plan',
  });
}

/**
 * Inserts the records of all shards, unless they exist.
 * @throws UsageError if the run has another number of them
 */
async function addShards(tx: Transaction, { run, shards }: ShardId, inputs: number): Promise<void> {
  const [known] = await tx.all<{ count: number }>('SELECT count(*) AS count FROM shards WHERE run = ?', run);
  if (known!.count === shards) return;
  if (known!.count > 0) {
    throw new UsageError(`run ${run} is divided among ${known!.count} shards, not ${shards}`, {
      hint: 'give every shard the same number; an apply without shards sends all that is left',
    });
  }
  for (let shard = 1; shard <= shards; shard++) {
    await tx.run(
      "INSERT INTO shards (run, shard, status, finished, rejects) VALUES (?, ?, 'waiting', 0, ?)",
      run,
      shard,
      JSON.stringify(Array.from({ length: inputs }, () => null)),
    );
  }
}

/**
 * The status of an unfinished run.
 * @param own status of the shard that has ended now; null if its part is finished
 */
function statusOf(all: readonly ShardRecord[], own: RunStatus | null): RunStatus | 'running' {
  if (all.some(({ status }) => status === 'running')) return 'running';
  const ended = all.find(({ status, finished }) => !finished && status !== 'waiting');
  return own ?? (ended ? (ended.status as RunStatus) : 'stopped');
}
