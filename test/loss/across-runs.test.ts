/** Several runs over the same ids (contract §4 "Across runs", "A retry never overtakes"), held against the sandbox. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { cli } from '../support/cli.js';
import { fastClock } from '../support/clock.js';
import { Middle } from './middle.js';
import { Machine, type Outcome } from './support.js';

const SLOW = 0.1;
const FAST = 2_000;

let clock: ReturnType<typeof fastClock>;
let speed: number;
let middle: Middle;
let machine: Machine;
beforeEach(async () => {
  clock = fastClock();
  speed = FAST;
  middle = await Middle.start(clock, () => speed);
  machine = new Machine(middle.url, middle.sandbox.token);
});
afterEach(() => middle.stop());

const run = (...argv: string[]): Promise<Outcome> => machine.run(argv, { clock });
const held = (id: string): unknown => middle.sandbox.show('users', id)?.metadata.name;
const submissions = (): number => middle.sandbox.ledger().filter(({ method }) => method === 'POST').length;

/** Imports a file of users, `u1,n1` each, at this speed. */
async function send(rows: string[], jobSpeed: number, ...flags: string[]): Promise<Outcome> {
  const path = `${rows.slice(0, 9).join('_')}.csv`;
  machine.write(path, `user_id,name\n${rows.map((row) => `${row}\n`).join('')}`);
  speed = jobSpeed;
  return run('import', path, ...flags);
}

/** An import that stops waiting as it first asks for its job. */
async function leave(rows: string[], jobSpeed = SLOW): Promise<Outcome> {
  const stop = new AbortController();
  const { trouble } = middle;
  middle.trouble = (sort) => {
    if (sort === 'poll') stop.abort('SIGINT');
    return null;
  };
  machine.write('left.csv', `user_id,name\n${rows.map((row) => `${row}\n`).join('')}`);
  speed = jobSpeed;
  const outcome = await machine.run(['import', 'left.csv'], { clock, stop: stop.signal });
  middle.trouble = trouble;
  expect([outcome.code, outcome.summary!.rows.submitted]).toEqual([130, rows.length]);
  return outcome;
}

/** How many of these rows `--changed-only` would leave out. */
async function unchanged(...rows: string[]): Promise<number> {
  const { summary } = await send(rows, FAST, '--changed-only', '--dry-run');
  return summary!.rows.unchanged;
}

/** Time passes, and every job has ended and was asked for. */
async function settle(): Promise<void> {
  clock.pass(600_000);
  await run('jobs', '--refresh');
}

describe('a request waits for an unfinished job that shares an id', () => {
  test('of an import that stopped waiting', async () => {
    const old = await leave(['u1,old', 'u2,old']);
    const { code, stderr } = await send(['u2,new'], FAST);
    expect([code, held('u1'), held('u2')]).toEqual([0, 'old', 'new']);
    expect(stderr).toContain(`waiting for job ${old.summary!.jobs[0]!.job_id} of ${old.summary!.run}`);
    await settle();
    expect([held('u2'), await unchanged('u1,old', 'u2,new')]).toEqual(['new', 2]);
  });

  test('of a single profile', async () => {
    speed = SLOW;
    expect((await run('identify', 'user', 'u1', '--set', 'name=old', '--no-wait')).code).toBe(0);
    expect((await send(['u1,new'], FAST)).code).toBe(0);
    await settle();
    expect([held('u1'), await unchanged('u1,new')]).toEqual(['new', 1]);
  });

  test('of a run that was forgotten', async () => {
    const old = await send(['u1,old'], SLOW, '--no-wait');
    await run('runs', '--forget', old.summary!.run!);
    expect((await send(['u1,new'], FAST)).code).toBe(0);
    await settle();
    expect([held('u1'), await unchanged('u1,new')]).toEqual(['new', 1]);
  });

  test('also when it is a single profile itself, and not beyond its own waiting time', async () => {
    await send(['u1,old'], SLOW, '--no-wait');
    const late = await run('identify', 'user', 'u1', '--set', 'name=new', '--wait', '2s');
    expect([late.code, late.error!.message]).toEqual([3, expect.stringContaining('u1 was not sent')]);
    const { code, stderr } = await run('identify', 'user', 'u1', '--set', 'name=new');
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/^warning: waiting for job \S+: .* contains u1$/m),
    ]);
    await settle();
    expect(held('u1')).toBe('new');
  });

  test('and sends nothing when its waiting time is over first', async () => {
    await send(['u1,old'], SLOW, '--no-wait');
    const late = await send(['u1,new'], FAST, '--wait', '2s');
    expect([late.code, late.summary!.rows, submissions()]).toMatchObject([3, { submitted: 0, unsent: 1 }, 1]);
    expect((await run('resume')).code).toBe(0);
    await settle();
    expect(held('u1')).toBe('new');
  });

  test('but not for one that has ended since, nor for one of other ids', async () => {
    await send(['u1,old'], FAST, '--no-wait');
    clock.pass(60_000);
    await send(['u3,old'], SLOW, '--no-wait');
    const { code, stderr } = await send(['u1,new', 'u2,new'], FAST);
    expect([code, stderr.includes('waiting for job')]).toEqual([0, false]);
    expect(await unchanged('u1,new', 'u2,new')).toBe(2);
    expect(held('u3')).toBeUndefined();
  });

  test.for([
    ['ended', null],
    ['was lost', '404'],
  ] as const)('once: after it %s, the next request does not ask for it', async ([, answer]) => {
    const old = await leave(['u1,old', 'u2,old'], 2);
    middle.trouble = (sort) => (sort === 'poll' && submissions() === 1 ? answer : null);
    const { code, stderr } = await send(['u1,new', 'u2,new'], FAST, '--chunk-size', '1');
    const requests = middle.sandbox.ledger();
    const second = requests.filter(({ method }) => method === 'POST')[1]!;
    const id = encodeURIComponent(old.summary!.jobs[0]!.job_id);
    const asked = requests.filter(({ n, path }) => n > second.n && path.includes(id));
    expect([code, submissions(), asked]).toEqual([0, 3, []]);
    expect(stderr.match(/no longer knows/g)?.length ?? 0).toBe(answer === null ? 0 : 1);
  });

  test('until it has answered 404 for a minute: then it is unknown, and its rows are not sent again', async () => {
    const old = await leave(['u1,old']);
    middle.trouble = (sort) => (sort === 'poll' && submissions() === 1 ? '404' : null);
    const { code, stderr } = await send(['u1,new'], FAST);
    middle.trouble = () => null;
    expect([code, stderr]).toEqual([0, expect.stringContaining('the service no longer knows job')]);
    const resumed = await run('resume', old.summary!.run!);
    expect([resumed.code, resumed.summary!.status, submissions()]).toEqual([5, 'partial', 2]);
    expect(resumed.summary!.jobs).toMatchObject([{ status: 'unknown' }]);
    expect(await unchanged('u1,new')).toBe(0);
    clock.pass(24 * 3_600_000);
    await send(['u1,new'], FAST);
    expect(await unchanged('u1,new')).toBe(1);
  });

  test('the minute goes on in the next session, unless the job was there in between', async () => {
    const old = await leave(['u1,old'], 0.001);
    /** What a session says of the job that is answered once, and left as it is asked again. */
    const session = async (answer: '404' | null): Promise<string> => {
      const stop = new AbortController();
      let polls = 0;
      middle.trouble = (sort) => {
        if (sort === 'poll' && ++polls === 2) stop.abort('SIGINT');
        return sort === 'poll' ? answer : null;
      };
      const { summary } = await machine.run(['resume', old.summary!.run!], { clock, stop: stop.signal });
      clock.pass(61_000);
      return summary!.jobs[0]!.status;
    };
    clock.pass(300_000);
    const open = await session(null);
    expect(await session('404')).toBe(open);
    // It is there, though nothing about it has changed: the next minute is a new one.
    expect(await session(null)).toBe(open);
    expect(await session('404')).toBe(open);
    expect(await session('404')).toBe('unknown');
  });
});

describe('what may still become another content is not remembered', () => {
  test('when two unfinished jobs held it at the same time, whichever ended last', async () => {
    await send(['u1,old'], SLOW, '--no-wait');
    await send(['u1,new', 'u2,new'], FAST, '--no-wait');
    await settle();
    expect(held('u1')).toBe('old');
    expect([await unchanged('u1,new'), await unchanged('u1,old'), await unchanged('u2,new')]).toEqual([
      0, 0, 1,
    ]);
  });

  test('within one run that does not wait', async () => {
    machine.write('twice.csv', 'user_id,name\nu1,old\nu2,n\nu1,new\n');
    await run('import', 'twice.csv', '--chunk-size', '1', '--no-wait');
    await settle();
    expect([await unchanged('u1,new'), await unchanged('u2,n')]).toEqual([0, 1]);
  });

  test.each(['lost after', 'untraceable'] as const)('for a day after a reply that was %s', async (fault) => {
    middle.trouble = (sort) => (sort === 'submit' && submissions() === 0 ? fault : null);
    await send(['u1,old'], SLOW, '-o', 'retries=0');
    await send(['u1,new'], FAST);
    await settle();
    expect([held('u1'), await unchanged('u1,new')]).toEqual(['old', 0]);
    clock.pass(24 * 3_600_000);
    await send(['u1,new'], FAST);
    expect([held('u1'), await unchanged('u1,new')]).toEqual(['new', 1]);
  });

  test('unless it was the same content', async () => {
    middle.trouble = (sort) => (sort === 'submit' && submissions() === 0 ? 'lost after' : null);
    expect((await send(['u1,n'], SLOW)).code).toBe(0);
    expect(await unchanged('u1,n')).toBe(1);
  });

  test('when a single profile’s reply was lost', async () => {
    middle.trouble = (sort) => (sort === 'submit' ? 'lost after' : null);
    speed = SLOW;
    await run('identify', 'user', 'u1', '--set', 'name=old');
    middle.trouble = () => null;
    await send(['u1,new'], FAST);
    expect(await unchanged('u1,new')).toBe(0);
  });
});

describe('a retry never overtakes', () => {
  /** An import whose second request may have arrived, and whose third row is unsent. */
  async function monday(): Promise<string> {
    middle.trouble = (sort) => (sort === 'submit' && submissions() === 1 ? '503' : null);
    const { code, summary } = await send(
      ['u1,mon', 'u2,mon', 'u3,mon'],
      FAST,
      '--chunk-size',
      '1',
      '-o',
      'retries=0',
    );
    middle.trouble = () => null;
    expect([code, summary!.rows]).toMatchObject([6, { submitted: 1, unknown: 1, unsent: 1 }]);
    return summary!.run!;
  }

  test('a resume leaves out what another import has sent since, and says so', async () => {
    const first = await monday();
    const second = (await send(['u2,tue', 'u1,tue'], FAST)).summary!.run!;
    const { code, summary } = await run('resume', first);
    expect(['u1', 'u2', 'u3'].map(held)).toEqual(['tue', 'tue', 'mon']);
    expect([code, summary!.status, summary!.resume]).toEqual([5, 'partial', null]);
    // The row was in the request that may have arrived.
    expect(summary!.rows).toMatchObject({ read: 3, submitted: 2, unknown: 1 });
    expect(summary!.warnings).toEqual([
      expect.stringContaining(`1 row not sent again; sent later by ${second}`),
    ]);
    expect(await machine.requests(first)).toContainEqual(
      expect.objectContaining({ rows: 0, left_out: 1, left_out_by: second }),
    );
    const env = machine.env;
    const shown = await cli(['runs', first], { cwd: machine.folder, env, clock });
    expect(shown.stdout).toContain(`sent later by ${second}`);
  });

  test('whatever the number of rows', async () => {
    const rows = (day: string): string[] => Array.from({ length: 400 }, (_, i) => `u${i},${day}`);
    middle.trouble = (sort) => (sort === 'submit' ? '503' : null);
    const first = (await send(rows('mon'), FAST, '-o', 'retries=0')).summary!.run!;
    middle.trouble = () => null;
    await send(rows('tue'), FAST);
    const { summary } = await run('resume', first);
    expect(summary!.rows).toMatchObject({ read: 400, submitted: 0, unknown: 400 });
    expect(rows('').filter((row) => held(row.split(',')[0]!) !== 'tue')).toEqual([]);
  });

  test('or a single profile', async () => {
    const first = await monday();
    await run('identify', 'user', 'u3', '--set', 'name=tue');
    const { summary } = await run('resume', first);
    expect(['u2', 'u3'].map(held)).toEqual(['mon', 'tue']);
    expect(summary!.warnings).toEqual([expect.stringContaining('sent later by identify')]);
  });

  test('or a single profile after a plan was saved, which `apply` leaves out', async () => {
    await run('identify', 'user', 'u1', '--set', 'name=before');
    clock.pass(1_000);
    machine.write('plan.csv', 'user_id,name\nu1,plan\nu2,plan\nu3,plan\n');
    await run('import', 'plan.csv', '--dry-run', '--save-plan', 'plan.json');
    clock.pass(1_000);
    await run('identify', 'user', 'u2', '--set', 'name=after');
    const { code, summary } = await run('apply', 'plan.json');
    expect(['u1', 'u2', 'u3'].map(held)).toEqual(['plan', 'after', 'plan']);
    expect([code, summary!.rows]).toMatchObject([5, { submitted: 2, unsent: 1 }]);
    expect(summary!.warnings).toEqual([expect.stringContaining('sent later by identify')]);
  });

  test('or of a request whose reply was lost, the part that was sent since', async () => {
    middle.trouble = (sort) => (sort === 'submit' ? 'lost after' : null);
    const first = (await send(['u1,mon', 'u2,mon'], FAST, '-o', 'retries=0')).summary!.run!;
    middle.trouble = () => null;
    await send(['u1,tue'], FAST);
    const { summary } = await run('resume', first);
    expect(['u1', 'u2'].map(held)).toEqual(['tue', 'mon']);
    expect(summary!.maybe_sent_twice).toMatchObject([{ rows: 1 }]);
    expect(summary!.rows).toMatchObject({ submitted: 1, unknown: 1 });
  });

  test('what an older import has sent late is no reason to hold back a newer one', async () => {
    const first = await monday();
    middle.trouble = (sort) => (sort === 'submit' ? '503' : null);
    const rows = ['u9,tue', 'u2,tue'];
    const second = (await send(rows, FAST, '-o', 'retries=0', '--chunk-size', '1')).summary!.run!;
    middle.trouble = () => null;
    await run('resume', first);
    expect(held('u2')).toBe('mon');
    await run('resume', second);
    expect(held('u2')).toBe('tue');
  });

  test('it is known also after what was sent has been compacted', async () => {
    const first = await monday();
    const rows = Array.from({ length: 1_200 }, (_, i) => `u${i + 2},x`);
    for (const name of ['a', 'b', 'c']) {
      machine.write('many.csv', `user_id,name\n${rows.map((row) => `${row}${name}\n`).join('')}`);
      expect((await run('import', 'many.csv')).code).toBe(0);
    }
    const { summary } = await run('resume', first);
    expect(summary!.rows).toMatchObject({ unknown: 1, unsent: 1 });
    expect(held('u2')).toBe('xc');
  });
});

describe('a retry that is lost again', () => {
  test.each([[[]], [['--changed-only']]])('leaves out what others sent in between: %j', async (flags) => {
    middle.trouble = (sort) => (sort === 'submit' ? 'lost before' : null);
    const first = (await send(['u1,mon', 'u2,mon'], FAST, '-o', 'retries=0', ...flags)).summary!.run!;
    middle.trouble = () => null;
    await send(['u1,tue'], FAST);
    middle.trouble = (sort) => (sort === 'submit' ? 'lost before' : null);
    await run('resume', first);
    middle.trouble = () => null;
    const last = await run('resume', first);
    expect([last.code, last.summary?.rows], last.stderr).toMatchObject([5, { submitted: 1, unknown: 1 }]);
    expect(last.error?.message).toBe('some rows may have arrived, and were not sent again');
    expect([held('u1'), held('u2')]).toEqual(['tue', 'mon']);
  });
});

test('what certainly did not arrive was not sent later', async () => {
  middle.trouble = (sort) => (sort === 'submit' ? '503' : null);
  const first = (await send(['u1,mon', 'u2,mon'], FAST, '-o', 'retries=0')).summary!.run!;
  middle.trouble = (sort) => (sort === 'submit' ? '404' : null);
  const second = await send(['u1,tue'], FAST, '-o', 'retries=0');
  expect([second.code, second.summary!.rows.submitted]).toEqual([6, 0]);
  middle.trouble = () => null;
  const last = await run('resume', first);
  expect([last.code, last.summary!.rows.submitted], last.stderr).toEqual([0, 2]);
  expect(held('u1')).toBe('mon');
});

test('with -o refresh_after, what was completed by a clock that was ahead counts as unknown', async () => {
  const year = 365 * 24 * 3_600_000;
  clock.pass(year);
  await send(['u1,n'], FAST);
  clock.pass(7 * 24 * 3_600_000 - year);
  const { summary } = await send(['u1,n'], FAST, '--changed-only', '-o', 'refresh_after=24h', '--dry-run');
  expect(summary!.rows.unchanged).toBe(0);
});
