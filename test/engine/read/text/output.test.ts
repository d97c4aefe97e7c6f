import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Output } from '../../../../src/engine/read/text/output.js';

/** Null where the language has to be asked. */
function written(number: number): string | null {
  const out = new Output(1);
  const done = out.writeNumber(number);
  const text = out.bytes.toString('latin1', 0, out.length);
  if (done) return text;
  expect(text).toBe('');
  return null;
}

it.each([
  0, 1, -1, 10, 0.5, -0.05, 0.01, 1.1, 12.3, 99.99, 100.01, 672732017.79, 2147483646, 2147483647, 2147483648,
  -2147483648.5, 4294967295.25, 1e12, 1000000000001.07, 9999999999999.98,
])('%d is written as it is in JSON', (number) => {
  expect(written(number)).toBe(JSON.stringify(number));
});

it.each([Number.NaN, Infinity, -Infinity, 0.001, 1 / 3, 1e15, 2 ** 53, 1e21, 5e-324, 0.1 + 0.2])(
  '%d is left to the language',
  (number) => {
    expect(written(number)).toBeNull();
  },
);

it('every number is written as it is in JSON, or not at all', () => {
  const decimals = fc
    .tuple(fc.maxSafeInteger(), fc.integer({ min: 0, max: 4 }))
    .map(([digits, places]) => Number(`${digits}e-${places}`));
  fc.assert(
    fc.property(fc.oneof(decimals, fc.double(), fc.integer()), (number) => {
      expect([JSON.stringify(number), null]).toContain(written(number));
    }),
    { numRuns: 3000 },
  );
});
