/**
 * Several runs over the same ids (contract §4 "Across runs", "A retry never overtakes"): what `test/model` does not reach,
 * such as a state that is compacted, ids that appear twice in a file, and that waiting has an end.
 */
import { describe, expect, test } from 'vitest';
import { COMPLETED, type Strike } from '../support/fault-server.js';
import { type Outcome, workspace } from '../support/workspace.js';
import { FAULTS, fates, status } from './faults.js';

const { service, machine, run } = workspace();

const HOUR_MS = 3_600_000;
/** Seconds that a job takes. */
const SLOW = 20;
const lost = FAULTS['reset after acceptance'];

const held = (id: string): unknown => (service.held('users', id) as { name: string } | undefined)?.name;

/** Imports a file of users, `u1,n1` each, whose jobs take so many seconds. */
async function send(rows: readonly string[], seconds: number, flags = ''): Promise<Outcome> {
  const path = `${rows.slice(0, 9).join('_')}.csv`;
  machine.write(path, `user_id,name\n${rows.map((row) => `${row}\n`).join('')}`);
  service.trouble.seconds = () => seconds;
  return run(`import ${path} ${flags}`.trim());
}

/** An import that stops waiting as it first asks for its job. */
async function leave(rows: readonly string[], seconds = SLOW): Promise<Outcome> {
  const stop = new AbortController();
  service.trouble.poll = () => {
    stop.abort('SIGINT');
    return undefined;
  };
  machine.write('left.csv', `user_id,name\n${rows.map((row) => `${row}\n`).join('')}`);
  service.trouble.seconds = () => seconds;
  const outcome = await run('import left.csv', { stop: stop.signal });
  service.trouble = {};
  expect([outcome.code, outcome.summary!.rows.submitted]).toEqual([130, rows.length]);
  return outcome;
}

/** How many of these rows `--changed-only` would leave out. */
const unchanged = async (...rows: string[]): Promise<number> =>
  (await send(rows, 0, '--changed-only --dry-run')).summary!.rows.unchanged;

/** Time passes, and every job has ended and was asked for. */
async function settle(): Promise<void> {
  machine.clock.pass(HOUR_MS);
  await run('jobs --refresh');
}

/** Many ids, several times, so that the state is compacted. */
async function compact(from: number, last: string): Promise<void> {
  const ids = Array.from({ length: 1_200 }, (_, i) => `u${i + from}`);
  for (const name of ['a', 'b', 'c', last]) {
    machine.write('many.csv', `user_id,name\n${ids.map((id) => `${id},${name}\n`).join('')}`);
    expect((await run('import many.csv')).code).toBe(0);
  }
}

describe('a request waits for an unfinished job that shares an id', () => {
  test.each<[string, known: number, () => Promise<void>]>([
    [
      'of an import that stopped waiting, which is named',
      1,
      async () => {
        const { summary } = await leave(['u1,old', 'u2,old']);
        const { stderr } = await send(['u2,new'], 0);
        expect(stderr).toContain(`waiting for job ${summary!.jobs[0]!.job_id} of ${summary!.run}`);
      },
    ],
    [
      'of a run that was forgotten',
      1,
      async () => {
        const old = await send(['u2,old'], SLOW, '--no-wait');
        await run(`runs --forget ${old.summary!.run!}`);
        expect((await send(['u2,new'], 0)).code).toBe(0);
      },
    ],
    [
      'also when it is a single profile itself, and not beyond its own waiting time',
      0,
      async () => {
        await send(['u2,old'], SLOW, '--no-wait');
        const late = await run('identify user u2 --set name=new --wait 2s');
        expect([late.code, late.error!.message]).toEqual([3, expect.stringContaining('u2 was not sent')]);
        const { code, stderr } = await run('identify user u2 --set name=new');
        expect([code, stderr]).toEqual([
          0,
          expect.stringMatching(/^warning: waiting for job .* contains u2$/m),
        ]);
      },
    ],
  ])('%s', async (_, known, happens) => {
    await happens();
    await settle();
    expect([held('u2'), await unchanged('u2,new')]).toEqual(['new', known]);
  });

  test('but not for one that has ended since, nor for one of other ids', async () => {
    await send(['u1,old'], 1, '--no-wait');
    machine.clock.pass(60_000);
    await send(['u3,old'], HOUR_MS, '--no-wait');
    const { code, stderr } = await send(['u1,new', 'u2,new'], 0);
    expect([code, stderr.includes('waiting for job')]).toEqual([0, false]);
    expect(await unchanged('u1,new', 'u2,new')).toBe(2);
    expect(held('u3')).toBeUndefined();
  });

  /** Jobs are gone for as long as nothing else is sent. */
  const gone = (): void => {
    service.trouble.poll = () =>
      service.seen.submit === 1 ? (exchange) => exchange.reply(404, '{}') : undefined;
  };

  test.each(['ended', 'was lost'])('once: after it %s, the next request does not ask for it', async (how) => {
    const old = await leave(['u1,old', 'u2,old'], 1);
    if (how === 'was lost') gone();
    const asked: number[] = [];
    service.events.on('poll', () => asked.push(service.seen.submit));
    const { code, stderr } = await send(['u1,new', 'u2,new'], 0, '--chunk-size 1');
    service.events.removeAllListeners('poll');
    // Each job of its own is asked for once, by which it has ended.
    expect([code, service.seen.submit, asked.filter((n) => n > 1)]).toEqual([0, 3, [2, 3]]);
    expect(stderr.match(/no longer knows/g)?.length ?? 0).toBe(how === 'ended' ? 0 : 1);
    expect(old.summary!.jobs).toHaveLength(1);
  });

  test('until it has answered 404 for a minute: then it is unknown, and its rows are not sent again', async () => {
    const old = await leave(['u1,old']);
    gone();
    const { code, stderr } = await send(['u1,new'], 0);
    service.trouble = {};
    const told = /waiting for job [^\n]*: it is unfinished[\s\S]*the service no longer knows job/;
    expect([code, stderr]).toEqual([0, expect.stringMatching(told)]);
    const resumed = await run(`resume ${old.summary!.run!}`);
    expect([resumed.code, resumed.summary!.status, service.seen.submit]).toEqual([5, 'partial', 2]);
    expect(resumed.summary!.jobs).toMatchObject([{ status: 'unknown' }]);
    expect(await unchanged('u1,new')).toBe(0);
    machine.clock.pass(24 * HOUR_MS);
    await send(['u1,new'], 0);
    expect(await unchanged('u1,new')).toBe(1);
  });

  test('the minute goes on in the next session, unless the job was there in between', async () => {
    const old = await leave(['u1,old'], HOUR_MS);
    /** What a session says of the job that is answered once, and left as it is asked again. */
    const session = async (isGone: boolean): Promise<string> => {
      const stop = new AbortController();
      let polls = 0;
      service.trouble.poll = () => {
        if (++polls === 2) stop.abort('SIGINT');
        return isGone ? (exchange) => exchange.reply(404, '{}') : undefined;
      };
      const { summary } = await run(`resume ${old.summary!.run!}`, { stop: stop.signal });
      machine.clock.pass(61_000);
      return summary!.jobs[0]!.status;
    };
    machine.clock.pass(300_000);
    const open = await session(false);
    expect(await session(true)).toBe(open);
    // It is there, though nothing about it has changed: the next minute is a new one.
    expect(await session(false)).toBe(open);
    expect(await session(true)).toBe(open);
    expect(await session(true)).toBe('unknown');
  });
});

describe('what may still become another content is not remembered', () => {
  test('within one run that does not wait', async () => {
    machine.write('twice.csv', 'user_id,name\nu1,old\nu2,n\nu1,new\n');
    await run('import twice.csv --chunk-size 1 --no-wait');
    await settle();
    expect([await unchanged('u1,new'), await unchanged('u2,n')]).toEqual([0, 1]);
  });

  test.each([
    ['lost', lost],
    ['untraceable', FAULTS['202 without job id']],
  ])('for a day after a reply that was %s, unless it was the same content', async (_, strike) => {
    service.trouble.submit = (nth) => (nth === 1 ? strike : undefined);
    await send(['u1,old', 'u2,n'], SLOW, '-o retries=0');
    await send(['u1,new', 'u2,n'], 0);
    await settle();
    expect([held('u1'), await unchanged('u1,new'), await unchanged('u2,n')]).toEqual(['old', 0, 1]);
    machine.clock.pass(24 * HOUR_MS);
    await send(['u1,new'], 0);
    expect([held('u1'), await unchanged('u1,new')]).toEqual(['new', 1]);
  });

  test('with -o refresh_after, what was completed by a clock that was ahead counts as unknown', async () => {
    const year = 365 * 24 * HOUR_MS;
    machine.clock.pass(year);
    await send(['u1,n'], 0);
    machine.clock.pass(7 * 24 * HOUR_MS - year);
    const { summary } = await send(['u1,n'], 0, '--changed-only -o refresh_after=24h --dry-run');
    expect(summary!.rows.unchanged).toBe(0);
  });

  test('of an identifier in a request that was searched, of which a part was never sent', async () => {
    const rows = ['a,A,gold,1', 'b,B,,', 'c,C,,', 'd,D,,', 'a,,silver,', 'e,E,,', 'a,,,5', 'f,F,,'];
    machine.write('c.csv', `user_id,name,tier,seats\n${rows.join('\n')}\n`);
    service.trouble.submit = (n) => (n < 2 ? undefined : status(n < 4 ? 422 : 503));
    const stopped = await run('import c.csv --chunk-size 4 -o retries=0 --on-failure isolate');
    expect([stopped.code, service.ledger.timesAccepted.get('a')]).toEqual([6, 1]);
    expect((await run('import c.csv --changed-only --dry-run')).summary!.rows.unchanged).toBe(3);
  });

  test.each([
    [
      'a run was continued while a job of it was unfinished: an unchanged file sends nothing',
      '--concurrency 2',
      4,
    ],
    ['two jobs of an identifier overlapped: it is sent again', '--no-wait --concurrency 1', 2],
  ])('%s', async (_, flags, count) => {
    const stop = new AbortController();
    const stopping: Strike = (exchange) => {
      stop.abort('SIGINT');
      return exchange.acknowledge();
    };
    machine.write('c.csv', 'user_id,name,tier\na,A,gold\nb,B,\nc,C,\na,,silver\n');
    service.trouble = { submit: (n) => (n === 2 ? stopping : undefined), fate: () => fates.stuck };
    const stopped = await run(`import c.csv --chunk-size 1 ${flags}`, { stop: stop.signal });
    expect([stopped.code, stopped.summary!.rows.submitted]).toEqual([130, 2]);
    const ends = (job: number): boolean => count === 4 && (job > 1 || service.seen.submit > 2);
    service.trouble = { fate: (n) => (ends(n) ? COMPLETED : fates.stuck) };
    const { code, summary } = await run('resume');
    expect([code, summary!.rows.submitted]).toEqual([0, 4]);
    service.trouble = {};
    await run('jobs --refresh');
    expect((await run('import c.csv --changed-only --dry-run')).summary!.rows.unchanged).toBe(count);
  });

  test('what identify sent between two rows of an identifier, also when the state is compacted', async () => {
    service.during(1, async () => {
      service.trouble = {};
      expect((await run('identify user u1 --set name=OTHER')).code).toBe(0);
    });
    machine.write('twice.csv', 'user_id,name,plan\nu1,A,p\nu1,,q\n');
    const twice = 'import twice.csv --chunk-size 1';
    expect((await run(twice)).summary!.rows).toMatchObject({ completed: 1, unsent: 1 });
    const left = async () => (await run(`${twice} --changed-only --dry-run`)).summary!.rows.unchanged;
    expect(await left()).toBe(0);
    await compact(2, 'd');
    expect(await left()).toBe(0);
  });
});

describe('a retry never overtakes', () => {
  /** An import whose second request may have arrived, and whose third row is unsent. */
  async function monday(): Promise<string> {
    service.trouble.submit = (nth) => (nth === 2 ? status(503) : undefined);
    const { code, summary } = await send(['u1,mon', 'u2,mon', 'u3,mon'], 0, '--chunk-size 1 -o retries=0');
    service.trouble = {};
    expect([code, summary!.rows]).toMatchObject([6, { submitted: 1, unknown: 1, unsent: 1 }]);
    return summary!.run!;
  }

  test('but what an older import has sent late is no reason to hold back a newer one', async () => {
    const first = await monday();
    service.trouble.submit = () => status(503);
    const second = await send(['u9,tue', 'u2,tue'], 0, '-o retries=0 --chunk-size 1');
    service.trouble = {};
    await run(`resume ${first}`);
    expect(held('u2')).toBe('mon');
    await run(`resume ${second.summary!.run!}`);
    expect(held('u2')).toBe('tue');
  });

  test('nor is what certainly did not arrive', async () => {
    const first = await monday();
    service.trouble.submit = () => status(404);
    expect((await send(['u2,tue'], 0, '-o retries=0')).code).toBe(6);
    service.trouble = {};
    expect((await run(`resume ${first}`)).summary!.rows.submitted).toBe(3);
    expect(held('u2')).toBe('mon');
  });

  test('also after what was sent has been compacted', async () => {
    const first = await monday();
    await compact(2, 'tue');
    expect((await run(`resume ${first}`)).summary!.rows).toMatchObject({ unknown: 1, unsent: 1 });
    expect(held('u2')).toBe('tue');
  });

  test('a user that another command sent while the companies went out is left out', async () => {
    machine.write('c.csv', 'company_id,name\nc1,A\n');
    machine.write('u.csv', 'user_id,name\nu1,A\nu2,B\n');
    await run('import u.csv');
    let identified: number | undefined;
    service.during(2, async () => {
      service.trouble = {};
      identified = (await run('identify user u1 --set name=OTHER --no-wait')).code;
    });
    const { code, summary } = await run('import c.csv u.csv --changed-only');
    expect([identified, code]).toEqual([0, 5]);
    expect(summary!.rows).toMatchObject({ read: 3, submitted: 1, unchanged: 1, unsent: 1 });
    expect(summary!.warnings.join()).toContain('1 row not sent; sent later by identify');
  });
});

test.each([
  ['the second half was refused', [undefined, status(401)], [[4, 5]]],
  ['the second half was never sent', ['stop'], [[4, 5]]],
  [
    'the first half was, and the second never sent',
    [status(401)],
    [
      [2, 3],
      [4, 5],
    ],
  ],
] as [string, (Strike | 'stop' | undefined)[], number[][]][])(
  'a request in doubt is named by a newer import, but for what has arrived since, if %s',
  async (_, halves, lines) => {
    const rows = (day: string): string =>
      `user_id,name\n${[...'abcd'].map((id) => `${id},${day}\n`).join('')}`;
    machine.write('a.csv', rows('mon'));
    const stop = new AbortController();
    const stopping: Strike = (exchange) => {
      stop.abort('SIGINT');
      return exchange.acknowledge();
    };
    service.trouble.submit = (nth) => {
      const strike = [lost, status(413), ...halves][nth - 1];
      return strike === 'stop' ? stopping : strike;
    };
    const first = await run('import a.csv', { stop: stop.signal });
    expect(first.summary!.rows, first.stderr).toMatchObject({ unknown: 2 * lines.length });
    machine.write('a.csv', rows('tue'));
    const newer = await run('import a.csv --chunk-size 2');
    expect([newer.code, newer.summary!.requests], newer.stderr).toEqual([0, 2]);
    const reason = expect.stringContaining('(ECONNRESET)');
    expect(newer.summary!.maybe_sent_twice).toMatchObject(
      lines.map(([first_line, last_line]) => ({ first_line, last_line, reason })),
    );
  },
);

test.each([
  ['was not taken', status(409), 'unsent', [], 'abc', ['a b c', 'b', 'a c']],
  ['was not taken, and it is all of it', status(409), 'unsent', [], 'b', ['b', 'b']],
  ['may have arrived', lost, 'unknown', [2], 'abc', ['a b c', 'b', 'a c']],
])('a further attempt leaves out what others have sent since: the one before %s', async (...given) => {
  const [, strike, outcome, named, ids, sent] = given;
  machine.write('u.csv', `user_id,name\n${[...ids].map((id) => `${id},1\n`).join('')}`);
  const meanwhile: Strike = async (exchange) => {
    await (outcome === 'unsent' ? exchange.read() : exchange.accept());
    await run('identify user b --set name=newer --no-wait');
    await strike(exchange);
  };
  service.trouble.submit = (nth) => (nth === 1 ? meanwhile : undefined);
  const { code, summary, stderr } = await run('import u.csv --outcomes out.ndjson');
  expect(service.ledger.sent).toEqual(sent);
  expect([code, summary!.rows], stderr).toMatchObject([5, { submitted: ids.length - 1, [outcome]: 1 }]);
  const rows = machine
    .read('out.ndjson')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(rows.map((row) => [row.id, row.outcome])).toEqual(
    [...ids].map((id) => [id, id === 'b' ? outcome : 'completed']),
  );
  expect(summary!.maybe_sent_twice.map(({ rows }) => rows)).toEqual(named);
});

test('what others have sent since is left out before the rest is divided', async () => {
  machine.write('u.csv', 'user_id,name\na,1\nb,1\nc,1\n');
  const stop = new AbortController();
  const stopping: Strike = (exchange) => {
    stop.abort('SIGINT');
    return exchange.acknowledge();
  };
  service.trouble = {
    submit: (nth) => (nth === 2 ? stopping : undefined),
    fate: (nth) => (nth <= 2 ? fates.failed : undefined),
  };
  expect((await run('import u.csv --on-failure isolate', { stop: stop.signal })).code).toBe(130);
  await run('identify user b --set name=newer --no-wait');
  const { code, summary } = await run('resume --on-failure isolate');
  expect([code, summary!.rows.completed]).toEqual([5, 2]);
  expect(service.ledger.sent).toEqual(['a b c', 'a b c', 'b', 'a c']);
});

test('the only row of a request is rejected, although others have sent it since', async () => {
  machine.write('u.csv', 'user_id,name\nb,1\n');
  service.during(2, async () => {
    await run('identify user b --set name=newer --no-wait');
  });
  service.trouble.fate = (nth) => (nth <= 2 ? fates.failed : undefined);
  const { code, summary } = await run('import u.csv --on-failure isolate');
  expect([code, summary!.rows]).toMatchObject([5, { rejected: 1 }]);
  expect(machine.read('u.rejects.csv')).toContain('b,1,2,');
});
