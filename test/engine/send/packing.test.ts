/** Requests packed from several inputs of a kind: the same bodies as of one input, and each row's place is kept. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RequestRecord } from '../../../src/engine/model/requests.js';
import { RunRequests } from '../../../src/engine/model/run-requests.js';
import {
  type Chunk,
  rangesToRecord,
  rowsIn,
  rowsToRecord,
  serialize,
} from '../../../src/engine/send/chunk.js';
import { type ChunkRules, type InputBatch, splitIntoChunks } from '../../../src/engine/send/chunker.js';
import { nextStep, rulesOf } from '../../../src/engine/send/next.js';
import { divide, leave, pick } from '../../../src/engine/send/pick.js';
import { Remembering } from '../../../src/engine/send/remembering.js';
import { collected } from '../../support/collected.js';
import { cut, numbered, ofInput, rowsOf } from '../support/cut.js';
import { batchesOf, duplicatesOf, idHash, itemOf, type Row, recordedRange } from '../support/rows.js';

/** Chunks of inputs 1, 2, …, so that no place is the number of an input by accident. */
async function packed(
  inputs: readonly Row[][],
  over: Partial<ChunkRules> = {},
  batch?: number,
): Promise<Chunk[]> {
  async function* all(): AsyncGenerator<InputBatch> {
    for (const [index, rows] of inputs.entries()) yield* ofInput(index + 1, batchesOf(rows, batch));
  }
  const rules: ChunkRules = {
    kind: 'companies',
    limits: { items: 1_000, bytes: 1_000_000 },
    duplicates: duplicatesOf(inputs.flat()),
    isUnchanged: null,
    recorded: [],
    ...over,
  };
  const chunks = await collected(splitIntoChunks(all(), rules));
  return chunks;
}

test('what is left out stays with its input where a chunk is divided between two', async () => {
  const [chunk] = await packed([numbered(2), rowsOf('x', 'c2', 'c3')], {});
  const rest = leave(chunk!, (id) => (id === idHash('x') ? 'tuesday' : null));
  const halves = divide(rest)!.map((ranges) => pick(rest, ranges));
  expect(halves.map(({ parts }) => parts.map(({ input }) => input))).toEqual([[1], [2]]);
  expect(halves.map(({ leftOut }) => leftOut.map(({ input, row }) => [input, row]))).toEqual([[], [[2, 0]]]);
});

test('rows of two inputs that are left out of a half are each on one line', async () => {
  const rows = ['a', 'c', 'b', 'd', 'a'];
  const [chunk] = await packed([rowsOf(...rows, 'x'), rowsOf(...rows, 'y')]);
  const [half] = divide(chunk!)!;
  // One after the other, and the later rows first.
  const rest = ['c', 'a'].reduce(
    (rows, id) => leave(rows, (own) => (own === idHash(id) ? 'tuesday' : null)),
    pick(chunk!, half),
  );
  const { leftOut } = rowsToRecord(rest);
  const own = rest.leftOut.map(({ input, line }) => [input, line]);
  expect(own.length).toBeGreaterThan(5);
  expect(
    leftOut.lines.flatMap(({ input, lines }) => [...Array.from(lines, (line) => [input, line])]),
  ).toEqual(own);
});

const STOP = rulesOf({ onFailure: 'stop', isolateJobs: 1, wait: true });

/** Input and row of each item. */
const placesOf = (chunk: Chunk): [number, number][] =>
  chunk.parts.flatMap(({ input }, part) =>
    [...rowsIn(chunk, part)].map((row): [number, number] => [input, row]),
  );

const bodies = (chunks: readonly Chunk[]): string[] =>
  chunks.map((chunk) => serialize(chunk).body.toString());

function recorded(chunk: Chunk, seq: number, state: RequestRecord['state']): RequestRecord {
  const [first, ...more] = rangesToRecord(chunk);
  return { ...recordedRange(0, 1, { state }), ...first!, seq, rows: chunk.ends.length, more };
}

test('a request takes what the end of one input leaves of it from the next', async () => {
  const rows = numbered(7);
  const chunks = await packed([rows.slice(0, 3), [], rows.slice(3, 4), rows.slice(4)], {
    limits: { items: 5, bytes: 1_000_000 },
  });
  expect(chunks.map(({ parts }) => parts)).toEqual([
    [
      { input: 1, first_row: 0, end_row: 3, from: 0 },
      { input: 3, first_row: 0, end_row: 1, from: 3 },
      { input: 4, first_row: 0, end_row: 1, from: 4 },
    ],
    [{ input: 4, first_row: 1, end_row: 3, from: 0 }],
  ]);
  expect(rangesToRecord(chunks[0]!)).toEqual([
    { input: 1, first_row: 0, end_row: 3, first_line: 2, last_line: 4, rows: 3 },
    { input: 3, first_row: 0, end_row: 1, first_line: 2, last_line: 2, rows: 1 },
    { input: 4, first_row: 0, end_row: 1, first_line: 2, last_line: 2, rows: 1 },
  ]);
});

test('the last content of a repeated id is remembered, up to the bound, however often it repeats', async () => {
  const frame = itemOf({ id: 'same', metadata: '{"text":""}' }).length;
  const text = 'x'.repeat(16 * 1024 * 1024 - 256 - frame);
  const rows = Array.from({ length: 2 }, (): Row => ({ id: 'same', metadata: `{"text":"${text}"}` }));
  const remembering = new Remembering('companies', Buffer.from('key'), false);
  const chunks = await cut(rows, { limits: { items: 1, bytes: 2 * text.length } });
  expect(chunks.map((chunk) => remembering.printsOf(chunk).records[0] === 0n)).toEqual([true, false]);
});

describe('any rows in any inputs', () => {
  const aWorld = fc.record({
    rows: fc.array(fc.constantFrom('plain', 'again', 'unchanged', 'rejected'), { maxLength: 40 }),
    breaks: fc.array(fc.nat({ max: 40 }), { maxLength: 6 }),
    items: fc.integer({ min: 1, max: 9 }),
    batch: fc.integer({ min: 1, max: 9 }),
    states: fc.array(
      fc.constantFrom('intent', 'unknown', 'acknowledged', 'settled', 'rejected', 'withdrawn' as const),
      { maxLength: 12 },
    ),
    later: fc.integer({ min: 1, max: 9 }),
  });

  test('are packed as those of one input, and repeated as they were', async () => {
    await fc.assert(
      fc.asyncProperty(aWorld, async ({ rows: are, breaks, items, batch, states, later }) => {
        const rows = are.map(
          (what, i): Row => ({ id: what === 'again' ? 'same' : `c${i}`, rejected: what === 'rejected' }),
        );
        const unchanged = new Set(are.flatMap((what, i) => (what === 'unchanged' ? [idHash(`c${i}`)] : [])));
        const isUnchanged: ChunkRules['isUnchanged'] = (prints, at) => unchanged.has(prints.ids[at]!);
        const edges = [0, ...breaks.filter((at) => at < rows.length).sort((a, b) => a - b), rows.length];
        const inputs = edges.slice(1).map((to, i) => rows.slice(edges[i], to));
        const rules = { limits: { items, bytes: 1_000_000 }, isUnchanged };

        const whole = await cut(rows, rules, batch);
        const chunks = await packed(inputs, rules, batch);
        expect(bodies(chunks)).toEqual(bodies(whole));
        expect(chunks.map((chunk) => chunk.unchanged)).toEqual(whole.map((chunk) => chunk.unchanged));
        const position = ([input, row]: [number, number]): number => edges[input - 1]! + row;
        expect(chunks.map((chunk) => placesOf(chunk).map(position))).toEqual(whole.map((c) => [...c.rows]));

        // A later session repeats what is unknown or was not taken, leaves out what was answered, and cuts the rest.
        const earlier = chunks.slice(0, states.length).map((c, i) => recorded(c, i + 1, states[i]!));
        const again = await packed(inputs, {
          ...rules,
          limits: { items: later, bytes: 1_000_000 },
          recorded: earlier.toReversed(), // in any order
          isSentAgain: (r) => nextStep(r, new RunRequests(earlier), STOP) !== null,
        });
        const open = chunks.filter(
          (_, i) => !['acknowledged', 'settled', 'rejected'].includes(states[i] ?? ''),
        );
        expect(again.flatMap(placesOf)).toEqual(open.flatMap(placesOf));
        for (const chunk of again) {
          if (!chunk.recorded) {
            expect(chunk.ends.length).toBeLessThanOrEqual(later);
            continue;
          }
          const before = chunks[chunk.recorded.seq - 1]!;
          expect([chunk.parts, bodies([chunk])]).toEqual([before.parts, bodies([before])]);
        }
      }),
    );
  });
});
