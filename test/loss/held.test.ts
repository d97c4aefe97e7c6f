/** What changed, counted, and held back where it is too much (contract §3 "Review before sending"). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { SavedPlan } from '../../src/engine/plan/plan-schema.js';
import type { PlanChanges } from '../../src/engine/plan-changes.js';
import { cli } from '../support/cli.js';
import { type Fate, FaultServer, type Strike } from '../support/fault-server.js';
import { fates, status } from './faults.js';
import { Machine, type Outcome } from './support.js';

let service: FaultServer;
let machine: Machine;
beforeEach(async () => {
  service = await new FaultServer().start();
  machine = new Machine(service.url);
});
afterEach(() => service.stop());

const csv = (rows: number, tier: (row: number) => string = () => 'gold'): string =>
  `company_id,name,tier\n${Array.from({ length: rows }, (_, row) => `c-${row},Name ${row},${tier(row)}\n`).join('')}`;
const IMPORT = ['import', 'c.csv', '-o', 'track_keys=true', '--chunk-size', '7'];
const CHANGED = [...IMPORT, '--changed-only'];
const plannedOf = ({ summary }: Outcome): PlanChanges => summary!.plan!.changes!;
const arrived = (): number => service.ledger.arrivals.length;

test('the plan says what is new, changed and unchanged, and in which keys', async () => {
  machine.write('c.csv', csv(40));
  expect((await machine.run(IMPORT)).code).toBe(0);
  machine.write(
    'c.csv',
    `${csv(40, (row) => (row % 20 === 3 ? 'silver' : 'gold')).replace('Name 3,', 'Other,')}d,D,gold\n`,
  );
  const sent = arrived();
  const plan = await machine.run([...CHANGED, '--dry-run', '--save-plan', 'plan.json']);
  const changes = {
    new: 1,
    changed: 2,
    refreshed: 0,
    unchanged: 38,
    keys: [
      { key: 'tier', rows: 2 },
      { key: 'name', rows: 1 },
    ],
  };
  expect(plannedOf(plan)).toEqual(changes);
  const saved = JSON.parse(readFileSync(join(machine.folder, 'plan.json'), 'utf8')) as SavedPlan;
  expect([saved.changes, saved.totals.to_send]).toEqual([changes, 3]);
  expect(arrived()).toBe(sent);
  const { stdout } = await cli([...CHANGED, '--dry-run'], { cwd: machine.folder, env: machine.env });
  expect(stdout).toMatch(/new {9}1\n {2}changed {5}2\n {2}refreshed {3}0\n {2}unchanged {3}38\n/);
  expect(stdout).toMatch(/tier {2,}2\n.*name {2,}1\n/s);
  const applied = await machine.run(['apply', 'plan.json']);
  expect([applied.code, applied.summary!.rows.submitted]).toEqual([0, 3]);
});

test("a user's company and a member of its metadata with that name are two keys", async () => {
  const user = (company: string, inner: string): string =>
    `${JSON.stringify({ user_id: 'u1', company_id: company, metadata: { company_id: inner } })}\n`;
  const argv = ['import', 'u.ndjson', '-o', 'track_keys=true'];
  const keys = async (): Promise<unknown> =>
    plannedOf(await machine.run([...argv, '--changed-only', '--dry-run'])).keys;
  machine.write('u.ndjson', user('a', 'x'));
  expect((await machine.run(argv)).code).toBe(0);
  machine.write('u.ndjson', user('b', 'x'));
  expect(await keys()).toEqual([{ key: 'company_id', rows: 1 }]);
  machine.write('u.ndjson', user('a', 'y'));
  expect(await keys()).toEqual([{ key: 'metadata.company_id', rows: 1 }]);
});

describe('identifiers that appear more than once', () => {
  const twice = 'company_id,name,tier\na,A,gold\nb,B,\na,,silver\nc,C,gold\nb,,gold\n';

  test.each([
    ['of one request', '5'],
    ['of several requests', '1'],
    ['of some', '2'],
  ])('%s: an unchanged file sends nothing at all', async (_, size) => {
    machine.write('c.csv', twice);
    expect((await machine.run(['import', 'c.csv', '--chunk-size', size])).code).toBe(0);
    const sent = arrived();
    const again = await machine.run(['import', 'c.csv', '--changed-only', '--chunk-size', size]);
    expect([again.code, again.summary!.rows, again.summary!.requests]).toEqual([
      0,
      expect.objectContaining({ read: 5, unchanged: 5, submitted: 0, merged: 0 }),
      0,
    ]);
    expect(arrived()).toBe(sent);
  });

  test.each(['5', '1'])(
    'what its rows come to has not changed: nothing is sent (requests of %s)',
    async (size) => {
      machine.write('c.csv', twice);
      await machine.run(['import', 'c.csv', '--chunk-size', size]);
      machine.write('c.csv', twice.replace('a,A,gold', 'a,A,bronze'));
      const again = await machine.run(['import', 'c.csv', '--changed-only', '--chunk-size', size]);
      expect(again.summary!.rows).toMatchObject({ unchanged: 5, submitted: 0 });
    },
  );

  test('what they come to has changed: all of its rows are sent, and no other', async () => {
    machine.write('c.csv', twice);
    await machine.run(['import', 'c.csv', '--chunk-size', '2']);
    service.ledger.arrivals.length = 0;
    machine.write('c.csv', twice.replace('a,,silver', 'a,,platinum'));
    const again = await machine.run(['import', 'c.csv', '--changed-only', '--chunk-size', '1']);
    expect(again.summary!.rows).toMatchObject({ unchanged: 3, submitted: 2 });
    expect((await machine.run(['import', 'c.csv', '--changed-only'])).summary!.rows.unchanged).toBe(5);
  });

  test('of which one request failed: they are sent again', async () => {
    machine.write('c.csv', twice);
    const submit = (n: number) => (n === 3 ? status(422) : undefined);
    service.trouble = { submit };
    await machine.run(['import', 'c.csv', '--chunk-size', '1', '--on-failure', 'continue']);
    service.trouble = {};
    const again = await machine.run(['import', 'c.csv', '--changed-only']);
    expect(again.summary!.rows).toMatchObject({ unchanged: 3, merged: 1, submitted: 1 });
  });

  test('a run that was interrupted and continued: an unchanged file sends nothing', async () => {
    machine.write('c.csv', twice);
    service.trouble = { submit: (n) => (n === 3 ? status(503) : undefined) };
    const stopped = await machine.run(['import', 'c.csv', '--chunk-size', '1', '-o', 'retries=0']);
    expect(stopped.code).toBe(6);
    service.trouble = {};
    expect((await machine.run(['resume'])).code).toBe(0);
    const sent = arrived();
    expect((await machine.run(['import', 'c.csv', '--changed-only'])).summary!.rows.unchanged).toBe(5);
    expect(arrived()).toBe(sent);
  });

  /** Two rows of `a` in the second request, one in the first. */
  const thrice =
    'company_id,name,tier,seats\na,A,gold,1\nb,B,,\nc,C,,\nd,D,,\na,,silver,\na,,,5\ne,E,,\nf,F,,\n';
  const unchanged = async (): Promise<number> =>
    (await machine.run(['import', 'c.csv', '--changed-only', '--dry-run'])).summary!.rows.unchanged;

  describe.each([
    ['halved after a 413', 413, 1, [], 1],
    ['searched after a 422', 422, 2, ['--on-failure', 'isolate'], 0],
  ] as const)('in a request that was %s', (_, code, times, flags, parts) => {
    const refused = (n: number) => (n >= 2 && n < 2 + times ? status(code) : undefined);

    test('an unchanged file sends nothing', async () => {
      machine.write('c.csv', thrice);
      service.trouble = { submit: refused };
      const { summary } = await machine.run(['import', 'c.csv', '--chunk-size', '4', ...flags]);
      expect(summary!.rows).toMatchObject({ submitted: 7, merged: 1, completed: 7 });
      expect(await unchanged()).toBe(8);
      machine.write('c.csv', thrice.replace('a,A,gold,1', 'a,A,gold,2').replace('b,B', 'b,NEW'));
      // What a row of `a` has there is overwritten by a later one, but not by the last request.
      expect(await unchanged()).toBe(4);
      machine.write('c.csv', thrice.replace('a,,,5', 'a,,,6'));
      expect(await unchanged()).toBe(5);
    });

    test('of which a part was never sent: all rows of the identifier are sent again', async () => {
      machine.write('c.csv', thrice.replace('a,,,5\ne,E,,', 'e,E,,\na,,,5'));
      // After a 422, both rows are in one item of the first part.
      service.trouble = { submit: (n) => refused(n) ?? (n > 1 + times + parts ? status(503) : undefined) };
      const stopped = await machine.run([
        'import',
        'c.csv',
        '--chunk-size',
        '4',
        '-o',
        'retries=0',
        ...flags,
      ]);
      expect([stopped.code, service.ledger.timesAccepted.get('a')]).toEqual([6, 1 + parts]);
      expect(await unchanged()).toBe(3 + parts);
    });
  });

  /** Stops after two requests of one row, and continues: `a` is in the first of them and in the last of four. */
  async function stopAndContinue(flags: string[], jobEnds: (job: number) => boolean): Promise<void> {
    const stop = new AbortController();
    const stopping: Strike = (exchange) => {
      stop.abort('SIGINT');
      return exchange.acknowledge();
    };
    machine.write('c.csv', 'company_id,name,tier\na,A,gold\nb,B,\nc,C,\na,,silver\n');
    service.trouble = { submit: (n) => (n === 2 ? stopping : undefined), fate: () => fates.stuck };
    const options = ['--chunk-size', '1', '-o', 'interval=5ms'];
    const stopped = await machine.run(['import', 'c.csv', ...options, ...flags], { stop: stop.signal });
    expect([stopped.code, stopped.summary!.rows.submitted]).toEqual([130, 2]);
    const completed: Fate = (job) => ({ ...job, status: 'completed', completed_rows: job.total_rows });
    service.trouble = { fate: (n) => (job, polls) => (jobEnds(n) ? completed : fates.stuck)(job, polls) };
    const { code, summary } = await machine.run(['resume']);
    expect([code, summary!.rows.submitted]).toEqual([0, 4]);
    service.trouble = {};
    await machine.run(['jobs', '--refresh']);
  }

  test('a run that was continued while a job of it was unfinished: an unchanged file sends nothing', async () => {
    await stopAndContinue(['--concurrency', '2'], (job) => job > 1 || service.seen.submit > 2);
    expect(await unchanged()).toBe(4);
    machine.write('c.csv', 'company_id,name,tier\na,NEW,gold\nb,B,\nc,C,\na,,silver\n');
    expect(await unchanged()).toBe(2);
  });

  test('a run that was continued, and whose two jobs of an identifier overlapped: it is sent again', async () => {
    await stopAndContinue(['--no-wait', '--concurrency', '1'], () => false);
    expect(await unchanged()).toBe(2);
  });
});

test('rows that are only refreshed are counted apart, and do not count as changed', async () => {
  machine.write('c.csv', csv(10));
  await machine.run(IMPORT);
  machine.clock.pass(2 * 3_600_000);
  machine.write(
    'c.csv',
    csv(10, (row) => (row === 4 ? 'silver' : 'gold')),
  );
  const flags = ['-o', 'refresh_after=1h', '--max-changed', '1'];
  const plan = await machine.run([...CHANGED, ...flags, '--dry-run']);
  expect([plan.code, plannedOf(plan)]).toEqual([
    0,
    { new: 0, changed: 1, refreshed: 9, unchanged: 0, keys: [{ key: 'tier', rows: 1 }] },
  ]);
  expect((await machine.run([...CHANGED, ...flags])).summary!.rows.submitted).toBe(10);
});

describe('more changes than allowed', () => {
  beforeEach(async () => {
    machine.write('c.csv', csv(40));
    expect((await machine.run(IMPORT)).code).toBe(0);
    machine.write(
      'c.csv',
      csv(40, () => 'silver'),
    );
  });
  const HELD = [...CHANGED, '--max-changed', '5%'];

  test('are held back: exit 9, nothing sent, and the report names the column', async () => {
    const sent = arrived();
    const { code, summary, error } = await machine.run([...HELD, '--report', 'report.html']);
    expect([code, summary!.status, summary!.resume]).toEqual([9, 'held', null]);
    expect(error).toMatchObject({
      code: 'held',
      message: '40 of 40 rows are new or changed, more than --max-changed allows',
    });
    expect(summary!.rows).toMatchObject({ read: 40, unchanged: 0, submitted: 0, unsent: 40 });
    expect(summary!.plan!.changes!.keys).toEqual([{ key: 'tier', rows: 40 }]);
    expect(arrived()).toBe(sent);
    const report = readFileSync(join(machine.folder, 'report.html'), 'utf8');
    expect(report).toContain('held back; nothing was sent');
    expect(report).toMatch(/<th scope="row">[^<]*(<bdi>)?tier(<\/bdi>)?<\/th><td class="number">40</);
    const [run] = await machine.runs();
    expect([run!.summary.status, JSON.stringify(run!.summary)]).toEqual([
      'held',
      expect.not.stringMatching(/silver|gold|Name/),
    ]);
  });

  test('the next command sends them, and works when it is pasted', async () => {
    const { summary } = await machine.run(HELD);
    const next = (summary as unknown as { next: string[] }).next;
    expect(next.map((line) => line.match(/--dry-run|--max-changed \S+/g))).toEqual([
      ['--max-changed 5%', '--dry-run'],
      ['--max-changed 100%'],
    ]);
    const look = await machine.run([...HELD, '--dry-run']);
    expect([look.code, look.summary!.status, plannedOf(look).changed]).toEqual([9, 'held', 40]);
    const all = await machine.run([...CHANGED, '--max-changed', '100%']);
    expect([all.code, all.summary!.rows.submitted]).toEqual([0, 40]);
  });

  test.each([
    ['40', 0],
    ['39', 9],
    ['100%', 0],
    ['99.9%', 9],
    ['0', 9],
  ])('a bound of %s ends with %d', async (bound, code) => {
    expect((await machine.run([...CHANGED, '--max-changed', bound])).code).toBe(code);
  });

  test('a bound of the config holds back, too, and a flag wins over it', async () => {
    machine.write('config.json', '{"import":{"changed_only":true,"max_changed":"5%"}}', 0o600);
    const config = ['--config', 'config.json'];
    expect((await machine.run(['import', 'c.csv', ...config])).code).toBe(9);
    expect((await machine.run(['import', 'c.csv', ...config, '--max-changed', '90%'])).code).toBe(9);
    expect((await machine.run(['import', 'c.csv', ...config, '--max-changed', '100%'])).code).toBe(0);
  });

  test('a saved plan keeps its bound; apply can be told another one', async () => {
    const plan = await machine.run([...HELD, '--dry-run', '--save-plan', 'plan.json']);
    expect(plan.code).toBe(9);
    const sent = arrived();
    const held = await machine.run(['apply', 'plan.json']);
    expect([held.code, held.summary!.status, arrived()]).toEqual([9, 'held', sent]);
    expect((held.summary as unknown as { next: string[] }).next).toEqual([
      expect.stringMatching(/^profiles apply plan\.json --max-changed 100% /),
    ]);
    expect((await machine.run(['apply', 'plan.json', '--max-changed', '100%'])).code).toBe(0);
  });

  test('with invalid rows, those come first', async () => {
    machine.write('c.csv', `${csv(40, () => 'silver')},no id,\n`);
    expect((await machine.run(HELD)).code).toBe(5);
    expect((await machine.run([...HELD, '--skip-invalid'])).code).toBe(9);
  });

  test('without --changed-only the flag is refused', async () => {
    const { code, error } = await machine.run([...IMPORT, '--max-changed', '1']);
    expect([code, error!.message]).toEqual([2, expect.stringContaining('no effect without --changed-only')]);
  });
});

test('on an empty state every row is new, and the next command says how to go on', async () => {
  machine.write('c.csv', csv(3));
  const { code, summary, stderr } = await machine.run([...CHANGED, '--max-changed', '50%', '--dry-run']);
  expect([code, summary!.plan!.changes]).toEqual([
    9,
    { new: 3, changed: 0, refreshed: 0, unchanged: 0, keys: [] },
  ]);
  expect(stderr).not.toContain('profiles runs');
  const text = await cli([...CHANGED, '--max-changed', '50%'], { cwd: machine.folder, env: machine.env });
  expect(text.stderr).toContain('this state knows none of these profiles');
  expect(text.stderr).toContain('3 new of 3 rows: more than --max-changed allows');
});

test('GitHub: one annotation, and a table in the summary', async () => {
  machine.write('c.csv', csv(3));
  await machine.run(IMPORT);
  machine.write(
    'c.csv',
    csv(3, () => 'silver'),
  );
  machine.write('step.md', '');
  const env = { GITHUB_ACTIONS: 'true', GITHUB_STEP_SUMMARY: join(machine.folder, 'step.md') };
  const { stderr } = await machine.run([...CHANGED, '--max-changed', '1'], { env });
  expect(stderr.match(/^::error.*$/gm)).toEqual([
    '::error::3 of 3 rows are new or changed, more than --max-changed allows; nothing was sent',
  ]);
  const step = readFileSync(join(machine.folder, 'step.md'), 'utf8');
  expect(step).toContain('| new | changed | refreshed | unchanged |');
  expect(step).toContain('| tier | 3 |');
});
