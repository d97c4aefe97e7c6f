/** Rows in few bytes: what goes in comes out, and an id is found where it is, and nowhere else. */
import fc from 'fast-check';
import { expect } from 'vitest';
import { shortId } from '../../../src/engine/state/history.js';
import { aRun, RUN, SCOPE, test } from './support/state.js';

const aHash = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  fc.constantFrom(0n, 1n, 256n, 2n ** 48n, 2n ** 64n - 1n),
);
const aLine = fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 2 ** 32 - 1 }));
const someRows = fc.array(fc.tuple(fc.integer({ min: 0, max: 2 }), aLine, aHash), { minLength: 1 });

test('any rows come out as they went in, whatever the order of their lines', async ({ state }) => {
  await state.runs.start(aRun());
  await fc.assert(
    fc.asyncProperty(someRows, fc.nat(), async (given, nth) => {
      const rows = [...given].sort(([a], [b]) => a - b);
      const lines = [0, 1, 2].map((input) => ({
        input,
        lines: rows.filter(([of]) => of === input).map(([, line]) => line),
      }));
      const ids = BigUint64Array.from(rows, ([, , id]) => id);
      await state.history.putRejected(RUN, SCOPE, 'companies', { ids, lines });
      const wanted = ids[nth % ids.length]!;
      const found = await state.history.find('companies', wanted);
      expect(found.map(({ input, line }) => [input, line])).toEqual(
        rows
          .filter(([, , id]) => shortId(id) === shortId(wanted))
          .map(([input, line]) => [input, line])
          .reverse(),
      );
    }),
    { numRuns: 50 },
  );
});
