import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Output } from '../../../../src/engine/read/text/output.js';
import { times } from '../../../support/times.js';

/** Null where the language has to be asked. */
function written(number: number): string | null {
  const out = new Output(1);
  const done = out.writeNumber(number);
  const text = out.bytes.toString('latin1', 0, out.length);
  if (done) return text;
  expect(text).toBe('');
  return null;
}

it.each([Number.NaN, Infinity, -Infinity, 0.001, 1 / 3, 1e15, 2 ** 53, 1e21, 5e-324, 0.1 + 0.2])(
  '%d is left to the language',
  (number) => {
    expect(written(number)).toBeNull();
  },
);

it('every number is written as it is in JSON, or not at all; of two decimals, always', () => {
  const edges = [
    0, -0.05, 0.01, 99.99, 2147483646, 2147483648, -2147483648.5, 4294967295.25, 9999999999999.98,
  ];
  const cents = fc.oneof(
    fc.constantFrom(...edges),
    fc.integer().map((digits) => digits / 100),
  );
  fc.assert(
    fc.property(cents, fc.double(), (number, any) => {
      expect(written(number)).toBe(JSON.stringify(number));
      expect([JSON.stringify(any), null]).toContain(written(any));
    }),
    { numRuns: times(600) },
  );
});
