import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addCell,
  type ColumnStats,
  decide,
  emptyStats,
  mergeStats,
} from '../../../../src/engine/read/mapping/stats.js';

/** Cells of a column, whose first stands on line 2. */
function statsOf(cells: readonly string[], firstLine = 2): ColumnStats {
  const stats = emptyStats();
  cells.forEach((cell, index) => {
    if (cell === '') stats.empty++;
    else addCell(stats, cell, firstLine + index);
  });
  return stats;
}

describe('the type of a column', () => {
  it.each<[type: string, reason: string, cells: string[]]>([
    ['integer', 'all 3 values are integers', ['1', '-20', '0']],
    ['integer', 'all 2 values are integers', ['', '7', '', '8']],
    ['integer', 'the one value is an integer', ['7']],
    ['integer', 'all 2 values are integers', ['9007199254740991', '-9007199254740991']],
    ['string', 'line 3: "9007199254740992"', ['1', '9007199254740992']],
    ['string', 'line 2: "-9007199254740992"', ['-9007199254740992']],
    ['string', 'line 2: "9007199254740993"', ['9007199254740993']],
    ['string', 'line 3: "02139"', ['10001', '02139']],
    ['string', 'line 2: "007"', ['007', '8', '009']],
    ['string', 'line 3: "00"', ['0', '00']],
    ['string', 'line 2: "+49"', ['+49']],
    ['string', 'line 3: "1e5"', ['1', '1e5']],
    ['string', 'line 2: "-0"', ['-0']],
    ['string', 'line 2: "0x1f"', ['0x1f']],
    ['string', 'line 2: "1,000"', ['1,000']],
    ['string', 'line 2: " 1"', [' 1']],
    ['string', 'line 2: "-"', ['-']],
    ['string', 'line 2: "1."', ['1.']],
    ['string', 'line 2: ".5"', ['.5']],
    ['string', 'line 2: "1.2.3"', ['1.2.3']],
    ['string', 'line 2: "NaN"', ['NaN']],
    ['string', 'line 2: "Infinity"', ['Infinity']],
    ['string', 'line 2: "٣"', ['٣']],
    ['string', 'line 5: "n/a"', ['1', '2', '3', 'n/a', '5']],
    ['string', 'no values', []],
    ['string', 'no values', ['', '']],
    ['number', 'all 2 values are numbers', ['1.5', '2']],
    ['number', 'all 2 values are numbers', ['-0.5', '0.25']],
    ['number', 'all 3 values are numbers', ['1.9', '1.1', '12.3']],
    ['number', 'all 2 values are numbers', ['1.90', '1.10']],
    ['number', 'the one value is a number', ['0.0000001']],
    ['number', 'the one value is a number', ['123456789012.345']],
    ['string', 'line 3: "1.10"', ['1.9', '1.10']],
    ['string', 'line 2: "1.10"', ['1.10', '1.9']],
    ['string', 'line 3: "2.0"', ['1', '2.0']],
    ['string', 'line 2: "0.12345678901234567"', ['0.12345678901234567']],
    ['string', 'line 2: "-0.0"', ['-0.0', '1.5']],
    ['string', 'line 2: "01.5"', ['01.5']],
  ])('%s, because %s', (type, reason, cells) => {
    const decision = decide(statsOf(cells));
    expect({ type: decision.type, reason: decision.reason }).toEqual({ type, reason });
  });

  it('warns of zeros that a number drops, and only then', () => {
    expect(decide(statsOf(['1.95', '1.10'])).warning).toBe(
      'trailing zeros are dropped: line 3: "1.10" becomes 1.1',
    );
    expect(decide(statsOf(['1.9', '1.1'])).warning).toBeNull();
    expect(decide(statsOf(['1.9', '1.10'])).warning).toBeNull();
  });

  it('shows no more than the beginning of a long cell', () => {
    expect(decide(statsOf(['x'.repeat(1000)])).reason).toBe(`line 2: "${'x'.repeat(60)}…"`);
  });
});

const cell = fc.oneof(
  fc.constantFrom('', '0', '1', '-7', '1.5', '1.50', '2.25', '007', 'x', '9007199254740993', '1e5', '-0'),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.maxSafeInteger().map(String),
);

describe('properties', () => {
  it('a column is the same however it was cut into batches', () => {
    fc.assert(
      fc.property(fc.array(cell), fc.nat(30), (cells, at) => {
        const merged = mergeStats(
          statsOf(cells.slice(0, at)),
          statsOf(cells.slice(at), 2 + Math.min(at, cells.length)),
        );
        const whole = statsOf(cells);
        expect(decide(merged)).toEqual(decide(whole));
        expect([merged.cells, merged.empty]).toEqual([whole.cells, whole.empty]);
      }),
    );
  });

  it('a number column loses no digit: its cells come back, but for zeros at the end', () => {
    fc.assert(
      fc.property(fc.array(cell, { minLength: 1 }), (cells) => {
        const { type } = decide(statsOf(cells));
        fc.pre(type !== 'string');
        for (const text of cells.filter((each) => each !== '')) {
          const value: unknown = JSON.parse(text);
          const digits = text.includes('.') ? text.replace(/\.?0+$/, '') : text;
          // Small numbers are printed with an exponent: their digits are compared, not their form.
          expect(Number(value).toFixed(20).startsWith(digits) || String(value) === digits).toBe(true);
          if (type === 'integer') expect(Number.isSafeInteger(value)).toBe(true);
        }
      }),
    );
  });
});
