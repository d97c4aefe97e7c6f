/** Shards with what an import can be told, each with its state behind a pooler: what holds for one process holds for all together. */
import { readFileSync } from 'node:fs';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Limits, type Sandbox, startSandbox } from '../../src/sandbox/index.js';
import { built } from '../support/child.js';
import { companies, ShardMachines, summaryOf, users } from './shard-machines.js';
import { hasPostgres, newSchema, pooler, server } from './support.js';

const SHARDS = 2;
const SIZE = ['--chunk-size', '10', '--interval', '20ms'];

describe.runIf(hasPostgres)('two shards of a plan, through PgBouncer', { timeout: 600_000 }, () => {
  let sandbox: Sandbox;
  let machines: ShardMachines;
  let schema: string;
  beforeAll(built);
  afterEach(async () => {
    machines.kill();
    await sandbox.stop();
    server.drop(schema);
  });

  async function begin(limits: Partial<Limits>): Promise<void> {
    schema = newSchema();
    sandbox = await startSandbox({ limits });
    machines = new ShardMachines(sandbox, pooler.url(schema, { query: 'lease_seconds=12' }), SHARDS);
  }
  const sizes = (): number[] => machines.accepted().map(({ items }) => items);
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
  /** Of the run, as the shard that ended last saw it. */
  const whole = (ends: Awaited<ReturnType<ShardMachines['all']>>) =>
    ends.flatMap((end) => summaryOf(end).shard ?? []).find(({ finished }) => finished === SHARDS)?.run;

  test.for([
    ['halved', 6, 40],
    ['halved, and again: nobody waits for a half that was too large', 3, 20],
  ] as const)('requests that are too large are %s, each by its own shard', async ([, maxItems, count]) => {
    await begin({ maxItems });
    await machines.plan({ 'companies.csv': companies(count), 'users.csv': users(count) }, ...SIZE);
    const ends = await machines.complete();
    expect(sum(sizes())).toBe(2 * count);
    expect(Math.max(...sizes())).toBeLessThanOrEqual(maxItems);
    expect(whole(ends)).toMatchObject({
      status: 'completed',
      rows: { read: 2 * count, completed: 2 * count },
    });
  });

  test('with --isolate, rows at fault are found, and the others completed', async () => {
    await begin({
      failRows: [
        ['seats', '13'],
        ['seats', '37'],
      ],
    });
    await machines.plan({ 'companies.csv': companies(60) }, ...SIZE);
    const ends = await machines.all('--isolate');
    const parts = ends.map(summaryOf);
    expect(ends.map(({ code }) => code).sort(), ends[0]!.stderr).toEqual([5, 5]);
    expect(parts.flatMap(({ rejected }) => rejected.map(({ line }) => line)).sort()).toEqual([15, 39]);
    expect(whole(ends)).toMatchObject({ status: 'partial', rows: { read: 60, rejected: 2, completed: 58 } });
    const files = parts.flatMap((part) => part.files.flatMap(({ rejects_file }) => rejects_file ?? []));
    expect(new Set(files).size).toBe(2);
    for (const file of files)
      expect(readFileSync(`${machines.folder}/${file}`, 'utf8')).toContain('_profiles_error');
  });

  test('rows that the plan rejects are written once, by the first shard', async () => {
    await begin({});
    await machines.plan({ 'companies.csv': `${companies(40)},7\n` }, ...SIZE, '--skip-invalid');
    const ends = await machines.all();
    expect(
      ends.map(({ code }) => code),
      ends[0]!.stderr,
    ).toEqual([5, 0]);
    const [first, second] = ends.map((end) => summaryOf(end).files[0]!.rejects_file);
    expect(readFileSync(`${machines.folder}/${first}`, 'utf8')).toMatch(/^,7,42,/m);
    expect(second).toBeNull();
    expect(whole(ends)).toMatchObject({ status: 'partial', rows: { read: 41, rejected: 1, completed: 40 } });
  });

  test('a canary goes first, and nothing else where it fails', async () => {
    await begin({ failRows: [['seats', '0']] });
    await machines.plan({ 'companies.csv': companies(60) }, ...SIZE, '--canary', '3');
    const ends = await machines.all();
    for (const { code, stderr } of ends) expect(code, stderr).toBe(7);
    expect(sizes()).toEqual([3]);
    sandbox.limits.failRows = [];
    const again = await machines.complete();
    expect(sizes().slice(0, 2)).toEqual([3, 3]);
    expect(sum(sizes())).toBe(63);
    expect(whole(again)).toMatchObject({ status: 'completed', rows: { read: 60, completed: 60 } });
  });

  test('with --no-wait, all is accepted while the jobs run, and resume follows them on any machine', async () => {
    await begin({ rowsPerSecond: 2 });
    await machines.plan({ 'companies.csv': companies(40), 'users.csv': users(20) }, ...SIZE, '--no-wait');
    const ends = await machines.complete();
    expect(sum(sizes())).toBe(60);
    expect(whole(ends)).toMatchObject({ status: 'submitted', rows: { submitted: 60 } });
    // No request with users goes out before all companies are accepted.
    const kinds = machines.accepted().map(({ kind }) => kind);
    expect(kinds.lastIndexOf('companies')).toBeLessThan(kinds.indexOf('users'));
    sandbox.limits.rowsPerSecond = 1_000;
    const followed = await machines.start(['resume', '--json'], 'desk').ended;
    expect(followed.code, followed.stderr).toBe(0);
    expect(summaryOf(followed)).toMatchObject({ status: 'completed', rows: { read: 60, completed: 60 } });
    expect(sum(sizes())).toBe(60);
  });

  test('slots of a shard that died are free once its jobs have ended, though nobody repeats it', async () => {
    await begin({ rowsPerSecond: 1 });
    await machines.plan({ 'companies.csv': companies(60) }, ...SIZE);
    const dying = machines.shard(0);
    const slots = () =>
      server.sql(`SELECT count(*) FROM ${schema}.slots JOIN ${schema}.requests r
      ON r.run = slots.run AND r.seq = slots.request WHERE r.state = 'acknowledged'`);
    await expect.poll(slots, { timeout: 60_000 }).toBe('1');
    dying.kill('SIGKILL');
    await dying.ended;
    sandbox.limits.rowsPerSecond = 1_000;
    const other = await machines.shard(1).ended;
    expect(other.code, other.stderr).toBe(0);
    expect(other.stderr).toContain('waiting for other shards: 1 job may be unfinished at a time');
    expect(summaryOf(other)).toMatchObject({ rows: { read: 30, completed: 30 }, shard: { finished: 1 } });
    const repeated = await machines.shard(0).ended;
    expect(repeated.code, repeated.stderr).toBe(0);
    expect(sum(sizes())).toBe(60);
  });
});
