/**
 * The promise (contract §4), held against any run of luck: requests cut, sent, lost, halved, refused and resumed
 * after a stop or a crash, over as many sessions as it takes.
 */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type RequestRange, type RequestRecord, rangesOf } from '../../../src/engine/model/requests.js';
import { RunRequests, Totals } from '../../../src/engine/model/run-requests.js';
import { type FileRows, rangesIn } from '../../../src/engine/model.js';
import { countRows, maybeSentTwice } from '../../../src/engine/run/summary.js';
import { splitIntoChunks } from '../../../src/engine/send/chunker.js';
import { deliver } from '../../../src/engine/send/deliver.js';
import { nextStep, rulesOf } from '../../../src/engine/send/next.js';
import { Remembering } from '../../../src/engine/send/remembering.js';
import type { DeliverDeps } from '../../../src/engine/send/request-record.js';
import { Searches } from '../../../src/engine/send/searches.js';
import type { Answer } from '../../../src/engine/service/answer.js';
import { IdleClock } from '../../support/clock.js';
import { times } from '../../support/times.js';
import { ofInput } from '../support/cut.js';
import { batchesOf, duplicatesOf, idHash, type Row } from '../support/rows.js';

/** What happens to one attempt. */
interface Luck {
  /** Whether the service gets it, which only an acknowledgement tells. */
  arrives: boolean;
  answer: 'accepted' | 'untraceable' | 'lost' | 'unsent' | '429' | '413' | '422' | '401';
  after: 'go on' | 'stop' | 'crash';
}

const ACCEPTED: Luck = { arrives: true, answer: 'accepted', after: 'go on' };

const ANSWERS: Record<Luck['answer'], (n: number) => Answer> = {
  accepted: (n) => reply(202, `{"job_id":"job-${n}","status":"queued"}`),
  untraceable: () => reply(202, ''),
  lost: () => ({ type: 'lost', reason: 'connection reset' }),
  unsent: () => ({ type: 'unsent', reason: 'connection refused', tls: false }),
  429: () => reply(429, ''),
  413: () => reply(413, ''),
  422: () => reply(422, ''),
  401: () => reply(401, ''),
};

const reply = (status: number, body: string): Answer => ({
  type: 'reply',
  status,
  body,
  retryAfter: null,
  requestId: null,
  contentType: null,
});

class Crash extends Error {}

interface World {
  rows: Row[];
  unchanged: Set<bigint>;
  items: number;
  onFailure: 'stop' | 'continue';
  luck: Luck[];
}

/** Each row has a key of its own in its metadata, by which it is known again in a body. */
const keyOf = (row: number): string => `row-${row}`;

/** An import over as many sessions as its luck takes, and what came of it. */
class Import {
  /** Requests as they are on disk. */
  disk = new Map<number, RequestRecord>();
  /** How often the service got each row. */
  readonly got = new Map<number, number>();
  sessions = 0;
  #attempts = 0;
  readonly #luck: Luck[];

  constructor(private readonly world: World) {
    this.#luck = [...world.luck];
  }

  get records(): RequestRecord[] {
    return [...this.disk.values()].sort((a, b) => a.seq - b.seq);
  }

  get requests(): RunRequests {
    return new RunRequests(this.records);
  }

  get planned(): FileRows {
    const { rows } = this.world;
    return { read: rows.length, filtered: 0, rejected: rows.filter(({ rejected }) => rejected).length };
  }

  /** @returns whether it came to its end */
  async sit(): Promise<boolean> {
    this.sessions++;
    const { world } = this;
    const requests = new RunRequests(structuredClone(this.records));
    const stop = new AbortController();
    const searches = new Searches();
    let { items } = world;
    const deps = this.#deps(requests, stop, {
      mostItems: () => items,
      tooLarge: (refused) => {
        items = Math.min(items, Math.ceil(refused / 2));
      },
    });
    const chunks = splitIntoChunks(ofInput(0, batchesOf(world.rows, 4)), {
      kind: 'companies',
      limits: {
        bytes: 1_000_000,
        get items() {
          return items;
        },
      },
      duplicates: duplicatesOf(world.rows),
      isUnchanged: (prints, at) => world.unchanged.has(prints.ids[at]!),
      recorded: requests.all.filter(({ parent }) => parent === null),
      isSentAgain: (r) => nextStep(r, requests, rulesOf(deps.options)) !== null,
    });
    try {
      for await (const chunk of chunks) {
        if (stop.signal.aborted) return false;
        await deliver(chunk, deps, searches);
      }
    } catch (error) {
      if (error instanceof Crash || (error instanceof Error && 'exit' in error)) return false;
      throw error;
    }
    return !stop.signal.aborted;
  }

  #deps(
    requests: RunRequests,
    stop: AbortController,
    size: Pick<DeliverDeps, 'mostItems' | 'tooLarge'>,
  ): DeliverDeps {
    const { world } = this;
    return {
      run: 'run',
      isMoreToCome: () => false,
      sentLater: async () => null,
      doubtsOfReplaced: new Map(),
      remembering: new Remembering('companies', Buffer.from('key'), false),
      scope: { account: 'a', region: 'r', base_url: 'https://api.test' },
      state: {
        requests: {
          record: async (_run: string, _scope: unknown, _kind: unknown, record: RequestRecord) => {
            this.disk.set(record.seq, structuredClone(record));
          },
          recordAll: async (_run: string, _scope: unknown, _kind: unknown, all: readonly RequestRecord[]) => {
            for (const record of all) this.disk.set(record.seq, structuredClone(record));
          },
        },
        history: { ofRequest: async () => null },
        sends: { idsOf: async () => new BigUint64Array() },
      } as unknown as DeliverDeps['state'],
      client: {
        submit: async (_kind: unknown, body: Uint8Array) => this.#submit(Buffer.from(body).toString(), stop),
      } as unknown as DeliverDeps['client'],
      clock: new IdleClock(),
      random: () => 0,
      options: {
        retries: 2,
        retryDelayMs: 1,
        maxRetryAfterMs: 1,
        busyTimeoutMs: 1,
        wait: false,
        onFailure: world.onFailure,
      } as DeliverDeps['options'],
      ...size,
      requests,
      totals: new Totals(requests),
      inputs: [{ path: 'companies.csv', kind: 'companies' }],
      totalRows: world.rows.length,
      emit: (event) => {
        if (event.type === 'progress') expect(event.rows).toBe(requests.totals.submitted);
      },
      stop: stop.signal,
      abort: new AbortController().signal,
      reject: async () => {},
    };
  }

  #submit(body: string, stop: AbortController): Answer {
    const { arrives, answer, after } = this.#luck.shift() ?? ACCEPTED;
    const rows = this.world.rows.flatMap((row, i) => (body.includes(`"${keyOf(i)}"`) ? [{ row, i }] : []));
    for (const { i } of rows) {
      // Never again what was acknowledged, with a job or without, nor what was refused for good.
      expect(['intent', 'unknown', 'withdrawn', undefined]).toContain(this.#stateOf(i));
      if (arrives) this.got.set(i, (this.got.get(i) ?? 0) + 1);
    }
    if (after === 'crash') throw new Crash();
    if (after === 'stop') stop.abort('SIGINT');
    return ANSWERS[answer](++this.#attempts);
  }

  /** Of the request that has the row now, as it is on disk. */
  #stateOf(row: number): string | undefined {
    const has = ({ first_row, end_row }: RequestRange): boolean => first_row <= row && row < end_row;
    return this.requests.ends.find((r) => rangesOf(r).some(has))?.state;
  }
}

const aRow = (n: number): fc.Arbitrary<Row> =>
  fc.record({
    // Few ids, so that some stand more than once.
    id: fc.oneof(fc.constant(`c${n}`), fc.constantFrom('dup-1', 'dup-2')),
    metadata: fc.constant(`{"${keyOf(n)}":1}`),
    rejected: fc.integer({ min: 0, max: 5 }).map((die) => die === 0),
  });

const someLuck: fc.Arbitrary<Luck> = fc
  .record({
    arrives: fc.boolean(),
    answer: fc.constantFrom<Luck['answer']>(
      'accepted',
      'untraceable',
      'lost',
      'unsent',
      '429',
      '413',
      '422',
      '401',
    ),
    after: fc.constantFrom<Luck['after']>('go on', 'go on', 'go on', 'stop', 'crash'),
  })
  .map((luck) => {
    // What is read as an answer tells whether it arrived; only what is lost does not.
    if (luck.after === 'crash' || luck.answer === 'lost') return luck;
    return { ...luck, arrives: luck.answer === 'accepted' || luck.answer === 'untraceable' };
  });

const aWorld: fc.Arbitrary<World> = fc.integer({ min: 0, max: 24 }).chain((n) =>
  fc.record({
    rows: fc.tuple(...Array.from({ length: n }, (_, i) => aRow(i))),
    unchanged: fc
      .subarray(Array.from({ length: n }, (_, i) => idHash(`c${i}`)))
      .map((ids) => new Set<bigint>(ids)),
    items: fc.integer({ min: 1, max: 8 }),
    onFailure: fc.constantFrom('stop', 'continue'),
    luck: fc.array(someLuck, { maxLength: 14, size: 'max' }),
  }),
);

test('every row ends as one thing, nothing acknowledged is sent again, and what may be there twice is named', async () => {
  let [resumed, twice] = [0, 0];
  await fc.assert(
    fc.asyncProperty(aWorld, async (world) => {
      const { rows } = world;
      const run = new Import(world);
      for (let done = false; !done; ) {
        done = await run.sit();
        const counts = countRows(run.planned, run.requests);
        expect(Math.min(...Object.values(counts))).toBeGreaterThanOrEqual(0);
      }
      if (run.sessions > 1) resumed++;

      const { unsent, rejected, merged, unchanged, submitted } = countRows(run.planned, run.requests);
      expect(unsent).toBeUndefined();
      const refused = rejected - run.planned.rejected;
      const tooLarge = world.luck.some(({ answer }) => answer === '413');
      if (world.onFailure === 'stop' && !tooLarge) expect(refused).toBe(0);
      const repeated = duplicatesOf(rows).repeated;
      const skipped = rows.filter(
        (row) => !row.rejected && world.unchanged.has(idHash(row.id)) && !repeated.has(idHash(row.id)),
      );
      expect(unchanged).toBe(skipped.length);
      expect(submitted + merged + refused).toBe(rows.length - run.planned.rejected - skipped.length);

      // What the service has: all that was to be sent, and beyond once only what the report names.
      const named = maybeSentTwice(run.requests, ['a.csv'])
        .flatMap(rangesIn)
        .map(({ first_line, last_line }) => [first_line, last_line]);
      for (const [i, row] of rows.entries()) {
        const got = run.got.get(i) ?? 0;
        if (row.rejected || skipped.includes(row)) expect([i, got]).toEqual([i, 0]);
        else if (refused === 0) expect(got).toBeGreaterThanOrEqual(1);
        if (got < 2) continue;
        twice++;
        expect(named.some(([first, last]) => first! <= i + 2 && i + 2 <= last!)).toBe(true);
      }
    }),
    { numRuns: times(60) },
  );
  // Luck of all kinds was tried.
  expect(resumed).toBeGreaterThan(times(10));
  expect(twice).toBeGreaterThan(times(10));
});
