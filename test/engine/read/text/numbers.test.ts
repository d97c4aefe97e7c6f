import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Output } from '../../../../src/engine/read/text/bytes.js';

const written = (value: number): string => {
  const out = new Output(0);
  out.writeNumber(value);
  return out.bytes.toString('latin1', 0, out.length);
};

it('numbers are written as `String` writes them', () => {
  const short = fc
    .tuple(
      fc.integer({ min: -(2 ** 40), max: 2 ** 40 }),
      fc.constantFrom(1, 10, 100, 1000, 10_000, 1e-3, 1e9),
    )
    .map(([digits, scale]) => digits / scale);
  const near = fc
    .constantFrom(1e9, 1e15, 2 ** 31, 2 ** 53, 1e21, 0.001, 1e-7)
    .chain((edge) =>
      fc.constantFrom(-1, -0.001, 0, 0.001, 1).map((step) => edge + step * Math.max(1, edge * 2 ** -52)),
    );
  const examples = [
    0,
    -0,
    0.1 + 0.2,
    1.005,
    -0.5,
    0.0005,
    999_999_999.999,
    Number.NaN,
    Number.POSITIVE_INFINITY,
  ];
  fc.assert(
    fc.property(fc.oneof(short, near, fc.double()), (value) => {
      expect(written(value)).toBe(String(value));
    }),
    { numRuns: 3000, examples: examples.map((example) => [example]) },
  );
});
