/** One plan, sent by several processes (contract §10 "Shards"): complete, each request once, and never more at a time than asked for. */
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { UsageError } from '../../src/engine/errors.js';
import type { Summary } from '../../src/engine/model.js';
import { openState, type Scope, type State } from '../../src/engine/state/state.js';
import { type Limits, type Sandbox, startSandbox } from '../../src/sandbox/index.js';
import { built, type Child } from '../support/child.js';
import { scratch } from '../support/cli.js';
import { companies, ShardMachines, summaryOf, users } from './shard-machines.js';
import { hasPostgres, newSchema, server } from './support.js';

const SHARDS = 4;

let schema: string;
beforeEach(() => {
  schema = newSchema();
});
afterEach(() => {
  server.drop(schema);
});

describe.runIf(hasPostgres)('four processes and one plan', () => {
  beforeAll(built);

  let sandbox: Sandbox;
  let machines: ShardMachines;
  afterEach(async () => {
    machines.kill();
    await sandbox.stop();
  });

  async function begin(limits: Partial<Limits>): Promise<void> {
    sandbox = await startSandbox({ limits });
    // Long enough for a machine that is not the test's alone; who takes over waits for one and a half of it.
    machines = new ShardMachines(sandbox, server.url(schema, { query: 'lease_seconds=12' }), SHARDS);
  }
  const shard = (index: number): Child => machines.shard(index);
  const start = (argv: readonly string[], machine: string): Child => machines.start(argv, machine);
  const accepted = () => machines.accepted();

  /** Jobs that were unfinished at the same time, at most; and when those of a kind began and ended. */
  async function timeline() {
    const jobs = await Promise.all(
      accepted().map(async ({ job_id, kind }) => {
        const path = `/v1/background_jobs/${encodeURIComponent(job_id!)}`;
        const headers = { Authorization: `Token ${sandbox.token}` };
        const job = (await (await fetch(`${sandbox.url}${path}`, { headers })).json()) as Record<
          string,
          string
        >;
        return { kind, start: Date.parse(job.start_time!), end: Date.parse(job.end_time!) };
      }),
    );
    const at = (moment: number): number =>
      jobs.filter(({ start, end }) => start <= moment && moment < end).length;
    const of = (wanted: string) => jobs.filter(({ kind }) => kind === wanted);
    return {
      most: Math.max(...jobs.map(({ start }) => at(start))),
      lastCompany: Math.max(...of('companies').map(({ end }) => end)),
      firstUser: Math.min(...of('users').map(({ start }) => start)),
    };
  }

  test('two of them are killed and repeated: everything is sent, each request once, two jobs at a time', async () => {
    // Slow, so that each shard is seen with a job that has not ended.
    await begin({ rowsPerSecond: 4 });
    // The last row shares an identifier with the first request: one shard sends both.
    await machines.plan(
      { 'companies.csv': companies(120), 'users.csv': `${users(60)}u-0,free\n` },
      '--chunk-size',
      '10',
      '--concurrency',
      '2',
    );
    const first = Array.from({ length: SHARDS }, (_, index) => shard(index));
    // Each as soon as its job is unfinished: later it may have no more to send. Both jobs are on record then, so that
    // nobody is sending: a request that is cut off by a kill is sent again.
    const doomed = new Set([0, 2]);
    const killed = (): number => {
      const seen = submitters();
      for (const index of [...doomed].filter((one) => seen.length === 2 && seen.includes(one + 1))) {
        first[index]!.kill('SIGKILL');
        doomed.delete(index);
      }
      return doomed.size;
    };
    await expect.poll(killed, { timeout: 60_000 }).toBe(0);
    sandbox.limits.rowsPerSecond = 50;
    await Promise.all([0, 2].map((index) => first[index]!.ended));
    const repeated = [0, 2].map((index) => shard(index));
    const ends = await Promise.all([first[1]!, first[3]!, ...repeated].map((child) => child.ended));
    for (const { code, stderr } of ends) expect(code, stderr).toBe(0);

    const sent = accepted();
    expect(sent.reduce((sum, { items }) => sum + items, 0)).toBe(181);
    expect(new Set(sent.map(({ sha256 }) => sha256)).size).toBe(sent.length);
    expect(sandbox.show('users', 'u-0')?.metadata).toEqual({ plan: 'free' });
    const { most, lastCompany, firstUser } = await timeline();
    expect(most).toBe(2);
    expect(firstUser).toBeGreaterThanOrEqual(lastCompany);

    const parts = ends.map(summaryOf);
    expect(parts.reduce((sum, part) => sum + part.rows.read, 0)).toBe(181);
    expect(parts.reduce((sum, part) => sum + part.requests, 0)).toBe(sent.length);
    const whole = parts.find(({ shard }) => shard!.finished === SHARDS)!.shard!.run;
    expect(whole).toMatchObject({ status: 'completed', rows: { read: 181, submitted: 181, completed: 181 } });

    const { run } = parts[0]!;
    const shown = JSON.parse((await start(['runs', run!, '--json'], 'desk').ended).stdout);
    expect(shown).toMatchObject({ status: 'completed', summary: { rows: { read: 181, completed: 181 } } });
    expect(
      shown.shards.map(({ shard, status }: { shard: number; status: string }) => [shard, status]),
    ).toEqual([1, 2, 3, 4].map((one) => [one, 'completed']));

    // Who comes late has nothing to do.
    const before = accepted().length;
    const late = await shard(3).ended;
    expect([late.code, late.stderr]).toEqual([0, expect.stringContaining('has sent its part already')]);
    const plain = await start(['apply', 'plan.json', '--json'], 'desk').ended;
    expect([plain.code, plain.stderr]).toEqual([0, expect.stringContaining('has applied this plan already')]);
    expect(accepted()).toHaveLength(before);
  }, 600_000);

  /** The shard of each slot that has a request on record whose job is unfinished. */
  function submitters(): number[] {
    const lines = server.sql(
      `SET client_min_messages = error; SET search_path TO ${schema};
       SELECT slots.shard FROM slots JOIN requests r ON r.run = slots.run AND r.seq = slots.request
       WHERE r.state = 'acknowledged'`,
    );
    return lines.split('\n').filter(Boolean).map(Number);
  }

  test('a service that takes one job at a time is never asked for two', async () => {
    await begin({ oneJobAtATime: true });
    await machines.plan({ 'companies.csv': companies(80) }, '--chunk-size', '5');
    const ends = await machines.complete();
    expect(accepted()).toHaveLength(16);
    expect(sandbox.ledger().filter(({ status }) => status === 409)).toEqual([]);
    expect(ends.map(summaryOf).map(({ requests }) => requests)).toEqual([4, 4, 4, 4]);
  }, 600_000);

  test('the machine that began has a clock that is ahead: the time of the whole run is not negative', async () => {
    await begin({});
    await machines.plan({ 'companies.csv': companies(80) }, '--chunk-size', '20');
    const { code, stdout, stderr } = await shard(0).ended;
    expect(code, stderr).toBe(0);
    server.sql(`UPDATE ${schema}.runs SET started_at = '2999-01-01T00:00:00.000Z'`);
    const ends = await Promise.all([1, 2, 3].map((index) => shard(index).ended));
    expect(ends.map((end) => end.code)).toEqual([0, 0, 0]);
    const { run } = JSON.parse(stdout) as Summary;
    const shown = JSON.parse((await start(['runs', run!, '--json'], 'desk').ended).stdout);
    expect(shown.summary.elapsed_seconds).toBeGreaterThan(0);
  }, 600_000);

  test('an import by itself waits for no shard, and no shard for it: exit 8; another number of shards is refused', async () => {
    await begin({ rowsPerSecond: 1 });
    await machines.plan({ 'companies.csv': companies(80) }, '--chunk-size', '20');
    const one = shard(0);
    await expect.poll(submitters, { timeout: 60_000 }).toEqual([1]);
    const plain = await start(['apply', 'plan.json', '--json'], 'desk').ended;
    expect([plain.code, plain.stderr]).toEqual([8, expect.stringContaining('another import of companies')]);
    const other = await start(['apply', 'plan.json', '--shard', '2/3', '--json'], 'machine-other').ended;
    expect([other.code, other.stderr]).toEqual([
      2,
      expect.stringContaining('is divided among 4 shards, not 3'),
    ]);
    sandbox.limits.rowsPerSecond = 10_000;
    one.kill('SIGINT');
    const { code, stdout } = await one.ended;
    const { resume, shard: of } = JSON.parse(stdout) as Summary;
    expect([code, of]).toMatchObject([130, { shard: 1, shards: 4, finished: 0 }]);
    expect(resume).toContain('apply plan.json --shard 1/4');
    // What shards have begun can be ended without them.
    const rest = await start(['apply', 'plan.json', '--json'], 'desk').ended;
    expect(rest.code, rest.stderr).toBe(0);
    expect(accepted().map(({ items }) => items)).toEqual([20, 20, 20, 20]);
    expect((await shard(2).ended).code).toBe(0);
    expect(accepted()).toHaveLength(4);
  }, 600_000);
});

describe.runIf(hasPostgres)('in the state', () => {
  const scope: Scope = { account: 'acme', region: 'eu', base_url: 'https://eu.test' };
  const opened: State[] = [];
  afterEach(async () => {
    for (const state of opened.splice(0)) await state.close();
  });
  /** As another process has it. */
  async function machine(query = 'lease_seconds=600'): Promise<State> {
    const at = { kind: 'postgres', url: server.url(schema, { query }) } as const;
    const state = await openState(scratch(), Date.now, { at, env: {}, origin: 'test' });
    opened.push(state);
    return state;
  }
  const of = (shard: number, run = 'run-1', shards = 3) => ({ run, shard, shards });

  test('shards of one run have locks beside each other, and nobody else has', async () => {
    const [a, b] = [await machine(), await machine()];
    const first = await a.takeLock(scope, 'users', 'a', of(1));
    expect(first).not.toBeNull();
    const second = await b.takeLock(scope, 'users', 'b', of(2));
    expect(second).not.toBeNull();
    expect(await b.takeLock(scope, 'users', 'b', of(1))).toBeNull();
    expect(await b.takeLock(scope, 'users', 'b', of(3, 'run-2'))).toBeNull();
    expect(await b.takeLock(scope, 'users', 'b')).toBeNull();
    expect(await b.isLocked(scope, ['users'])).toBe(true);
    await first!.release();
    expect(await a.takeLock(scope, 'users', 'a')).toBeNull();
    await second!.release();
    const alone = await a.takeLock(scope, 'users', 'a');
    expect(alone).not.toBeNull();
    expect(await b.takeLock(scope, 'users', 'b', of(1))).toBeNull();
    alone!.check();
    await a.markCrashedRuns(scope, 'users');
  });

  const run = (id: string, digest = 'd') => ({
    run: id,
    scope,
    named_account: 'acme',
    identity: 'i',
    status: 'running' as const,
    finished: false,
    item_format: 1,
    options: { plan: { run: id, digest } },
    started_at: '2026-11-22T08:00:00.000Z',
    inputs: [
      {
        path: 'a.csv',
        location: '/a.csv',
        kind: 'users' as const,
        digest: 'a',
        rejects_file: null,
        types: null,
      },
    ],
  });
  const plan = { digest: 'd', requests: [], made: null };

  test('the first one makes the run; another number of shards and another plan are refused', async () => {
    const [a, b] = [await machine(), await machine()];
    await Promise.all([
      a.shards!.begin(of(1), run('run-1'), plan),
      b.shards!.begin(of(2), run('run-1'), plan),
    ]);
    expect((await a.shards!.of('run-1')).map(({ status }) => status)).toEqual([
      'running',
      'running',
      'waiting',
    ]);
    await expect(b.shards!.begin(of(2, 'run-1', 4), run('run-1'), plan)).rejects.toThrow(UsageError);
    const other = { ...plan, digest: 'e' };
    await expect(b.shards!.begin(of(2), run('run-1', 'e'), other)).rejects.toThrow(
      'carries out another plan',
    );
    expect(await a.knownRuns()).toHaveLength(1);
  });

  test('so many slots are taken at a time, one for a request, until it is released', async () => {
    const [a, b] = [await machine(), await machine()];
    await a.shards!.begin(of(1), run('run-1'), plan);
    const take = (state: State, shard: number, request: number) =>
      state.shards!.takeSlot(of(shard), request, 2);
    expect(await take(a, 1, 1)).toBe(true);
    expect(await take(a, 1, 1)).toBe(true);
    const more = await Promise.all([take(b, 2, 7), take(a, 1, 2), take(b, 2, 8)]);
    expect(more.filter(Boolean)).toHaveLength(1);
    expect(await take(a, 1, 1)).toBe(true);
    await a.shards!.releaseSlot(of(1), 1);
    expect(await take(b, 2, 9)).toBe(true);
    expect(await take(b, 2, 10)).toBe(false);
  });

  test('slots of a shard that no process has can be told', async () => {
    const [a, b] = [await machine(), await machine()];
    await a.shards!.begin(of(1), run('run-1'), plan);
    const held = await a.takeLock(scope, 'users', 'a', of(1));
    for (const [shard, request] of [
      [1, 1],
      [2, 2],
    ] as const)
      await b.shards!.takeSlot(of(shard), request, 9);
    expect(await b.shards!.deadSlots('run-1')).toEqual([{ shard: 2, request: 2 }]);
    await held!.release();
    expect(await b.shards!.deadSlots('run-1')).toHaveLength(2);
    // Who begins again has none but those of jobs that are unfinished.
    await a.shards!.begin(of(1), run('run-1'), plan);
    expect(await b.shards!.deadSlots('run-1')).toEqual([{ shard: 2, request: 2 }]);
  });
});
