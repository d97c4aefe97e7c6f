/**
 * Killed with SIGKILL, resumed until done, against a ledger (contract §4). `KILLS` says how often, `LOSS_SEED` when;
 * `KILLS=200` kills 200 times.
 */
import { once } from 'node:events';
import { copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import type { RequestRecord } from '../../src/engine/model/requests.js';
import { rangesIn } from '../../src/engine/model.js';
import type { StoredRun } from '../../src/engine/state/runs.js';
import { built, type Ended } from '../support/child.js';
import { scratch } from '../support/cli.js';
import { onPostgres, openState } from '../support/state.js';
import { times } from '../support/times.js';
import { workspace } from '../support/workspace.js';
import { covers, seeded, submittedIn } from './support.js';

const KILLS = Number(process.env.KILLS ?? times(10));
const SEED = Number(process.env.LOSS_SEED ?? 1);
const ROWS = 100;
const CHUNK = 5;

const { service, machine } = workspace();
beforeAll(built);

/** A copy of a state directory's database, with its log. */
function copyOf(folder: string): string {
  const copy = scratch();
  for (const name of ['state.db', 'state.db-wal']) {
    const file = join(folder, name);
    if (existsSync(file)) copyFileSync(file, join(copy, name));
  }
  return copy;
}

/** What the state holds, and that it is whole. A directory is read from a copy: the log is left for the command to recover. */
async function recorded(
  folder: string,
  path: string,
): Promise<{ run: StoredRun | undefined; done: Set<string> }> {
  const state = await openState(onPostgres ? folder : copyOf(folder), Date.now);
  const runs = await state.runs.all();
  const requests: RequestRecord[] = [];
  for (const { run } of runs) requests.push(...(await state.requests.of(run)));
  expect(await state.problems()).toEqual([]);
  await state.close();
  const done = requests.filter((r) => r.state === 'acknowledged' || r.state === 'settled');
  return {
    run: runs.find((run) => run.paths.includes(path)),
    done: new Set(done.map((r) => r.digest)),
  };
}

test(`killed ${KILLS} times, seed ${SEED}`, { timeout: 600_000 + KILLS * 5_000 }, async () => {
  const random = seeded(SEED);
  const { arrivals } = service.ledger;
  let onRequest = (): void => {};
  // Answers take their time, so that there is an instant of every sort to be killed in.
  const pause = seeded(SEED);
  service.trouble = {
    submit: () => async (exchange) => {
      onRequest();
      await wait(pause() * 4);
      const job = await exchange.accept();
      await wait(pause() * 4);
      exchange.reply(202, JSON.stringify(job));
    },
  };

  /** Starts a session and kills it so many milliseconds after its nth request, or after its start; if it has not ended by then. */
  const sit = async (argv: string[], at: { request: number; ms: number } | null): Promise<Ended> => {
    const child = machine.start([...argv, '--ndjson']);
    let timer: NodeJS.Timeout | undefined;
    let requests = 0;
    const reached = (): void => {
      // Real time: another process is to be hit at its work.
      if (at !== null && requests++ === at.request) timer = setTimeout(() => child.kill('SIGKILL'), at.ms);
    };
    onRequest = reached;
    reached();
    const ended = await child.ended;
    clearTimeout(timer);
    return ended;
  };
  const importing = (path: string, concurrency: number): string[] => {
    const rows = Array.from({ length: ROWS }, (_, i) => `${path}-${i},Company ${i}\n`);
    machine.write(path, `company_id,name\n${rows.join('')}`);
    const line = `import ${path} --chunk-size ${CHUNK} -o interval=1ms --concurrency ${concurrency}`;
    return line.split(' ');
  };

  // The first one is left alone: it tells how long a session takes until it sends.
  const began = performance.now();
  const first = sit(importing('first.csv', 1), null);
  await once(service.events, 'submit');
  const start = performance.now() - began;
  expect(await first).toMatchObject({ code: 0 });

  let kills = 0;
  let announced = 0;
  /** Bodies that were recorded as acknowledged, and how many requests had arrived by then. */
  const acknowledged = new Map<string, number>();
  for (let round = 1; kills < KILLS; round++) {
    const concurrency = random() < 0.5 ? 1 : 4;
    const path = `companies-${round}.csv`;
    const begin = importing(path, concurrency);
    const from = arrivals.length;
    const before = kills;
    /** Ids that a `submitted` event has named, and how many requests had arrived when its session was over. */
    const told = new Map<string, number>();
    let argv = begin;
    for (;;) {
      const early = random() < 0.2;
      // A session of more requests than are left ends by itself.
      const request = early ? 0 : 1 + Math.floor(random() * 1.2 * (ROWS / CHUNK));
      const ms = random() * (early ? start : 10);
      const ended = await sit(argv, kills < KILLS ? { request, ms } : null);
      for (const event of submittedIn(ended)) {
        announced++;
        for (let line = event.first_line; line <= event.last_line; line++) {
          const id = `${path}-${line - 2}`;
          told.set(id, told.get(id) ?? arrivals.length);
        }
      }
      if (ended.signal !== 'SIGKILL') {
        expect(ended, ended.stderr).toMatchObject({ code: 0 });
        break;
      }
      kills++;
      const { run, done } = await recorded(machine.path('.state'), path);
      for (const digest of done) acknowledged.set(digest, acknowledged.get(digest) ?? arrivals.length);
      if (run?.finished) break;
      if (run) argv = random() < 0.5 ? ['resume', run.run] : [...begin, '--resume'];
    }
    const again = arrivals.filter(({ sha256 }, at) => at >= (acknowledged.get(sha256) ?? Infinity));
    expect(again, `sent again after it was recorded as acknowledged, seed ${SEED}`).toEqual([]);
    const untrue = arrivals.filter(({ ids }, at) => ids.some((id) => at >= (told.get(id) ?? Infinity)));
    expect(untrue, `sent again after it was reported as submitted, seed ${SEED}`).toEqual([]);
    const summary = (await recorded(machine.path('.state'), path)).run!.summary!;
    expect(summary).toMatchObject({
      status: 'completed',
      rows: { read: ROWS, submitted: ROWS, completed: ROWS },
    });
    const mine = arrivals.slice(from);
    expect(new Set(mine.filter(({ accepted }) => accepted).flatMap(({ ids }) => ids)).size).toBe(ROWS);
    const twice = mine.filter(({ sha256 }, i) => mine.findIndex((other) => other.sha256 === sha256) < i);
    expect(twice.length, `seed ${SEED}, round ${round}`).toBeLessThanOrEqual((kills - before) * concurrency);
    for (const id of twice.flatMap(({ ids }) => ids)) {
      const line = Number(id.split('-').at(-1)) + 2;
      const named = summary.maybe_sent_twice.flatMap(rangesIn).some((range) => covers(range, line));
      expect(named, `line ${line} arrived twice, seed ${SEED}, round ${round}`).toBe(true);
    }
  }
  expect(kills).toBe(KILLS);
  expect(announced, 'requests that were reported as submitted').toBeGreaterThan(KILLS);
});
