import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plainDialect } from '../../../../src/engine/read/csv/dialect.js';
import { csvRows } from '../../../../src/engine/read/csv/rows.js';
import { CsvSplitter } from '../../../../src/engine/read/csv/splitter.js';
import { DEFAULT_LIMITS } from '../../../../src/engine/read/limits.js';
import type { RecordBatch } from '../../../../src/engine/read/types.js';
import { type Dialect, writeCsv } from '../csv-writer.js';

interface Cut {
  rows: string[][];
  /** Text of each record, without its line end. */
  texts: string[];
  lines: number[];
  firsts: number[];
  /** Records in which text follows a closing quote, and which of the rows they are. */
  broken: { text: string; row: number }[];
}

/** Cuts a text in chunks of these sizes, in turn, and parses each batch by itself, as a worker would. */
function cut(
  text: string,
  delimiter: string,
  sizes: readonly number[] = [65_536],
  maxCellBytes = 1 << 20,
  header = false,
): Cut {
  const bytes = Buffer.from(text);
  const splitter = new CsvSplitter({ path: 'f.csv', delimiter, maxCellBytes }, { header });
  const result: Cut = { rows: [], texts: [], lines: [], firsts: [], broken: [] };
  const add = (batch: RecordBatch | null): void => {
    if (!batch) return;
    const rows = csvRows(batch, plainDialect(delimiter), DEFAULT_LIMITS.maxColumns);
    result.broken.push(
      ...(batch.broken ?? []).map(({ text, number }) => ({ text, row: result.rows.length + number })),
    );
    expect(rows.length).toBe(batch.lines.length);
    result.firsts.push(batch.first);
    result.rows.push(...rows);
    result.lines.push(...batch.lines);
    const text = Buffer.from(batch.bytes);
    for (let at = 0; at < batch.spans.length; at += 2) {
      result.texts.push(text.toString('utf8', batch.spans[at], batch.spans[at + 1]));
    }
  };
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length]!;
    // The memory of a chunk is used again, so what the splitter keeps must be a copy.
    const chunk = Buffer.from(bytes.subarray(at, at + size));
    add(splitter.push(chunk));
    chunk.fill(0x22);
    at += size;
  }
  add(splitter.end());
  return result;
}

const cell = fc.string({
  unit: fc.constantFrom('a', 'é', '株', '😀', ' ', ',', ';', '\t', '|', '"', '\n', '\r', '0'),
});
const table = fc
  .integer({ min: 1, max: 5 })
  .chain((width) =>
    fc.array(fc.array(cell, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 12 }),
  );
const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 6 });
const dialect = fc.record<Dialect>({
  delimiter: fc.constantFrom(',', ';', '\t', '|'),
  ends: fc.array(fc.constantFrom('\n', '\r\n', '\r'), { minLength: 1, maxLength: 3 }),
  quoteAll: fc.boolean(),
  open: fc.boolean(),
  emptyEvery: fc.constantFrom(0, 2),
});

describe('what another writer wrote', () => {
  it('comes back cell by cell and line by line, for every delimiter, line end and chunking', () => {
    fc.assert(
      fc.property(table, dialect, sizes, fc.boolean(), (rows, written, chunks, isTight) => {
        // A CR that is followed by an LF is one line end: the two must not meet by accident.
        fc.pre(!written.ends.includes('\r') || !written.ends.includes('\n') || !written.emptyEvery);
        const { text, lines } = writeCsv(rows, written);
        // Where a cell may be too long, delimiters are looked at one by one.
        const longest = Math.max(1, ...rows.flat().map((cell) => Buffer.byteLength(cell)));
        const read = cut(text, written.delimiter, chunks, isTight ? longest : undefined);
        expect(read.rows).toEqual(rows);
        expect(read.lines).toEqual(lines);
        // Each record by itself, the same wherever chunks end: its hash tells whether it changed.
        const quote = written.quoteAll || rows[0]!.length === 1;
        const alone = rows.map((row) => writeCsv([row], { ...written, quoteAll: quote, open: true }).text);
        expect(read.texts).toEqual(alone);
      }),
      { numRuns: 500 },
    );
  });
});

/** What another parser makes of a text: one that reads a whole file by itself and knows of no splitter. */
const elsewhere = (text: string): string[][] =>
  parse(text, {
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_quotes: true,
    relax_column_count: true,
    skip_empty_lines: true,
  });

describe('any text at all', () => {
  const text = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r', 'é'), maxLength: 60 });

  it('is cut and parsed as another parser reads the whole, or refused', () => {
    fc.assert(
      fc.property(text, sizes, (content, chunks) => {
        let read: Cut;
        try {
          read = cut(content, ',', chunks);
        } catch (error) {
          expect((error as Error).message).toMatch(/^f\.csv:\d+: the quote that opens/);
          return;
        }
        // Without the records that are not read, the text is read as before.
        let rest = content;
        for (const { text } of read.broken) {
          const at = `\n${rest.replaceAll('\r', '\n')}`.indexOf(`\n${text.replaceAll('\r', '\n')}`);
          rest = rest.slice(0, at) + rest.slice(at + text.length);
        }
        const broken = new Set(read.broken.map(({ row }) => row));
        expect(read.rows.filter((_, row) => !broken.has(row))).toEqual(elsewhere(rest));
      }),
      { numRuns: 1000 },
    );
  });

  it('is cut the same however it is chunked', () => {
    const outcome = (content: string, chunks: readonly number[]): unknown => {
      try {
        const { rows, lines, broken } = cut(content, ',', chunks);
        return { rows, lines, broken };
      } catch (error) {
        return (error as Error).message;
      }
    };
    fc.assert(
      fc.property(text, sizes, (content, chunks) => {
        expect(outcome(content, chunks)).toEqual(outcome(content, [1000]));
      }),
      { numRuns: 1000 },
    );
  });
});

it.each(['\n', '\r\n', '\r'])('leaves out empty lines, but not a row of one empty cell, with %j', (end) => {
  const lines = ['', '', 'a', '', '""', '', '', 'b', ''];
  for (const size of [1, 2, 3, 1000]) {
    expect(cut(lines.join(end), ',', [size])).toMatchObject({ rows: [['a'], [''], ['b']], lines: [3, 5, 8] });
  }
});

describe.each(['\n', '\r\n', '\r'])('a header, with %j', (end) => {
  it.each([
    [
      'empty lines before it and after it',
      ['', 'id,n', '', '', 'a,1', '', 'b,2', ''],
      [
        ['a', '1'],
        ['b', '2'],
      ],
      [5, 7],
    ],
    [
      'no line end after the last row',
      ['id,n', 'a,1', 'b,2'],
      [
        ['a', '1'],
        ['b', '2'],
      ],
      [2, 3],
    ],
    ['quoted, over two lines', ['"id', 'x",n', 'a,1', ''], [['a', '1']], [3]],
    ['nothing but empty lines after it', ['id,n', '', '', ''], [], []],
    ['nothing after it', ['id,n'], [], []],
  ])('%s', (_, lines, rows, numbers) => {
    for (const size of [1, 2, 3, 5, 1000]) {
      expect(cut(lines.join(end), ',', [size], 1 << 20, true), `chunks of ${size}`).toMatchObject({
        rows,
        lines: numbers,
      });
    }
  });
});

it('knows every delimiter that may be asked for', () => {
  for (let code = 0x20; code < 0x7f; code++) {
    const delimiter = String.fromCharCode(code);
    if (delimiter === '"' || delimiter === 'x') continue;
    expect(cut(`x${delimiter}"x${delimiter}x"\n`, delimiter).rows, delimiter).toEqual([
      ['x', `x${delimiter}x`],
    ]);
  }
});

it('numbers the first record of each batch among all records', () => {
  const { firsts } = cut('a\nb\nc\nd\ne\n', ',', [3, 4]);
  expect(firsts).toEqual([0, 1, 3]);
});

describe('limits', () => {
  const MAX = 1000;
  const limited = (text: string, chunks = [64]): Cut => cut(text, ',', chunks, MAX);

  it.each([
    ['a plain cell', 'x'.repeat(MAX)],
    ['a quoted cell', `"${'x'.repeat(MAX)}"`],
    ['a quoted cell full of quotes', `"${'""'.repeat(MAX)}"`],
    ['a last cell without line end', 'y'.repeat(MAX)],
  ])('%s may have as many bytes as the limit', (_, text) => {
    const [row] = limited(`1,${text}`).rows;
    expect(row![1]).toHaveLength(MAX);
    expect(limited(`1,${text}\r\n2,z\n`).rows).toHaveLength(2);
  });

  it.each([
    ['a plain cell', 'x'.repeat(MAX + 1), /^f\.csv:2: a cell is longer than 1000 B$/],
    ['a plain cell in two-byte letters', 'é'.repeat(MAX / 2 + 1), /^f\.csv:2: a cell is longer than 1000 B$/],
    ['a quoted cell', `"${'x'.repeat(MAX + 1)}"`, /^f\.csv:2: /],
    ['a quoted cell full of quotes', `"${'""'.repeat(MAX + 1)}"`, /^f\.csv:2: /],
  ])('%s of one byte more is refused', (_, text, message) => {
    for (const chunk of [64, 1_000_000]) {
      expect(() => limited(`1,a\n2,${text}\n3,b\n`, [chunk])).toThrow(message);
      expect(() => limited(`1,a\n2,${text}`, [chunk])).toThrow(message);
    }
  });

  it('an unclosed quote early in a long text names the line where it opened, and does not read on to the end', () => {
    let pushed = 0;
    const splitter = new CsvSplitter({ path: 'f.csv', delimiter: ',', maxCellBytes: MAX }, { header: false });
    const push = (text: string): void => {
      splitter.push(Buffer.from(text));
      pushed += text.length;
    };
    expect(() => {
      push('1,a\n2,"b\n');
      for (let row = 3; row < 100_000; row++) push(`${row},c\n`);
    }).toThrow('f.csv:2: the quote that opens on this line is not closed within 1000 B');
    expect(pushed).toBeLessThan(2 * MAX);
  });

  it('a record of ever more cells is refused, not collected', () => {
    const splitter = new CsvSplitter({ path: 'f.csv', delimiter: ';', maxCellBytes: MAX }, { header: false });
    const chunk = Buffer.from('1;2;3;'.repeat(100_000));
    expect(() => {
      for (let turn = 0; turn < 100; turn++) splitter.push(chunk);
    }).toThrow(/^f\.csv:1: the record is larger than 16 MiB$/);
  });
});
