/**
 * For any sequence of answers, interruptions and failing disks: the numbers add up, the exit code follows from how
 * it ended, and after resumes everything has arrived exactly as a model says, which is a few lines long: upserts in
 * the order of the rows.
 * Long because the model and the world that it is held against stand together.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { carryOut } from '../../src/engine/course.js';
import {
  Exit,
  InterruptedError,
  ProfilesError,
  StateError,
  WaitTimeoutError,
} from '../../src/engine/errors.js';
import type { ImportEvent } from '../../src/engine/events.js';
import { ID_FIELD, type Kind, type RowCounts, rangesIn, type Summary } from '../../src/engine/model.js';
import { type ImportOptions, importNumbers } from '../../src/engine/options.js';
import { NO_RULES } from '../../src/engine/read/index.js';
import type { ImportDeps, ImportResult } from '../../src/engine/run/deps.js';
import { OUTCOMES, type Outcome } from '../../src/engine/run/outcome.js';
import { INPUTS, type Start } from '../../src/engine/run/start.js';
import type { RequestRecord } from '../../src/engine/state/requests.js';
import type { State } from '../../src/engine/state/state.js';
import { scratch } from '../support/cli.js';
import { IdleClock } from '../support/clock.js';
import { openState } from '../support/state.js';
import { type Arrival, type Fate, type Move, type Script, ScriptedService } from './scripted.js';
import { failing, seeded, times } from './support.js';

interface Row {
  /** Empty: an invalid row. */
  id: string;
  name: string;
}

const row: fc.Arbitrary<Row> = fc.record({
  id: fc.oneof(
    { weight: 12, arbitrary: fc.integer({ min: 1, max: 14 }).map((n) => `id-${n}`) },
    fc.constant(''),
  ),
  name: fc.integer({ min: 1, max: 3 }).map((n) => `name ${n}`),
});
const statuses = [400, 401, 404, 409, 413, 413, 422, 429, 500, 503] as const;
const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Move>('accept') },
  fc.constantFrom<Move>('accept, answer lost', 'lost', 'unsent', 'untraceable'),
  fc.constantFrom(...statuses).map((status): Move => ({ status })),
  fc.constantFrom<Move>('interrupt', 'abort'),
);
const fate: fc.Arbitrary<Fate> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Fate>('completed') },
  fc.constantFrom<Fate>('failed', 'short', 'missing', 'unknown status'),
);
const script: fc.Arbitrary<Script> = fc.record({
  moves: fc.array(move, { maxLength: 12 }),
  fates: fc.array(fate, { maxLength: 6 }),
});
/** One session: what it meets with, and after how many commits its disk fails, if it does. */
const session = fc.record({ script, disk: fc.option(fc.integer({ min: 0, max: 12 }), { freq: 3 }) });
const oneImport = fc.record({
  companies: fc.array(row, { minLength: 1, maxLength: 14 }),
  users: fc.option(fc.array(row, { minLength: 1, maxLength: 8 }), { freq: 3 }),
  chunkSize: fc.integer({ min: 1, max: 6 }),
  concurrency: fc.constantFrom(1, 2, 8),
  retries: fc.integer({ min: 0, max: 3 }),
  onFailure: fc.constantFrom('stop' as const, 'continue' as const),
  changedOnly: fc.boolean(),
  wait: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, fc.constant(false)),
  sessions: fc.array(session, { minLength: 1, maxLength: 3 }),
});
type OneImport = typeof oneImport extends fc.Arbitrary<infer T> ? T : never;

const SCOPE = { account: 'a', region: 'test', base_url: 'http://service.test' };

/** One machine: a folder, a state, and the service behind the script. */
class Machine {
  readonly folder = scratch();
  readonly service = new ScriptedService();
  readonly clock = new IdleClock();
  readonly #random = seeded(1);

  #deps(state: State, script: Script): ImportDeps {
    const [stop, abort] = [new AbortController(), new AbortController()];
    const client = this.service.client(script, { stop, abort });
    return {
      state,
      scope: SCOPE,
      client: async () => client,
      service: { account: 'a', region: 'test', base_url: 'http://service.test' },
      clock: this.clock,
      random: this.#random,
      cwd: this.folder,
      platform: 'linux',
      stdin: () => Readable.from([]),
      download: { timeoutMs: 1_000, proxy: {} },
      threads: 0,
      stop: stop.signal,
      abort: abort.signal,
    };
  }

  async records(run: string): Promise<RequestRecord[]> {
    const state = await openState(join(this.folder, 'state'), () => this.clock.now());
    try {
      return await state.requests.of(run);
    } finally {
      await state.close();
    }
  }

  /** One session: of a new run, or of the one given. */
  async sit(
    options: ImportOptions,
    { script, disk }: { script: Script; disk: number | null },
    run: string | null = null,
  ): Promise<ImportResult> {
    const state = await openState(join(this.folder, 'state'), () => this.clock.now());
    try {
      const earlier = run === null ? null : (await state.runs.all()).find((r) => r.run === run)!;
      const start: Start = earlier ? { from: 'run', run: earlier, inputs: [], isSent: false } : INPUTS;
      const deps = this.#deps(disk === null ? state : failing(state, disk), script);
      const events = carryOut(start, options, deps);
      const seen: ImportEvent[] = [];
      for (;;) {
        const next = await events.next();
        if (next.done) return next.value;
        seen.push(next.value);
      }
    } finally {
      await state.close();
    }
  }
}

function addsUp(rows: RowCounts): void {
  const { read, rejected, merged, unchanged, submitted, unknown = 0, unsent = 0, completed } = rows;
  expect(rejected + merged + unchanged + submitted + unknown + unsent).toBe(read);
  for (const count of Object.values(rows)) expect(count).toBeGreaterThanOrEqual(0);
  expect(completed).toBeLessThanOrEqual(submitted);
}

/** The file of outcomes counts what the summary counts. False where an aborted session left none. */
function outcomesAgree(path: string, { rows, jobs }: Summary): boolean {
  if (!existsSync(path)) return false;
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  rmSync(path);
  const counts = Object.fromEntries(OUTCOMES.map((outcome) => [outcome, 0])) as Record<Outcome, number>;
  for (const line of lines) counts[(JSON.parse(line) as { outcome: Outcome }).outcome]++;
  const { completed, submitted, failed, short, ...others } = counts;
  expect({ ...others, submitted: completed + submitted + failed + short }).toEqual({
    filtered: rows.filtered,
    rejected: rows.rejected,
    merged: rows.merged,
    unchanged: rows.unchanged,
    unknown: rows.unknown ?? 0,
    unsent: rows.unsent ?? 0,
    submitted: rows.submitted,
  });
  // A short job completes some of its rows, and does not say which.
  const isShort = jobs.some(
    ({ status, completed_rows, total_rows }) => status === 'completed' && completed_rows! < total_rows!,
  );
  if (isShort) expect(completed).toBeLessThanOrEqual(rows.completed);
  else expect([completed, short]).toEqual([rows.completed, 0]);
  return true;
}

/** The contract's table of exit codes, from the summary and the failure. */
function exitFollows({ summary, exit, failure }: ImportResult): void {
  const { status, rows, jobs, resume } = summary;
  expect(resume === null).toBe(failure === null);
  if (failure === null) expect([rows.unknown, rows.unsent]).toEqual([undefined, undefined]);
  if (failure instanceof InterruptedError) {
    expect([status, exit]).toEqual(['interrupted', Exit.interrupted]);
  } else if (failure instanceof WaitTimeoutError) {
    expect(status).toBe('timed_out');
  } else if (failure !== null) {
    expect(failure).toBeInstanceOf(ProfilesError);
    expect([status, exit]).toEqual(['stopped', (failure as ProfilesError).exit]);
  } else if (jobs.some((job) => job.status === 'failed')) {
    expect([status, exit]).toEqual(['failed', Exit.jobFailed]);
  } else {
    const exits = { completed: Exit.done, submitted: Exit.done, partial: Exit.rejected } as Record<
      string,
      number
    >;
    expect(exit).toBe(exits[status]);
  }
}

/** Columns of a row; its number makes every request body another one. */
const csv = (kind: Kind, rows: readonly Row[]): string =>
  `${ID_FIELD[kind]},name,nr\n${rows.map((r, nr) => `${r.id},${r.name},${nr}\n`).join('')}`;

function optionsOf(one: OneImport, machine: Machine): ImportOptions {
  writeFileSync(join(machine.folder, 'companies.csv'), csv('companies', one.companies));
  if (one.users) writeFileSync(join(machine.folder, 'users.csv'), csv('users', one.users));
  const { chunkSize, concurrency, retries, onFailure, changedOnly, wait } = one;
  return {
    ...importNumbers({}),
    paths: one.users ? ['companies.csv', 'users.csv'] : ['companies.csv'],
    rules: NO_RULES,
    chunkSize,
    concurrency,
    retries,
    onFailure,
    changedOnly,
    refreshAfterMs: null,
    maxChanged: null,
    trackKeys: false,
    wait,
    waitTimeoutMs: null,
    intervalMs: null,
    invalid: 'any',
    rejects: null,
    outcomes: join(machine.folder, 'outcomes.ndjson'),
    dryRun: false,
    checkProperties: false,
    full: false,
    resume: false,
    failed: false,
  };
}

const HEALTHY = { script: { moves: [], fates: [] }, disk: null };

/** What the store must hold of these rows: their upserts, in order. */
function model(rows: readonly Row[]): Map<string, object> {
  return new Map(rows.map(({ id, name }, nr) => [id, { name, nr }] as const).filter(([id]) => id !== ''));
}

/** The rows of one import against the requests that arrived for it, over all its sessions. */
function arrived(
  one: OneImport,
  summary: Summary,
  records: readonly RequestRecord[],
  arrivals: readonly Arrival[],
): void {
  const inputs = [one.companies, one.users ?? []];
  for (const [input, kind] of (['companies', 'users'] as const).entries()) {
    const rows = inputs[input]!;
    const mine = arrivals.filter((arrival) => arrival.kind === kind && arrival.accepted);
    // A divided request has no rows of its own any more.
    const own = records.filter((r) => r.state !== 'withdrawn' && !records.some((of) => of.parent === r.seq));
    const covering = rows.map((_, nr) =>
      own.filter((r) => r.input === input && r.first_row <= nr && nr < r.end_row),
    );
    for (const [nr, { id }] of rows.entries()) {
      if (id === '') continue;
      const where = `${kind}, row ${nr}, ${id}`;
      const [record, ...more] = covering[nr]!;
      expect(more, `${where}: in two requests`).toEqual([]);
      if (summary.resume === null) expect(record?.state, where).toMatch(/settled|acknowledged|rejected/);
      const times = mine.filter(({ ids }) => ids.includes(id)).length;
      const accepted = record?.state === 'settled' || record?.state === 'acknowledged';
      if (accepted && record.unchanged === 0) expect(times, where).toBeGreaterThan(0);
      const standing = rows.filter((other) => other.id === id).length;
      const line = nr + 2;
      const named = summary.maybe_sent_twice
        .flatMap(rangesIn)
        .some((r) => r.first_line <= line && line <= r.last_line);
      if (standing === 1 && !named) expect(times, `${where}: not named`).toBeLessThan(2);
    }
  }
}

/** Bodies that arrived again after they were acknowledged. */
function resent(arrivals: readonly Arrival[]): string[] {
  const done = new Set<string>();
  return arrivals.flatMap(({ body, acknowledged }) => {
    const again = done.has(body);
    if (acknowledged) done.add(body);
    return again ? [body] : [];
  });
}

async function holds(imports: readonly OneImport[]): Promise<void> {
  const machine = new Machine();
  for (const one of imports) {
    const options = optionsOf(one, machine);
    let run: string | null = null;
    let first = machine.service.arrivals.length;
    let failed = false;
    for (const sat of [...one.sessions, ...Array(8).fill(HEALTHY)]) {
      if (run === null) {
        first = machine.service.arrivals.length;
        machine.service.begin();
      }
      failed ||= sat.disk !== null;
      const ended: ImportResult | null = await machine.sit(options, sat, run).catch((error: unknown) => {
        // A disk that fails before there is a run, or at its very end: it is imported again, or resumed.
        if (error instanceof StateError) return null;
        throw error;
      });
      if (ended === null) {
        rmSync(options.outcomes!, { force: true }); // of that session: one that is aborted leaves it as it is
        continue;
      }
      addsUp(ended.summary.rows);
      outcomesAgree(options.outcomes!, ended.summary);
      exitFollows(ended);
      run = ended.summary.run;
      const arrivals = machine.service.arrivals.slice(first);
      arrived(one, ended.summary, await machine.records(run!), arrivals);
      // An acknowledgement that could not be recorded is one that nobody knows of.
      if (!failed) expect(resent(arrivals)).toEqual([]);
      if (one.wait && !failed) expect(machine.service.overtaken).toEqual([]);
      if (ended.summary.resume === null) {
        const { rejected, completed, submitted } = ended.summary.rows;
        const perfect = rejected === invalidOf(one) && completed === submitted;
        if (perfect) stores(one, machine.service);
        break;
      }
    }
  }
  // Afterwards, a clean import of the last input sends what is missing and nothing needs to be said about it.
  const last = imports.at(-1)!;
  const options = { ...optionsOf(last, machine), changedOnly: true, wait: true };
  const { summary, exit } = await machine.sit(options, HEALTHY);
  addsUp(summary.rows);
  expect(outcomesAgree(options.outcomes!, summary)).toBe(true);
  expect(summary.rows.rejected).toBe(invalidOf(last));
  expect(exit).toBe(invalidOf(last) > 0 ? Exit.rejected : Exit.done);
  stores(last, machine.service);
}

const invalidOf = ({ companies, users }: OneImport): number =>
  [...companies, ...(users ?? [])].filter(({ id }) => id === '').length;

/** The store holds what the rows of an import come to. */
function stores(one: OneImport, { store: { companies, users } }: ScriptedService): void {
  for (const [id, profile] of model(one.companies)) expect([id, companies.get(id)]).toEqual([id, profile]);
  for (const [id, profile] of model(one.users ?? [])) expect([id, users.get(id)]).toEqual([id, profile]);
}

test('whatever happens, the numbers add up and everything arrives', async () => {
  const numRuns = times(10);
  await fc.assert(fc.asyncProperty(fc.array(oneImport, { minLength: 1, maxLength: 3 }), holds), {
    numRuns,
    ...(process.env.LOSS_SEED ? { seed: Number(process.env.LOSS_SEED) } : {}),
    endOnFailure: process.env.LOSS_NO_SHRINK !== undefined,
  });
});
