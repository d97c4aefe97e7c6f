/** A canary (contract §3 "Plan, then send", 4): nothing goes out before it has completed, whatever becomes of it. */
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { built, profiles } from '../support/child.js';
import { type Fate, FaultServer } from '../support/fault-server.js';
import { FAULTS, fates, status } from './faults.js';
import { balance, crashAt, elevenCompanies, Machine, type Outcome, seeds } from './support.js';

const file = elevenCompanies();
const SEND = ['import', file.path, '--canary', '3', '--chunk-size', '5', '-o', 'retries=0'];

let service: FaultServer;
let machine: Machine;
beforeEach(async () => {
  service = await new FaultServer().start();
  machine = new Machine(service.url);
  machine.write(file.path, file.text);
});
afterEach(() => service.stop());

const run = (argv: string[]): Promise<Outcome> => machine.run(argv, { clock: machine.clock });
/** Identifiers in each request, in the order of their arrival. */
const sizes = (): number[] => service.ledger.arrivals.map(({ ids }) => ids.length);
const first = (fate: Fate) => (nth: number) => (nth === 1 ? fate : undefined);

/** Held at its place until as many polls; tells how many requests there were by then. */
function slowly(polls: number): { seen: number[] } {
  const held = { seen: [] as number[] };
  service.trouble.fate = first((job, nth) => {
    held.seen.push(service.seen.submit);
    return nth < polls
      ? { ...job, status: 'processing' }
      : { ...job, status: 'completed', completed_rows: job.total_rows };
  });
  return held;
}

describe('nothing else is sent before it has completed', () => {
  test.each([
    ['alone', []],
    ['with several at a time', ['--concurrency', '4']],
    ['without waiting for jobs', ['--no-wait']],
    ['where failed rows are looked for', ['--on-failure', 'isolate']],
  ])('%s', async (_, flags) => {
    const held = slowly(5);
    const done = await run([...SEND, ...flags]);
    expect(done.code, done.stderr).toBe(0);
    expect(new Set(held.seen)).toEqual(new Set([1]));
    expect(held.seen.length).toBeGreaterThanOrEqual(5);
    // The third row has the id of the second.
    expect(sizes()).toEqual([2, 5, 4]);
    expect(done.summary!.status).toBe(flags.includes('--no-wait') ? 'submitted' : 'completed');
    await balance(done.summary!, machine, service, file);
  });

  test('of a saved plan that was made without one', async () => {
    const plain = ['import', file.path, '--chunk-size', '5', '--dry-run', '--save-plan', 'plan.json'];
    expect((await run(plain)).code).toBe(0);
    const held = slowly(5);
    const done = await run(['apply', 'plan.json', '--canary', '3']);
    expect(done.code, done.stderr).toBe(0);
    expect(new Set(held.seen)).toEqual(new Set([1]));
    expect(sizes()).toEqual([3, 1, 5, 2]);
    expect(done.summary!.rows).toMatchObject({ read: 12, submitted: 11, merged: 1 });
    await balance(done.summary!, machine, service, file);
  });

  test('of a saved plan: where it fails, nothing else goes out, and a resume sends it again', async () => {
    await run(['import', file.path, '--chunk-size', '5', '--dry-run', '--save-plan', 'plan.json']);
    service.trouble.fate = first(fates.failed);
    const stopped = await run(['apply', 'plan.json', '--canary', '3']);
    expect([stopped.code, sizes()]).toEqual([7, [3]]);
    service.trouble = {};
    const done = await run(['resume', stopped.summary!.run!]);
    expect(done.code, done.stderr).toBe(0);
    expect(done.summary!.rows).toMatchObject({ read: 12, submitted: 11, merged: 1 });
    expect(sizes().slice(1)[0]).toBeLessThanOrEqual(3);
  });

  test('companies and users have one together', async () => {
    machine.write('users.csv', 'user_id\nu-1\nu-2\nu-3\nu-4\n');
    const done = await run([...SEND, 'users.csv', '--canary', '2']);
    expect([done.code, sizes()]).toEqual([0, [2, 5, 5, 4]]);
  });

  test('rows that need not be sent are none', async () => {
    expect((await run(['import', file.path])).code).toBe(0);
    service.ledger.arrivals.length = 0;
    machine.write(file.path, file.text.replaceAll(/Company ([6-9])/g, 'Firm $1'));
    const done = await run([...SEND, '--changed-only', '--canary', '1']);
    expect(done.code, done.stderr).toBe(0);
    expect(sizes()[0]).toBe(1);
  });

  test('where nothing is to be sent there is none', async () => {
    machine.write('one.csv', 'company_id\na\nb\n');
    expect((await run(['import', 'one.csv'])).code).toBe(0);
    const again = await run(['import', 'one.csv', '--canary', '1', '--changed-only']);
    expect([again.code, service.seen.submit]).toEqual([0, 1]);
  });

  test('the plan counts it', async () => {
    const planned = await run([...SEND, '--dry-run']);
    expect(planned.summary!.plan!.requests).toBe(3);
    machine.write('plain.csv', `company_id\n${Array.from({ length: 11 }, (_, i) => `p${i}\n`).join('')}`);
    const plain = await run(['import', 'plain.csv', '--canary', '1', '--chunk-size', '5', '--dry-run']);
    expect(plain.summary!.plan!.requests).toBe(3);
    expect((await run(['import', 'plain.csv', '--canary', '1', '--chunk-size', '5'])).summary!.requests).toBe(
      3,
    );
  });
});

describe('it does not complete', () => {
  const missing: Fate = (job) => ({ ...job, status: 'gone' });
  test.each<[string, () => void, number, RegExp]>([
    [
      'its job fails',
      () => {
        service.trouble.fate = first(fates.failed);
      },
      7,
      /^the canary failed in job job-1 \(companies\.csv, lines 2 to 4\), so nothing else was sent$/,
    ],
    [
      'it is short',
      () => {
        service.trouble.fate = first(fates.short);
      },
      5,
      /^the canary is short: job job-1 completed 1 of 2 rows/,
    ],
    [
      'its job is gone',
      () => {
        service.trouble.poll = () => (exchange) => exchange.reply(404, '{}');
        service.trouble.fate = first(missing);
      },
      5,
      /^the canary is lost: the service no longer knows job job-1/,
    ],
    [
      'no job is named',
      () => {
        service.trouble.submit = (n) => (n === 1 ? FAULTS['202 without job id'] : undefined);
      },
      5,
      /^the canary was accepted, but the reply names no job to follow/,
    ],
  ])(
    '%s: the run stops, and a resume sends its rows again as the new one',
    async (_, trouble, code, message) => {
      trouble();
      const stopped = await run([...SEND, '--on-failure', 'isolate', '--on-failure', 'continue']);
      expect([stopped.code, stopped.error?.message], stopped.stderr).toEqual([
        code,
        expect.stringMatching(message),
      ]);
      expect([stopped.summary!.status, stopped.summary!.rows.unsent]).toEqual(['stopped', 9]);
      expect(sizes()).toEqual([2]);
      expect(stopped.summary!.resume).toContain(`resume ${stopped.summary!.run}`);
      service.trouble = {};
      const held = slowly(1);
      const done = await run(['resume']);
      expect(done.code, done.stderr).toBe(0);
      expect(sizes()).toEqual([2, 2, 5, 4]);
      expect(held.seen).toEqual([]); // of the first job nobody asks any more
      expect(done.summary).toMatchObject({ status: 'completed', resume: null });
      expect(done.summary!.rows).toMatchObject({ read: 12, merged: 1, submitted: 11, completed: 11 });
      expect(done.summary!.jobs.map((job) => job.status)).toEqual(['completed', 'completed', 'completed']);
    },
  );

  test('and fails again: the run stops again, even where failed rows are to be looked for', async () => {
    service.trouble.fate = (nth) => (nth <= 2 ? fates.failed : undefined);
    expect((await run([...SEND, '--on-failure', 'isolate'])).code).toBe(7);
    const again = await run(['resume', '--on-failure', 'isolate']);
    expect([again.code, again.error?.code]).toEqual([7, 'canary']);
    expect(sizes()).toEqual([2, 2]);
    const done = await run(['resume', '--on-failure', 'isolate']);
    expect([done.code, done.summary!.status, sizes()]).toEqual([0, 'completed', [2, 2, 2, 5, 4]]);
  });

  test('and the import of the same content goes on with it', async () => {
    service.trouble.fate = first(fates.failed);
    const stopped = await run(SEND);
    const argv = SEND.filter((word) => word !== '--canary' && word !== '3');
    const done = await run([...argv, '--resume']);
    expect([done.code, done.summary!.run, sizes()]).toEqual([0, stopped.summary!.run, [2, 2, 5, 4]]);
  });

  test('and it is still to complete where the import that goes on looks for rows at fault', async () => {
    service.trouble.fate = (nth) => (nth === 1 ? fates.failed : nth === 2 ? fates.stuck : undefined);
    const stopped = await run(SEND);
    const argv = SEND.filter((word) => word !== '--canary' && word !== '3');
    const late = await run([...argv, '--resume', '--on-failure', 'isolate', '--wait', '4h']);
    expect([late.code, late.summary!.run, sizes()]).toEqual([3, stopped.summary!.run, [2, 2]]);
    service.trouble.fate = () => fates.failed;
    const again = await run(['resume']);
    expect([again.code, again.error?.code, sizes()], again.stderr).toEqual([7, 'canary', [2, 2]]);
  });

  test('it is refused: nothing is rejected, and its rows go out again', async () => {
    service.trouble.submit = (n) => (n === 1 ? status(422) : undefined);
    const stopped = await run([...SEND, '--on-failure', 'continue', '--on-failure', 'isolate']);
    expect([stopped.code, stopped.summary!.rows.rejected, stopped.summary!.rows.unsent]).toEqual([6, 0, 12]);
    const done = await run(['resume']);
    expect([done.code, sizes()], done.stderr).toEqual([0, [2, 2, 5, 4]]);
  });

  test('its reply is lost: a resume repeats it, alone', async () => {
    service.trouble.submit = (n) => (n === 1 ? FAULTS['reset after acceptance'] : undefined);
    expect((await run(SEND)).code).toBe(6);
    const done = await run(['resume']);
    expect([done.code, sizes()], done.stderr).toEqual([0, [2, 2, 5, 4]]);
    expect(done.summary!.maybe_sent_twice).toMatchObject([{ rows: 2, first_line: 2, last_line: 4 }]);
    await balance(done.summary!, machine, service, file);
  });

  test('it is too large: its first half is the canary', async () => {
    service.trouble = {
      submit: (n) => (n === 1 ? FAULTS['413 before the body was read'] : undefined),
      fate: first(fates.failed),
    };
    const stopped = await run([...SEND, '--canary', '4']);
    expect([stopped.code, sizes()], stopped.stderr).toEqual([7, [2]]);
    const done = await run(['resume']);
    expect(done.code, done.stderr).toBe(0);
    expect(done.summary!.rows).toMatchObject({ merged: 1, submitted: 11, completed: 11 });
    await expectAll();
  });

  test('it takes too long: exit 3, and a resume follows it first', async () => {
    service.trouble.fate = first(fates.stuck);
    const late = await run([...SEND, '--wait', '4h']);
    expect([late.code, late.summary!.status, sizes()]).toEqual([3, 'timed_out', [2]]);
    const held = slowly(3);
    const done = await run(['resume']);
    expect([done.code, done.summary!.status, sizes()], done.stderr).toEqual([0, 'completed', [2, 5, 4]]);
    expect(new Set(held.seen)).toEqual(new Set([1]));
  });

  test('it is all there is, and nobody waits: its end is waited for', async () => {
    service.trouble.fate = first(fates.stuck);
    const all = ['import', file.path, '--canary', '100'];
    const late = await run([...all, '--wait', '4h']);
    expect([late.code, late.summary!.status]).toEqual([3, 'timed_out']);
    service.trouble = {};
    const done = await run(['resume']);
    expect([done.code, done.summary!.rows.completed, sizes()]).toEqual([0, 11, [11]]);
  });
});

/** Every id arrived. */
async function expectAll(): Promise<void> {
  const arrived = new Set(service.ledger.arrivals.flatMap(({ ids }) => ids));
  expect([...arrived].sort()).toEqual([...new Set(file.ids.values())].sort());
}

describe('killed at a commit', () => {
  beforeAll(built);
  test.each(seeds(3).flatMap((n) => ['before', 'after'].map((moment) => `${moment}:${3 * n}`)))(
    '%s: at no time is anything sent before a canary has completed',
    async (at) => {
      let completed = 0;
      let early = 0;
      service.trouble = {
        fate: (nth) => (job) => {
          // The first one fails.
          if (nth > 1) completed++;
          return nth === 1
            ? fates.failed(job)
            : { ...job, status: 'completed', completed_rows: job.total_rows };
        },
        submit: () => async (exchange) => {
          const { ids } = await exchange.read();
          if (ids.length > 2 && completed === 0) early++;
          await exchange.acknowledge();
        },
      };
      const env = { ...machine.env, ...crashAt(at) };
      const argv = [...SEND, '--concurrency', '3', '-o', 'interval=1ms', '--json'];
      const killed = await profiles(argv, { cwd: machine.folder, env }).ended;
      expect(killed.signal ?? killed.code).not.toBe(0);
      let last: Outcome;
      let sessions = 0;
      do last = await run(sessions++ === 0 ? [...SEND, '--resume'] : ['resume']);
      while (last.code !== 0 && sessions < 6);
      expect([last.code, early], last.stderr).toEqual([0, 0]);
      expect(last.summary!.rows).toMatchObject({ merged: 1, submitted: 11, completed: 11 });
      await expectAll();
    },
  );
});
