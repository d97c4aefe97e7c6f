/**
 * Rows at fault (contract §4): exactly these are rejected, and the service holds all others. The service fails by what is
 * in a request. Kills are in `commits.test.ts` and `test/model`; how many requests a search takes is in `engine/send/next.test.ts`.
 */
import { appendFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { COMPLETED, type Strike } from '../support/fault-server.js';
import { times } from '../support/times.js';
import { type Outcome, workspace } from '../support/workspace.js';
import { FAULTS, fates, status } from './faults.js';
import { resumeToTheEnd } from './support.js';

const { service, machine, run } = workspace();

type Pair = readonly [string, string];
type How = 'failed' | '422';

/** The service does not take these ids, nor the ids of a pair in one request, and says so in this way. */
function refuses(bad: Iterable<string>, how: How = 'failed', pairs: readonly Pair[] = []): Set<string> {
  const all = new Set(bad);
  const wrong = (ids: readonly string[]): boolean =>
    ids.some((id) => all.has(id)) || pairs.some((pair) => pair.every((id) => ids.includes(id)));
  service.trouble = {
    submit: () => async (exchange) => {
      const isWrong = wrong((await exchange.read()).ids);
      if (isWrong && how === '422') return status(422)(exchange);
      return exchange.acknowledge(!isWrong);
    },
    fate: (nth) => {
      const { ids } = service.ledger.arrivals.filter(({ accepted }) => accepted)[nth - 1]!;
      return wrong(ids) ? fates.failed : COMPLETED;
    },
  };
  return all;
}

/** Meets the nth request with this; all others are answered well. */
const only = (nth: number, strike: Strike): void => {
  service.trouble = { submit: (n) => (n === nth ? strike : undefined) };
};

const numbered = (n: number): string[] => Array.from({ length: n }, (_, i) => `c-${i}`);
const write = (ids: readonly string[]): void =>
  machine.write('c.csv', `company_id,nr\n${ids.map((id, nr) => `${id},${nr}\n`).join('')}`);
/** Imports companies with these ids, and looks for rows at fault. */
const isolate = (ids: readonly string[], flags: string): Promise<Outcome> => {
  write(ids);
  return run(`import c.csv --on-failure isolate ${flags}`);
};

function rejectedIn(file: string | null): string[] {
  const lines = file === null ? [] : machine.read(file).trimEnd().split('\r\n').slice(1);
  return lines.map((line) => line.split(',')[0]!);
}

/** Holds what a run says against the books of the service. */
async function agrees({ summary, stderr }: Outcome, ids: readonly string[], bad: Set<string>): Promise<void> {
  const { read, rejected, merged, unchanged, submitted, unknown = 0, unsent = 0, completed } = summary!.rows;
  expect(read, stderr).toBe(ids.length);
  expect(rejected + merged + unchanged + submitted + unknown + unsent).toBe(read);
  expect(completed).toBeLessThanOrEqual(submitted);
  const written = rejectedIn(summary!.files[0]!.rejects_file);
  expect(written.filter((id) => !bad.has(id))).toEqual([]);
  for (const id of bad) expect(service.held('companies', id), 'nothing bad is held').toBeUndefined();
  expect((await machine.show<{ problems: unknown[] }>('state check')).problems).toEqual([]);
}

/** The same, where every row at fault was found. */
async function found(ended: Outcome, ids: readonly string[], bad: Set<string>): Promise<void> {
  await agrees(ended, ids, bad);
  const { rows, status: end, files, resume } = ended.summary!;
  const rejected = ids.filter((id) => bad.has(id));
  expect([rows.rejected, rows.completed, resume]).toEqual([rejected.length, rows.submitted, null]);
  expect(new Set(rejectedIn(files[0]!.rejects_file))).toEqual(new Set(rejected));
  expect([ended.code, end]).toEqual(rejected.length > 0 ? [5, 'partial'] : [0, 'completed']);
  // The last row of an id is what counts.
  for (const [id, nr] of new Map(ids.map((id, nr) => [id, nr])))
    if (!bad.has(id)) expect([id, service.held('companies', id)]).toEqual([id, { nr }]);
}

/** A search that ended before every row at fault was found. */
async function usedUp(ended: Outcome, ids: readonly string[], bad: Set<string>): Promise<void> {
  await agrees(ended, ids, bad);
  const { rows, files, warnings } = ended.summary!;
  expect([ended.code, ended.summary!.status, rows.unsent]).toEqual([7, 'failed', undefined]);
  expect(rows.rejected + rows.submitted).toBe(ids.length);
  expect(rejectedIn(files[0]!.rejects_file)).toHaveLength(rows.rejected);
  expect(rows.completed).toBe(service.ledger.profiles.companies.size);
  expect(warnings.join('\n')).toMatch(/lines? \d+.*: [\d,]+ rows? failed: the \d+ requests/);
}

const id = fc.integer({ min: 1, max: 40 }).map((n) => `id-${n}`);
const aRun = fc.record({
  // Ids that repeat over requests; a first request that completes says that it is the rows.
  ids: fc.array(id, { minLength: 1, maxLength: 40 }),
  bad: fc.uniqueArray(id, { maxLength: 8 }),
  pairs: fc.array(fc.tuple(id, id), { maxLength: 2 }),
  how: fc.constantFrom<How>('failed', '422'),
  chunkSize: fc.integer({ min: 1, max: 14 }),
  concurrency: fc.constantFrom(1, 2, 8),
  isLater: fc.boolean(),
});

test('whatever fails: exactly the rows at fault are rejected', { timeout: 600_000 }, async () => {
  const property = fc.asyncProperty(aRun, async (given) => {
    const { chunkSize, concurrency, isLater } = given;
    await service.stop();
    await service.renew();
    machine.renew(service.url);
    const apart = given.pairs.filter(([a, b]) => a !== b && ![a, b].some((one) => given.bad.includes(one)));
    const bad = refuses(given.bad, isLater ? 'failed' : given.how, apart);
    const ids = [...numbered(chunkSize), ...given.ids];
    const flags = `--chunk-size ${chunkSize} --concurrency ${concurrency}`;
    if (!isLater) return found(await resumeToTheEnd(machine, await isolate(ids, flags)), ids, bad);
    // First without a search, then the failed requests again.
    write(ids);
    const first = await resumeToTheEnd(machine, await run(`import c.csv ${flags}`));
    fc.pre(first.code === 7);
    // The ids that later requests have sent are left out, and then the last row is not the last.
    fc.pre(new Set(ids).size === ids.length);
    const again = await run('resume --failed --on-failure isolate');
    return found(await resumeToTheEnd(machine, again), ids, bad);
  });
  const seed = process.env.LOSS_SEED ? { seed: Number(process.env.LOSS_SEED) } : {};
  await fc.assert(property, { numRuns: times(20), ...seed });
});

test.each<[string, ids: string[], bad: string[], How, flags: string, sent: string[]]>([
  [
    'a request that shares ids with a failed one waits',
    ['x', 'y', 'a', 'bad', 'a', 'c'],
    ['bad'],
    'failed',
    '2',
    ['x y', 'a bad', 'a bad', 'a', 'bad', 'a c'],
  ],
  [
    'rows that merge share a fate',
    ['x', 'y', 'a', 'bad', 'a', 'bad', 'b'],
    ['bad'],
    '422',
    '5',
    ['x y a bad', 'x y a bad', 'x y', 'a', 'bad', 'bad b', 'bad b', 'bad', 'b'],
  ],
])('%s', async (_, ids, bad, how, chunk, sent) => {
  const ended = await isolate(ids, `--chunk-size ${chunk} --concurrency 8`);
  expect(ended.code).toBe(0);
  const faulty = refuses(bad, how);
  machine.renew(service.url);
  service.ledger.profiles.companies.clear();
  const before = service.ledger.sent.length;
  await found(await isolate(ids, `--chunk-size ${chunk} --concurrency 8`), ids, faulty);
  expect(service.ledger.sent.slice(before)).toEqual(sent);
});

test('the rows of a request are read from the file once, however many of them are at fault', async () => {
  const bad = refuses(['c-5', 'c-6', 'c-8']);
  const answer = service.trouble.submit!(1)!;
  // From here on the file is another: reading it again would end the import.
  service.trouble.submit = () => async (exchange) => {
    const { ids } = await exchange.read();
    if (ids.join() === 'c-8') appendFileSync(machine.path('c.csv'), 'c-9,9\n');
    return answer(exchange);
  };
  const { error, summary } = await isolate(numbered(9), '--chunk-size 5');
  expect([error?.code, rejectedIn(summary!.files[0]!.rejects_file)]).toEqual(['rejected', [...bad]]);
});

describe('20,000 rows in requests of 5,000', { timeout: 600_000 }, () => {
  const ids = numbered(20_000);
  const spread = (k: number, from: number, to: number): string[] =>
    Array.from({ length: k }, (_, i) => `c-${from + Math.floor((i * (to - from)) / k)}`);

  test.each(['failed', '422'] as const)('some of several requests (%s)', async (how) => {
    const bad = refuses(['c-10', 'c-5010', 'c-5020', 'c-10010', 'c-14999'], how);
    await found(await isolate(ids, '--concurrency 4'), ids, bad);
    const searches = service.ledger.arrivals.length - 4;
    expect(searches).toBeLessThanOrEqual(3 + 10 * 13);
  });

  test.each([
    ['one request', spread(200, 5_000, 10_000), 128],
    ['all requests', spread(200, 0, 20_000), 4 * 128],
  ])('200 of %s: as many as the budget allows are found, the rest stays failed', async (_, some, budget) => {
    const bad = refuses(some);
    await usedUp(await isolate(ids, '--concurrency 1'), ids, bad);
    expect(service.ledger.arrivals.length).toBeLessThanOrEqual(4 + budget);
  });

  test.each(['failed', '422'] as const)('all of them: the search does not start again (%s)', async (how) => {
    const bad = refuses(ids, how);
    const ended = await isolate(ids, '--concurrency 1');
    await agrees(ended, ids, bad);
    expect(ended.summary!.warnings.join()).toContain('did not look for the rows at fault');
    expect(service.ledger.arrivals.length).toBeLessThanOrEqual(4 + 2 * 128);
    expect(ended.code).toBe(how === '422' ? 6 : 7);
  });
});

test('too few requests: attempt after attempt finds the rows at fault', async () => {
  const ids = numbered(400);
  const bad = refuses(Array.from({ length: 17 }, (_, i) => `c-${100 + Math.floor((i * 100) / 17)}`));
  let last = await isolate(ids, '--chunk-size 100 -o isolate_jobs=20');
  await usedUp(last, ids, bad);
  for (let attempts = 0; last.code === 7; attempts++) {
    expect(attempts).toBeLessThan(12);
    last = await run('resume --failed --on-failure isolate -o isolate_jobs=20');
    await agrees(last, ids, bad);
  }
  await found(last, ids, bad);
});

test.each([400, 401, 403, 409, 413, 415, 429, 500, 503])('requests answered with %i', async (code) => {
  const ids = numbered(8);
  service.trouble = { submit: (nth) => (nth > 1 ? status(code) : undefined) };
  const ended = await isolate(ids, '--chunk-size 4 -o retries=0');
  // A search sends the rows once more; what is too large is divided.
  const parents = (await machine.requests(ended.summary!.run!)).flatMap(({ parent }) => parent ?? []);
  const isSearch = parents.some((seq) => parents.filter((other) => other === seq).length === 1);
  expect(isSearch).toBe(code === 400);
  await agrees(ended, ids, new Set(code === 400 || code === 413 ? ids.slice(4) : []));
});

test('the second time it fails in another way: nothing is divided, nothing rejected', async () => {
  const ids = numbered(8);
  service.trouble = { submit: (n) => (n === 2 ? status(422) : n === 3 ? status(400) : undefined) };
  const ended = await isolate(ids, '--chunk-size 4');
  expect([ended.code, service.ledger.arrivals.length, ended.summary!.status]).toEqual([7, 3, 'failed']);
  expect(ended.summary!.rows).toMatchObject({ rejected: 0, submitted: 4, completed: 4, unsent: 4 });
  // The way on.
  service.trouble = {};
  await found(await run('resume --failed --on-failure isolate'), ids, new Set());
});

test('searches in several parts of one request end, if everything fails', async () => {
  const atMostTwo: Strike = async (exchange) => {
    const { ids } = await exchange.read();
    await (ids.length > 2 ? status(413)(exchange) : exchange.acknowledge());
  };
  service.trouble = { submit: () => atMostTwo, fate: () => fates.failed };
  const { code, summary, stderr } = await isolate(numbered(8), '--chunk-size 8');
  expect([code, summary!.rows], stderr).toMatchObject([7, { rejected: 4, submitted: 4 }]);
  expect(stderr).toContain('did not look for the rows at fault');
});

test('requests under way at a time, all of whose rows are refused, wait for each other and end', async () => {
  const ids = numbered(16);
  refuses(ids, '422');
  const { code, summary, stderr } = await isolate(ids, '--chunk-size 4 --concurrency 3');
  expect([code, summary!.rows.submitted], stderr).toEqual([6, 0]);
  // Two searches of 7; whether the fourth request is still sent depends on how fast the state is.
  expect([17, 18], stderr).toContain(service.ledger.arrivals.length);
});

describe('the failed requests of a finished run', () => {
  test('only they are sent again, and the run is then as a whole', async () => {
    refuses(['c-5']);
    write(numbered(12));
    const first = await run('import c.csv --chunk-size 4');
    expect([first.code, first.summary!.status]).toEqual([7, 'failed']);
    service.trouble = {};
    const last = await run('resume --failed');
    await found(last, numbered(12), new Set());
    expect(service.ledger.sent.slice(3)).toEqual(['c-4 c-5 c-6 c-7']);
    expect([last.summary!.run, last.summary!.requests]).toEqual([first.summary!.run, 4]);
  });

  test('rows of refused ones leave the rejects file, which is replaced', async () => {
    const bad = refuses(['c-5'], '422');
    write(numbered(12));
    const first = await run('import c.csv --chunk-size 4 --on-failure continue');
    expect(rejectedIn(first.summary!.files[0]!.rejects_file)).toEqual(['c-4', 'c-5', 'c-6', 'c-7']);
    const last = await run('resume --failed --on-failure isolate');
    await found(last, numbered(12), bad);
    expect(last.summary!.files[0]!.rejects_file).toBe('c.rejects.csv');
  });

  test('an untraceable one is sent again, and named', async () => {
    only(2, FAULTS['202 without job id']);
    write(numbered(8));
    expect((await run('import c.csv --chunk-size 4')).code).toBe(5);
    const last = await run('resume --failed');
    await found(last, numbered(8), new Set());
    expect(last.summary!.maybe_sent_twice).toMatchObject([{ first_line: 6, last_line: 9, rows: 4 }]);
  });

  test('what the run itself has sent later is left out', async () => {
    refuses(['b']);
    write(['a', 'b', 'a', 'c']);
    await run('import c.csv --chunk-size 2');
    service.trouble = {};
    const last = await run('resume --failed');
    expect([last.code, service.ledger.sent.at(-1), service.held('companies', 'a')]).toEqual([
      5,
      'b',
      { nr: 2 },
    ]);
    expect(last.summary!.rows).toMatchObject({ submitted: 4, completed: 3 });
    expect(last.summary!.warnings.join()).toContain(
      `1 row not sent again; sent later by ${last.summary!.run}`,
    );
  });

  test('two that share ids go again in order', async () => {
    const bad = refuses(['b', 'c']);
    const ids = ['a', 'b', 'a', 'c', 'd', 'e'];
    write(ids);
    await run('import c.csv --chunk-size 2');
    await found(await run('resume --failed --on-failure isolate --concurrency 8'), ids, bad);
  });

  test('rows that a search has completed count once when the rest is sent again', async () => {
    refuses(['c-1', 'c-5', 'c-9']);
    write(numbered(12));
    expect((await run('import c.csv')).code).toBe(7);
    // It ends in the middle: some rows are completed, one is rejected, the others failed.
    const searched = await run('resume --failed --on-failure isolate -o isolate_jobs=8');
    expect(searched.summary!.rows).toMatchObject({ read: 12, rejected: 1, submitted: 11, completed: 2 });
    service.trouble = {};
    const last = await run('resume --failed');
    await found(last, numbered(12), new Set());
  });
});
