/** A canary (contract §3 "Plan, then send", 4): nothing goes out before it has completed, whatever becomes of it. */
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { built, profiles } from '../support/child.js';
import { type Fate, FaultServer } from '../support/fault-server.js';
import { FAULTS, fates } from './faults.js';
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
});

test('a run that has sent requests without one cannot begin with one', async () => {
  const argv = ['import', file.path, '--chunk-size', '5', '-o', 'retries=0'];
  service.trouble = {
    submit: (nth) => FAULTS[nth === 1 ? '202 without job id' : 'reset before the body'],
  };
  const stopped = await run(argv);
  service.trouble = {};
  const before = sizes();
  const late = await run([...argv, '--resume', '--canary', '3']);
  expect([late.code, sizes()], late.stderr).toEqual([2, before]);
  expect(late.stderr).toMatch(
    /has sent requests without a canary, so it cannot begin with one\n.*continue with/,
  );
  const done = await run(['resume']);
  expect([done.summary!.run, done.summary!.rows.unsent]).toEqual([stopped.summary!.run, undefined]);
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
