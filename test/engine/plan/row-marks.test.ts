/** Two bits a row say the same as a list of all rows. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { RowMarks } from '../../../src/engine/plan/row-marks.js';
import { emptyColumns, type ItemBatch } from '../../../src/engine/read/batch.js';

type State = 'changed' | 'unchanged' | 'absent';

/** An item of a byte for each of the rows. */
function itemsOf(rows: readonly number[]): ItemBatch {
  const columns = { ...emptyColumns(rows.length), rows: Float64Array.from(rows) };
  const ends = Uint32Array.from(rows, (_, at) => at + 1);
  return { ...columns, items: new Uint8Array(rows.length), ends, unchanged: null, read: 0, rejected: [] };
}

const rowsIn = (states: readonly State[], state: State): number[] =>
  states.flatMap((each, row) => (each === state ? [row] : []));

/** As a scan tells them, so many rows at a time. */
function marksOf(states: readonly State[], size: number): RowMarks {
  const marks = new RowMarks();
  for (let first = 0; first < states.length; first += size) {
    const part = states.slice(first, first + size);
    const changed = itemsOf(rowsIn(part, 'changed').map((row) => first + row));
    const runs = rowsIn(part, 'unchanged').flatMap((row) => [row, 1]);
    marks.add({ changed, runs: Uint32Array.from(runs), first });
  }
  return marks;
}

/** A letter for each row as it comes out again, with the items of so many rows at a time. */
async function among(marks: RowMarks, rows: number, size: number): Promise<string> {
  const wanted = Array.from({ length: rows }, (_, row) => row).filter(marks.isChanged);
  async function* built(): AsyncGenerator<ItemBatch> {
    for (let at = 0; at < wanted.length; at += size) yield itemsOf(wanted.slice(at, at + size));
  }
  const found = Array<string>(rows).fill('-');
  let next = 0;
  for await (const { rows, unchanged, ends, items } of marks.among(built())) {
    expect(ends.at(-1)).toBe(items.length);
    for (const [at, first] of rows.entries()) {
      const run = unchanged![at]!;
      expect(first).toBeGreaterThanOrEqual(next);
      next = first + (run || 1);
      found.fill(run === 0 ? 'C' : 'u', first, next);
    }
  }
  return found.join('');
}

const LETTERS = { changed: 'C', unchanged: 'u', absent: '-' };
const letters = (states: readonly State[]): string => states.map((state) => LETTERS[state]).join('');

it('all accepted rows come in order, as they were told', async () => {
  const stretch = fc.tuple(
    fc.constantFrom<State>('changed', 'unchanged', 'unchanged', 'absent'),
    fc.integer({ min: 1, max: 9 }),
  );
  const size = fc.integer({ min: 1, max: 20 });
  await fc.assert(
    fc.asyncProperty(fc.array(stretch, { maxLength: 30 }), size, size, async (stretches, read, built) => {
      const states = stretches.flatMap(([state, rows]) => Array<State>(rows).fill(state));
      expect(await among(marksOf(states, read), states.length, built)).toEqual(letters(states));
    }),
  );
});

it.each([0, 70_000, 139_999])('also many thousands, of which row %i alone has changed', async (changed) => {
  const states = Array<State>(140_000).fill('unchanged');
  states[changed] = 'changed';
  states[90_000] = 'absent';
  expect(await among(marksOf(states, 700), states.length, 10)).toEqual(letters(states));
});
