/** A state in a scratch folder, closed and removed after the test. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { test as base } from 'vitest';
import type { FingerprintColumns, FingerprintIndex } from '../../../../src/engine/fingerprints/index.js';
import type { RequestRecord } from '../../../../src/engine/model/requests.js';
import type { Kind } from '../../../../src/engine/model.js';
import { UNTRIED } from '../../../../src/engine/send/request-record.js';
import type { Job } from '../../../../src/engine/service/contract.js';
import type { IntentRows } from '../../../../src/engine/state/backend.js';
import type { Scope, State } from '../../../../src/engine/state/state.js';
import { onPostgres, openState, stateSql } from '../../../support/state.js';

/** The wall clock, set by hand. */
export class Calendar {
  time = Date.UTC(2026, 0, 15, 12, 0, 0);
  now = (): number => this.time;
  pass(ms: number): void {
    this.time += ms;
  }
  text(): string {
    return new Date(this.time).toISOString();
  }
}

export interface StateFixtures {
  folder: string;
  clock: Calendar;
  state: State;
  /** Opens the folder's state again, as another process would; closed after the test. */
  reopen: () => Promise<State>;
  /** The state of another machine. */
  elsewhere: State;
  /** A second connection to the database: what it reads is on disk. */
  disk: Disk;
}

export const test = base.extend<StateFixtures>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of the fixtures from the pattern
  folder: async ({}, use) => {
    const folder = mkdtempSync(join(tmpdir(), 'profiles-state-'));
    await use(join(folder, 'state'));
    rmSync(folder, { recursive: true });
  },
  // biome-ignore lint/correctness/noEmptyPattern: as above
  clock: async ({}, use) => use(new Calendar()),
  reopen: async ({ folder, clock }, use) => {
    const opened: State[] = [];
    await use(async () => {
      const state = await openState(folder, clock.now);
      opened.push(state);
      return state;
    });
    for (const state of opened) await closeAgain(state);
  },
  state: async ({ reopen }, use) => use(await reopen()),
  elsewhere: async ({ folder, clock }, use) => {
    const state = await openState(`${folder}-elsewhere`, clock.now);
    await use(state);
    await state.close();
  },
  disk: async ({ state }, use) => {
    if (onPostgres) {
      await use(diskOf(state.folder));
      return;
    }
    const db = new DatabaseSync(join(state.folder, 'state.db'), { readOnly: true });
    await use(db);
    db.close();
  },
});

/** Statements without parameters, on a connection of their own. */
interface Disk {
  prepare(sql: string): { all(): unknown[]; get(): unknown };
}

const diskOf = (folder: string): Disk => ({
  prepare(sql) {
    const all = (): unknown[] =>
      JSON.parse(stateSql(folder, `SELECT coalesce(json_agg(t), '[]') FROM (${sql}) AS t`)) as unknown[];
    return { all, get: () => all()[0] };
  },
});

/** A test may have closed it. */
async function closeAgain(state: State): Promise<void> {
  try {
    await state.close();
  } catch (error) {
    if (!/not open/.test(String(error))) throw error;
  }
}

export const SCOPE: Scope = { account: 'production', region: 'eu', base_url: 'https://api.test' };

export const RUN = '20260115-120000-abcd';

/** A run of one file of companies, unless said otherwise. */
export function aRun(
  over: Partial<Parameters<State['runs']['start']>[0]> = {},
): Parameters<State['runs']['start']>[0] {
  return {
    run: RUN,
    scope: SCOPE,
    named_account: 'production',
    identity: 'i'.repeat(64),
    status: 'running',
    finished: false,
    item_format: 1,
    machine: '',
    replaces: [],
    options: { chunkSize: 100 },
    started_at: '2026-01-15T12:00:00.000Z',
    inputs: [
      {
        path: 'companies.csv',
        location: '/data/companies.csv',
        kind: 'companies',
        digest: 'd'.repeat(64),
        types: [],
        rows: { read: 0, filtered: 0, rejected: 0 },
      },
    ],
    ...over,
  };
}

/** The intent of a first request of three rows. */
export function aRequest(over: Partial<RequestRecord> = {}): RequestRecord {
  return {
    seq: 1,
    parent: null,
    input: 0,
    first_row: 0,
    end_row: 3,
    first_line: 2,
    last_line: 4,
    more: [],
    rows: 3,
    merged: 0,
    unchanged: 0,
    left_out: 0,
    left_out_by: null,
    overtaken: 0,
    doubtful: 0,
    bytes: 120,
    digest: 'b'.repeat(64),
    ...UNTRIED,
    ...over,
  };
}

export const aJob = (job_id: string, over: Partial<Job> = {}): Job => ({ job_id, status: 'queued', ...over });

/** What an intent records of its rows. @param shared ids that appear more than once in the inputs */
export const rowsOf = (
  prints: FingerprintColumns,
  shared: readonly number[] = [],
  rows: IntentRows['rows'] = null,
): IntentRows => ({ prints, rows, shared: new Set(shared.map(BigInt)) });

type Pairs = readonly (readonly [id: number, content: number])[];

/** What a test does with the requests and jobs of one run and kind. */
export const sender = (
  state: State,
  { run = RUN, scope = SCOPE, kind = 'companies' as Kind }: { run?: string; scope?: Scope; kind?: Kind } = {},
) => ({
  start: () => state.runs.start(aRun({ run, scope })),
  /** @param pairs its rows, for an intent. @param shared ids that appear more than once in the inputs */
  record: (request: RequestRecord, pairs: Pairs | null = null, shared: readonly number[] = []) =>
    state.requests.record(run, scope, kind, request, pairs && rowsOf(printsOf(...pairs), shared)),
  ends: (job: string, seen: Partial<Job> = { status: 'completed' }) =>
    state.jobs.update(scope, aJob(job, seen)),
  /** Begins the run with one request, and sees its job completed. */
  async completes(pairs: Pairs, job = run): Promise<void> {
    await this.start();
    await this.record(acknowledged(aJob(job)), pairs);
    await this.ends(job);
  },
});

/** An acknowledged request, with its job. */
export function acknowledged(job: Job, over: Partial<RequestRecord> = {}): RequestRecord {
  return aRequest({ state: 'acknowledged', job_id: job.job_id, job, ...over });
}

/** Ids with a content each, and the record that it was made of. */
export function printsOf(...pairs: Pairs): FingerprintColumns {
  return {
    ids: BigUint64Array.from(pairs, ([id]) => BigInt(id)),
    contents: BigUint64Array.from(pairs, ([, content]) => BigInt(content)),
    // It names its id: no two ids have the same one.
    records: BigUint64Array.from(pairs, ([id, content]) => (BigInt(id) << 32n) | BigInt(content)),
  };
}

/** Content of each of these ids as the index has it; ids without one are left out. */
export function contentsOf(
  index: FingerprintIndex,
  ids: readonly number[],
  contents: readonly number[],
): Map<number, number> {
  const found = new Map<number, number>();
  for (const id of ids) {
    for (const content of contents) {
      const prints = printsOf([id, content]);
      if (index.matches(prints, 0)) found.set(id, content);
    }
  }
  return found;
}
