/**
 * Rows at fault (contract §4): for random ones, with a disk that fails at any commit in between, exactly these are
 * rejected, and the service holds all others. The service fails by what is in a request, and keeps its own books.
 */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { carryOut } from '../../src/engine/course.js';
import { Exit, StateError } from '../../src/engine/errors.js';
import type { ImportEvent } from '../../src/engine/events.js';
import { type ImportOptions, importNumbers } from '../../src/engine/options.js';
import { NO_RULES } from '../../src/engine/read/index.js';
import type { ImportResult } from '../../src/engine/run/deps.js';
import { INPUTS, type Start } from '../../src/engine/run/start.js';
import type { Answer, ServiceClient } from '../../src/engine/service/client.js';
import type { Job } from '../../src/engine/service/contract.js';
import type { RequestRecord } from '../../src/engine/state/requests.js';
import type { State } from '../../src/engine/state/state.js';
import { scratch } from '../support/cli.js';
import { IdleClock } from '../support/clock.js';
import { openState } from '../support/state.js';
import { failing, seeded, times } from './support.js';

type How = 'failed' | '422' | 'short';

/** What it does not take, and how it says so. */
interface Faults {
  bad: ReadonlySet<string>;
  /** Ids that do not go into one request. */
  pairs?: readonly (readonly [string, string])[];
  how: How;
}

class Service {
  readonly store = new Map<string, { nr: number }>();
  readonly sent: string[][] = [];
  readonly #jobs = new Map<string, Job>();
  faults: Faults = { bad: new Set(), how: 'failed' };
  /** By the number of the request, from 1: what it meets with instead. */
  answer: (nth: number) => Answer | null = () => null;

  client(): ServiceClient {
    return {
      baseUrl: 'http://service.test',
      lookupBaseUrl: null,
      submit: async (_kind, body) => {
        await setImmediate();
        const items = (
          JSON.parse(Buffer.from(body).toString()) as {
            companies: { company_id: string; metadata: { nr: number } }[];
          }
        ).companies;
        const ids = items.map(({ company_id }) => company_id);
        this.sent.push(ids);
        const other = this.answer(this.sent.length);
        if (other) return other;
        const { bad, pairs = [], how } = this.faults;
        const has = new Set(ids);
        const isWrong = ids.some((id) => bad.has(id)) || pairs.some(([a, b]) => has.has(a) && has.has(b));
        if (isWrong && how === '422') return refusal(422, 'invalid_item', 'not all items can be accepted');
        for (const { company_id, metadata } of items) {
          if (!isWrong || (how === 'short' && !bad.has(company_id))) {
            this.store.set(company_id, { ...this.store.get(company_id), ...metadata });
          }
        }
        const job_id = `job-${this.#jobs.size + 1}`;
        const rows = items.length;
        const whole = rows - ids.filter((id) => bad.has(id)).length;
        const end =
          isWrong && how === 'failed'
            ? { status: 'failed', completed_rows: 0 }
            : { status: 'completed', completed_rows: isWrong ? whole : rows };
        this.#jobs.set(job_id, { job_id, total_rows: rows, ...end });
        return reply(202, JSON.stringify({ job_id, status: 'queued', total_rows: rows }));
      },
      job: async (id) => {
        await setImmediate();
        return this.#jobs.get(id)!;
      },
      identifyCompany: () => Promise.reject(new Error('not used')),
      lookup: () => Promise.reject(new Error('not used')),
      close: async () => {},
    };
  }
}

const reply = (status: number, body: string): Answer => ({
  type: 'reply',
  status,
  retryAfter: null,
  requestId: null,
  contentType: 'application/json',
  body,
});
const refusal = (status: number, error_code: string, message = ''): Answer =>
  reply(status, JSON.stringify({ errors: [{ error_code, message }] }));

const SCOPE = { account: 'a', region: 'test', base_url: 'http://service.test' };

class Machine {
  readonly folder = scratch();
  readonly service = new Service();
  readonly #clock = new IdleClock();
  readonly #random = seeded(1);

  /** Sees each event. */
  hear: (event: ImportEvent) => void = () => {};

  constructor(readonly ids: readonly string[]) {
    const rows = ids.map((id, nr) => `${id},${nr}\n`);
    writeFileSync(join(this.folder, 'companies.csv'), `company_id,nr\n${rows.join('')}`);
  }

  options(over: Partial<ImportOptions> = {}): ImportOptions {
    return {
      ...importNumbers({}),
      paths: ['companies.csv'],
      rules: NO_RULES,
      wait: true,
      invalid: 'none',
      rejects: null,
      outcomes: null,
      changedOnly: false,
      maxChanged: null,
      trackKeys: false,
      onFailure: 'isolate',
      dryRun: false,
      checkProperties: false,
      full: false,
      resume: false,
      failed: false,
      retries: 0,
      ...over,
    };
  }

  async withState<T>(work: (state: State) => Promise<T>): Promise<T> {
    const state = await openState(join(this.folder, 'state'), () => this.#clock.now());
    try {
      return await work(state);
    } finally {
      await state.close();
    }
  }

  async records(): Promise<RequestRecord[]> {
    return await this.withState(async (state) => await state.requests.of((await state.runs.all())[0]!.run));
  }

  /** A session of a new run, or of the newest one. @param disk commits until it fails */
  async session(
    options: ImportOptions,
    isNew: boolean,
    disk = Number.POSITIVE_INFINITY,
  ): Promise<ImportResult> {
    const state = await openState(join(this.folder, 'state'), () => this.#clock.now());
    try {
      const client = this.service.client();
      const start: Start = isNew
        ? INPUTS
        : { from: 'run', run: (await state.runs.all())[0]!, inputs: [], isSent: false };
      const events = carryOut(start, options, {
        state: failing(state, disk),
        scope: SCOPE,
        client: async () => client,
        service: SCOPE,
        clock: this.#clock,
        random: this.#random,
        cwd: this.folder,
        platform: 'linux',
        stdin: () => Readable.from([]),
        threads: 0,
        download: { timeoutMs: 1_000, proxy: {} },
        stop: new AbortController().signal,
        abort: new AbortController().signal,
      });
      for (;;) {
        const next = await events.next();
        if (next.done) return next.value;
        this.hear(next.value);
      }
    } finally {
      await state.close();
    }
  }

  /** Sessions until the run is finished, whose disks fail after so many commits. */
  async toTheEnd(
    first: Partial<ImportOptions>,
    isNew: boolean,
    disks: readonly number[] = [],
  ): Promise<ImportResult> {
    let [now, starts] = [first, isNew];
    for (const disk of [...disks, ...Array<number>(3).fill(Number.POSITIVE_INFINITY)]) {
      const ended = await this.session(this.options(now), starts, disk).catch((error: unknown) => {
        if (error instanceof StateError) return null; // before there was a run, or at its very end
        throw error;
      });
      if (ended?.failure === null) return ended;
      // A disk that fails before the retry is on record leaves a finished run.
      const run = await this.withState(async (state) => (await state.runs.all())[0]);
      starts = run === undefined;
      now = { ...first, failed: (first.failed ?? false) && run!.finished };
      if (run?.finished && !first.failed) return this.session(this.options(now), true);
    }
    throw new Error('it does not end');
  }

  /** Ids in a rejects file. */
  rejected(file: string | null): string[] {
    if (file === null) return [];
    const lines = readFileSync(join(this.folder, file), 'utf8').trimEnd().split('\r\n').slice(1);
    return lines.map((line) => line.split(',')[0]!);
  }
}

/** Holds an ended run against the service's books. */
async function agrees(machine: Machine, { summary }: ImportResult, bad: ReadonlySet<string>): Promise<void> {
  const { read, rejected, merged, unchanged, submitted, unknown = 0, unsent = 0, completed } = summary.rows;
  expect(read).toBe(machine.ids.length);
  expect(rejected + merged + unchanged + submitted + unknown + unsent).toBe(read);
  expect(completed).toBeLessThanOrEqual(submitted);
  const { store } = machine.service;
  const written = machine.rejected(summary.files[0]!.rejects_file);
  for (const id of written) expect(bad, 'nothing good is rejected').toContain(id);
  for (const id of bad) expect(store.has(id), 'nothing bad is held').toBe(false);
  expect(await machine.withState(async (state) => await state.problems())).toEqual([]);
}

/** The same, where every row at fault was found. */
async function found(machine: Machine, ended: ImportResult, bad: ReadonlySet<string>): Promise<void> {
  await agrees(machine, ended, bad);
  const { summary, exit } = ended;
  const { store } = machine.service;
  const rejected = machine.ids.filter((id) => bad.has(id));
  expect(summary.rows).toMatchObject({ rejected: rejected.length });
  expect(summary.rows.completed).toBe(summary.rows.submitted);
  expect(new Set(machine.rejected(summary.files[0]!.rejects_file))).toEqual(new Set(rejected));
  expect(exit).toBe(rejected.length > 0 ? Exit.rejected : Exit.done);
  expect(summary.status).toBe(rejected.length > 0 ? 'partial' : 'completed');
  // The last row of an id is what counts.
  const last = new Map(machine.ids.map((id, nr) => [id, nr]));
  for (const [id, nr] of last) if (!bad.has(id)) expect([id, store.get(id)]).toEqual([id, { nr }]);
  expect(summary.resume).toBeNull();
}

const numbered = (n: number): string[] => Array.from({ length: n }, (_, i) => `c-${i}`);

const aRun = fc.record({
  // Ids that repeat over requests; a first request that completes says that it is the rows.
  ids: fc.array(
    fc.integer({ min: 1, max: 40 }).map((n) => `id-${n}`),
    { minLength: 1, maxLength: 40 },
  ),
  bad: fc.uniqueArray(
    fc.integer({ min: 1, max: 40 }).map((n) => `id-${n}`),
    { maxLength: 8 },
  ),
  pairs: fc.array(
    fc.tuple(
      fc.integer({ min: 1, max: 40 }).map((n) => `id-${n}`),
      fc.integer({ min: 1, max: 40 }).map((n) => `id-${n}`),
    ),
    { maxLength: 2 },
  ),
  how: fc.constantFrom<How>('failed', '422'),
  chunkSize: fc.integer({ min: 1, max: 14 }),
  concurrency: fc.constantFrom(1, 2, 8),
  disks: fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 5 }),
  isLater: fc.boolean(),
});

const numRuns = times(20);

test('whatever fails, and whenever it is killed: exactly the rows at fault are rejected', async () => {
  await fc.assert(
    fc.asyncProperty(aRun, async ({ ids, bad, pairs, how, chunkSize, concurrency, disks, isLater }) => {
      const machine = new Machine([...numbered(chunkSize), ...ids]);
      const apart = pairs.filter(([a, b]) => a !== b && !bad.includes(a) && !bad.includes(b));
      const faults = { bad: new Set(bad), pairs: apart, how: isLater ? ('failed' as const) : how };
      machine.service.faults = faults;
      const options = { chunkSize, concurrency };
      let ended: ImportResult;
      if (isLater) {
        // First without a search, then the failed requests again.
        await machine.toTheEnd({ ...options, onFailure: 'stop' }, true);
        const before = (await machine.records()).some((r) => r.job?.status === 'failed');
        fc.pre(before);
        // The ids that later requests have sent are left out, and then the last row is not the last.
        fc.pre(new Set(ids).size === ids.length);
        ended = await machine.toTheEnd({ ...options, failed: true }, false, disks);
      } else ended = await machine.toTheEnd(options, true, disks);
      await found(machine, ended, faults.bad);
    }),
    { numRuns, ...(process.env.LOSS_SEED ? { seed: Number(process.env.LOSS_SEED) } : {}) },
  );
});

test('the rows of a request are read from the file once, however many of them are at fault', async () => {
  const bad = new Set(['c-5', 'c-6', 'c-8']);
  const machine = new Machine(numbered(9));
  machine.service.faults = { bad, how: 'failed' };
  let heard = 0;
  machine.hear = ({ type }) => {
    // From here on the file is another: reading it again would end the import.
    if (type === 'rejected' && heard++ === 0)
      appendFileSync(join(machine.folder, 'companies.csv'), 'c-9,9\n');
  };
  const ended = await machine.session(machine.options({ chunkSize: 5 }), true);
  expect(ended.failure).toBeNull();
  expect(heard).toBe(bad.size);
  expect(machine.rejected(ended.summary.files[0]!.rejects_file)).toEqual([...bad]);
});

describe('20,000 rows in requests of 5,000', () => {
  const N = 20_000;
  const spread = (k: number, from: number, to: number): number[] =>
    Array.from({ length: k }, (_, i) => from + Math.floor((i * (to - from)) / k));
  const depth = Math.ceil(Math.log2(5_000));
  test.for<[name: string, bad: number[], requests: number, rows: number]>([
    ['1', [7_777], 1 + 2 * depth, 3 * 5_000 + depth],
    ['2 in one request', spread(2, 5_000, 10_000), 1 + 4 * depth, 5_000 * (1 + depth)],
    ['5 in one request', spread(5, 5_000, 10_000), 1 + 10 * depth, 5_000 * (1 + depth)],
    ['17 adjacent', spread(17, 9_000, 9_017), 1 + 34 * depth, 5_000 * (1 + depth)],
    ['2, first and last of a request', [5_000, 9_999], 1 + 4 * depth, 5_000 * (1 + depth)],
    ['5 over three requests', [10, 5_010, 5_020, 10_010, 14_999], 3 + 10 * depth, 15_000 * (1 + depth)],
  ])('%s', { timeout: 600_000 }, async ([, bad, requests, rows]) => {
    for (const how of ['failed', '422'] as const) {
      const machine = new Machine(numbered(N));
      machine.service.faults = { bad: new Set(bad.map((i) => `c-${i}`)), how };
      const ended = await machine.toTheEnd({ concurrency: 4 }, true);
      await found(machine, ended, machine.service.faults.bad);
      expect(machine.service.sent.length - 4).toBeLessThanOrEqual(requests);
      expect(machine.service.sent.flat().length - N).toBeLessThanOrEqual(rows);
      expect(ended.summary.requests).toBe(machine.service.sent.length);
    }
  });

  test('200 in one request: the budget ends the search', { timeout: 600_000 }, async () => {
    const machine = new Machine(numbered(N));
    const bad = new Set(spread(200, 5_000, 10_000).map((i) => `c-${i}`));
    machine.service.faults = { bad, how: 'failed' };
    const ended = await machine.toTheEnd({}, true);
    expect(machine.service.sent.length).toBeLessThanOrEqual(4 + 128);
    await usedUp(machine, ended, bad);
  });

  test.for(['failed', '422'] as const)(
    'all rows: after two requests the search does not start again (%s)',
    { timeout: 600_000 },
    async (how) => {
      const machine = new Machine(numbered(N));
      const bad = new Set(numbered(N));
      machine.service.faults = { bad, how };
      const ended = await machine.session(machine.options(), true);
      await agrees(machine, ended, bad);
      expect(ended.summary.warnings.join()).toContain('did not look for the rows at fault');
      expect(machine.service.sent.length).toBeLessThanOrEqual(4 + 2 * 128);
      expect(ended.exit).toBe(how === '422' ? Exit.service : Exit.jobFailed);
    },
  );

  test.for(['failed', '422'] as const)('17 over all requests (%s)', { timeout: 600_000 }, async (how) => {
    const machine = new Machine(numbered(N));
    const bad = new Set(spread(17, 0, N).map((i) => `c-${i}`));
    machine.service.faults = { bad, how };
    const ended = await machine.toTheEnd({}, true);
    await found(machine, ended, bad);
    expect(machine.service.sent.length - 4).toBeLessThanOrEqual(4 + 17 * 2 * depth);
  });

  test('200 over all requests: as many as the budget allows are found, the rest stays failed', {
    timeout: 600_000,
  }, async () => {
    const machine = new Machine(numbered(N));
    const bad = new Set(spread(200, 0, N).map((i) => `c-${i}`));
    machine.service.faults = { bad, how: 'failed' };
    const ended = await machine.toTheEnd({}, true);
    expect(machine.service.sent.length).toBeLessThanOrEqual(4 + 4 * 128);
    await usedUp(machine, ended, bad);
  });

  test('a service that is down half-way: it stops, and goes on where it was', {
    timeout: 600_000,
  }, async () => {
    const machine = new Machine(numbered(N));
    const bad = new Set(['c-7777', 'c-7778']);
    machine.service.faults = { bad, how: 'failed' };
    machine.service.answer = (nth) => (nth === 12 ? refusal(500, 'internal') : null);
    const first = await machine.session(machine.options(), true);
    expect([first.exit, first.summary.rows.rejected]).toEqual([Exit.service, 0]);
    expect(first.summary.resume).not.toBeNull();
    await agrees(machine, first, bad);
    const last = await machine.session(machine.options(), false);
    await found(machine, last, bad);
    // Nothing went out twice but the one whose answer nobody understood.
    expect(last.summary.maybe_sent_twice).toHaveLength(1);
  });
});

/** A search that ended before every row at fault was found. */
async function usedUp(machine: Machine, ended: ImportResult, bad: ReadonlySet<string>): Promise<void> {
  await agrees(machine, ended, bad);
  expect([ended.summary.status, ended.exit]).toEqual(['failed', Exit.jobFailed]);
  const { rejected, submitted, completed, unsent } = ended.summary.rows;
  expect([unsent, rejected + submitted]).toEqual([undefined, machine.ids.length]);
  expect(machine.rejected(ended.summary.files[0]!.rejects_file)).toHaveLength(rejected);
  expect(completed).toBe(machine.service.store.size);
  expect(ended.summary.warnings.join('\n')).toMatch(/lines? \d+.*: [\d,]+ rows? failed: the \d+ requests/);
}

test.for([17, 40])('%i rows at fault, and too few requests: attempt after attempt finds them', async (k) => {
  const machine = new Machine(numbered(400));
  const bad = new Set(Array.from({ length: k }, (_, i) => `c-${100 + Math.floor((i * 100) / k)}`));
  machine.service.faults = { bad, how: 'failed' };
  const flags = { chunkSize: 100, isolateJobs: 20 };
  let last = await machine.toTheEnd(flags, true);
  await usedUp(machine, last, bad);
  for (let attempts = 0; last.exit === Exit.jobFailed; attempts++) {
    expect(attempts).toBeLessThan(12);
    last = await machine.toTheEnd({ ...flags, failed: true }, false);
    await agrees(machine, last, bad);
  }
  await found(machine, last, bad);
});

test.for([400, 401, 403, 409, 413, 415, 429, 500, 503] as const)(
  'a request answered with %i',
  async (status) => {
    const machine = new Machine(numbered(8));
    machine.service.answer = (nth) => (nth > 1 ? refusal(status, 'some_code') : null);
    const ended = await machine.session(machine.options({ chunkSize: 4, busyTimeoutMs: 0 }), true);
    // A search sends the rows once more; what is too large is divided.
    const parents = (await machine.records()).flatMap(({ parent }) => parent ?? []);
    expect(parents.some((seq) => parents.filter((other) => other === seq).length === 1)).toBe(status === 400);
    await agrees(machine, ended, new Set(status === 400 || status === 413 ? machine.ids.slice(4) : []));
  },
);

test('the second time it fails in another way: nothing is divided, nothing rejected', async () => {
  const machine = new Machine(numbered(8));
  machine.service.answer = (nth) =>
    nth === 2 ? refusal(422, 'one') : nth === 3 ? refusal(422, 'another') : null;
  const ended = await machine.session(machine.options({ chunkSize: 4 }), true);
  expect(machine.service.sent).toHaveLength(3);
  await agrees(machine, ended, new Set());
  expect([ended.summary.status, ended.exit, ended.summary.rows]).toEqual([
    'failed',
    Exit.jobFailed,
    { read: 8, filtered: 0, rejected: 0, merged: 0, unchanged: 0, submitted: 4, completed: 4, unsent: 4 },
  ]);
  // The way on.
  machine.service.answer = () => null;
  await found(machine, await machine.toTheEnd({ failed: true }, false), new Set());
});

test('a short job is reported short, and nothing of it is rejected or sent again', async () => {
  const machine = new Machine(numbered(8));
  machine.service.faults = { bad: new Set(['c-5']), how: 'short' };
  const ended = await machine.session(machine.options({ chunkSize: 4 }), true);
  expect([ended.exit, ended.summary.status]).toEqual([Exit.rejected, 'partial']);
  expect(ended.summary.rows).toMatchObject({ rejected: 0, submitted: 8, completed: 7 });
  expect(machine.service.sent).toHaveLength(2);
  // On request its rows go again, and are short again.
  const again = await machine.toTheEnd({ failed: true, chunkSize: 4 }, false);
  expect([again.exit, again.summary.rows]).toMatchObject([5, { rejected: 0, submitted: 8, completed: 7 }]);
  expect(machine.service.sent).toHaveLength(3);
  machine.service.faults = { bad: new Set(), how: 'short' };
  await found(machine, await machine.toTheEnd({ failed: true, chunkSize: 4 }, false), new Set());
});

describe('the failed requests of a finished run', () => {
  test('only they are sent again, and the run is then as a whole', async () => {
    const machine = new Machine(numbered(12));
    machine.service.faults = { bad: new Set(['c-5']), how: 'failed' };
    const first = await machine.session(machine.options({ chunkSize: 4, onFailure: 'stop' }), true);
    expect([first.exit, first.summary.status]).toEqual([Exit.jobFailed, 'failed']);
    machine.service.faults = { bad: new Set(), how: 'failed' };
    const last = await machine.session(
      machine.options({ chunkSize: 4, onFailure: 'stop', failed: true }),
      false,
    );
    await found(machine, last, new Set());
    expect(machine.service.sent.at(-1)).toEqual(['c-4', 'c-5', 'c-6', 'c-7']);
    expect(machine.service.sent).toHaveLength(4);
    expect(last.summary.run).toBe(first.summary.run);
    expect(last.summary.requests).toBe(4);
  });

  test('rows of refused ones leave the rejects file, which is replaced', async () => {
    const machine = new Machine(numbered(12));
    machine.service.faults = { bad: new Set(['c-5']), how: '422' };
    const flags = { chunkSize: 4, onFailure: 'continue' } as const;
    const first = await machine.session(machine.options(flags), true);
    expect(machine.rejected(first.summary.files[0]!.rejects_file)).toEqual(['c-4', 'c-5', 'c-6', 'c-7']);
    const last = await machine.session(
      machine.options({ ...flags, onFailure: 'isolate', failed: true }),
      false,
    );
    await found(machine, last, machine.service.faults.bad);
    expect(last.summary.files[0]!.rejects_file).toBe('companies.rejects.csv');
    expect(machine.rejected('companies.rejects.csv')).toEqual(['c-5']);
  });

  test('an untraceable one is sent again, and named', async () => {
    const machine = new Machine(numbered(8));
    machine.service.answer = (nth) => (nth === 2 ? reply(202, '{}') : null);
    const first = await machine.session(machine.options({ chunkSize: 4, onFailure: 'stop' }), true);
    expect(first.exit).toBe(Exit.rejected);
    const last = await machine.session(
      machine.options({ chunkSize: 4, onFailure: 'stop', failed: true }),
      false,
    );
    await found(machine, last, new Set());
    expect(last.summary.maybe_sent_twice).toMatchObject([{ first_line: 6, last_line: 9, rows: 4 }]);
  });

  test('what the run itself has sent later is left out', async () => {
    const machine = new Machine(['a', 'b', 'a', 'c']);
    machine.service.answer = () => null;
    machine.service.faults = { bad: new Set(['b']), how: 'failed' };
    await machine.session(machine.options({ chunkSize: 2, onFailure: 'stop' }), true);
    machine.service.faults = { bad: new Set(), how: 'failed' };
    const last = await machine.session(
      machine.options({ chunkSize: 2, onFailure: 'stop', failed: true }),
      false,
    );
    expect(machine.service.sent.at(-1)).toEqual(['b']);
    expect(machine.service.store.get('a')).toEqual({ nr: 2 });
    expect(last.summary.rows).toMatchObject({ submitted: 4, completed: 3 });
    expect(last.summary.rows.unsent).toBeUndefined();
    expect(last.summary.warnings.join()).toContain(`1 row not sent again; sent later by ${last.summary.run}`);
    expect(last.exit).toBe(Exit.rejected);
  });

  test('two that share ids go again in order', async () => {
    const machine = new Machine(['a', 'b', 'a', 'c', 'd', 'e']);
    machine.service.faults = { bad: new Set(['b', 'c']), how: 'failed' };
    await machine.session(machine.options({ chunkSize: 2, onFailure: 'stop' }), true);
    const last = await machine.session(
      machine.options({ chunkSize: 2, failed: true, concurrency: 8 }),
      false,
    );
    await found(machine, last, machine.service.faults.bad);
  });
});

test('a request that shares ids with a failed one waits until its rows at fault are found', async () => {
  const machine = new Machine(['x', 'y', 'a', 'bad', 'a', 'c']);
  machine.service.faults = { bad: new Set(['bad']), how: 'failed' };
  const ended = await machine.session(machine.options({ chunkSize: 2, concurrency: 8 }), true);
  await found(machine, ended, machine.service.faults.bad);
  expect(machine.service.sent.at(-1)).toEqual(['a', 'c']);
});

test('rows that merge into one item share its fate', async () => {
  const machine = new Machine(['x', 'y', 'a', 'bad', 'a', 'bad', 'b']);
  machine.service.faults = { bad: new Set(['bad']), how: '422' };
  const ended = await machine.session(machine.options({ chunkSize: 5 }), true);
  await found(machine, ended, machine.service.faults.bad);
  expect(ended.summary.rejected.map(({ line }) => line)).toEqual([5, 7]);
  expect(ended.summary.rejected[0]!.reason).toContain('invalid_item: not all items can be accepted');
});
