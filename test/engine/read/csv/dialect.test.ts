/** Dialects: what another writer wrote comes back, and csv-parse on the whole text at once sees the same rows. */
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { askedDialect, type Dialect, isPlain } from '../../../../src/engine/read/csv/dialect.js';
import { Notes } from '../../../../src/engine/read/csv/notes.js';
import { csvRows } from '../../../../src/engine/read/csv/rows.js';
import { splitterOf } from '../../../../src/engine/read/csv/split.js';
import { DEFAULT_LIMITS } from '../../../../src/engine/read/limits.js';
import type { RecordBatch } from '../../../../src/engine/read/types.js';

interface Cut {
  rows: string[][];
  lines: number[];
  broken: { text: string; row: number }[];
}

interface Cut {
  /** What looks like another dialect. */
  odd: string[];
}

/** Cuts a text in chunks of these sizes, in turn, and parses each batch by itself. */
function cut(
  text: string,
  dialect: Dialect,
  sizes: readonly number[] = [65_536],
  maxCellBytes = 1 << 20,
): Cut {
  const bytes = Buffer.from(text);
  const notes = new Notes(dialect);
  const splitter = splitterOf(
    { ...DEFAULT_LIMITS, path: 'f.csv', dialect, maxCellBytes, notes },
    { header: false },
  );
  const result: Cut = { rows: [], lines: [], broken: [], odd: [] };
  const add = (batch: RecordBatch | null): void => {
    if (!batch) return;
    const rows = csvRows(batch, dialect, DEFAULT_LIMITS.maxColumns);
    expect(rows.length).toBe(batch.lines.length);
    for (const { text, number } of batch.broken ?? []) {
      result.broken.push({ text, row: result.rows.length + number });
    }
    result.rows.push(...rows);
    result.lines.push(...batch.lines);
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
  result.odd = notes.warnings().map(({ message }) => message);
  return result;
}

const CHARACTERS = [
  'a',
  'é',
  '株',
  '😀',
  ' ',
  ',',
  ';',
  '|',
  '¦',
  '"',
  "'",
  '“',
  '\\',
  '#',
  '\n',
  '\r',
  '\x01',
];
const cell = fc.string({ unit: fc.constantFrom(...CHARACTERS), maxLength: 8 });
const table = fc
  .integer({ min: 2, max: 4 })
  .chain((width) =>
    fc.array(fc.array(cell, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 10 }),
  );
const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 6 });
const end = fc.constantFrom('\n', '\r\n', '\r');
const dialects = fc.record({
  delimiter: fc.constantFrom(',', ';', '\x01', '|', '||', '|;|', '¦', ', ', '株,'),
  quote: fc.constantFrom('"', "'", '“', '|'),
  escape: fc.constantFrom(null, '\\', '^'),
  comment: fc.constantFrom(null, '#', '//'),
  skipLines: fc.constantFrom(0, 1, 3),
  lenientQuotes: fc.boolean(),
});

/** A writer that shares nothing with the reader: every cell in quotes, where there may be a doubt. */
function write(
  rows: readonly (readonly string[])[],
  dialect: Dialect,
  lineEnd: string,
  notes: boolean,
): { text: string; lines: number[] } {
  const { delimiter, quote, escape: own, comment, skipLines } = dialect;
  let text = `a title, "and ' more${lineEnd}`.repeat(skipLines);
  const lines: number[] = [];
  for (const row of rows) {
    if (notes) text += lineEnd;
    if (notes && comment !== null) text += `${comment} left ${quote} out${lineEnd}`;
    lines.push(text.split(/\r\n|\r|\n/).length);
    const cells = row.map((value) => {
      const escaped = [...value].map((character) => {
        if (own === null) return character === quote ? quote + quote : character;
        return character === quote || character === own ? own + character : character;
      });
      return quote + escaped.join('') + quote;
    });
    text += cells.join(delimiter) + lineEnd;
  }
  return { text, lines };
}

const sane = ({ delimiter, quote, escape: own, comment }: Dialect): boolean =>
  !delimiter.includes(quote!) && quote !== own && !(comment !== null && delimiter.startsWith(comment));

describe('what another writer wrote', () => {
  it('comes back cell by cell and line by line, in every dialect, line end and chunking', () => {
    fc.assert(
      fc.property(table, dialects, end, fc.boolean(), sizes, (rows, dialect, lineEnd, notes, chunks) => {
        fc.pre(sane(dialect));
        const { text, lines } = write(rows, dialect, lineEnd, notes);
        expect(cut(text, dialect, chunks)).toMatchObject({ rows, lines, broken: [] });
      }),
      { numRuns: 500 },
    );
  });
});

/** The whole text at once. */
const elsewhere = (text: string, { delimiter, quote, escape: own, comment }: Dialect): string[][] =>
  parse(text, {
    delimiter,
    quote: quote ?? false,
    escape: own ?? quote ?? false,
    comment,
    comment_no_infix: true,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_quotes: true,
    relax_column_count: true,
    skip_empty_lines: true,
  });

describe('any text at all', () => {
  const units = ['a', ' ', '=', '"', '"', "'", ',', '|', '\\', '#', '\n', '\r', 'é'];
  const text = fc.string({ unit: fc.constantFrom(...units), maxLength: 40 });
  const any = fc.record({
    delimiter: fc.constantFrom(',', '|', '||', "a'"),
    quote: fc.constantFrom('"', "'", null),
    escape: fc.constantFrom(null, '\\'),
    comment: fc.constantFrom(null, '#'),
    skipLines: fc.constant(0),
    lenientQuotes: fc.boolean(),
  });
  const usable = (dialect: Dialect): boolean =>
    dialect.quote === null
      ? dialect.escape === null
      : !dialect.delimiter.includes(dialect.quote) && dialect.quote !== dialect.escape;

  it('is read as csv-parse reads the whole, but for records with text after a quote, or refused', () => {
    fc.assert(
      fc.property(text, any, sizes, (content, dialect, chunks) => {
        fc.pre(usable(dialect));
        // csv-parse also takes a comment behind a closing quote for one; here comments are whole lines.
        fc.pre(dialect.comment === null || !content.includes(`${dialect.quote}${dialect.comment}`));
        let read: Cut;
        try {
          read = cut(content, dialect, chunks);
        } catch (error) {
          expect((error as Error).message).toMatch(/^f\.csv:\d+: the quote that opens/);
          return;
        }
        if (dialect.lenientQuotes) expect(read.broken).toEqual([]);
        let rest = content;
        for (const { text } of read.broken) rest = rest.replace(text, '');
        const broken = new Set(read.broken.map(({ row }) => row));
        expect(read.rows.filter((_, row) => !broken.has(row))).toEqual(elsewhere(rest, dialect));
      }),
      { numRuns: 3000 },
    );
  });

  it('is cut the same however it is chunked, and by the fast way as by the other', () => {
    const outcome = (content: string, dialect: Dialect, chunks: readonly number[]): unknown => {
      try {
        return cut(content, dialect, chunks);
      } catch (error) {
        return (error as Error).message;
      }
    };
    fc.assert(
      fc.property(text, any, sizes, (content, dialect, chunks) => {
        fc.pre(usable(dialect));
        const whole = outcome(content, dialect, [1000]);
        expect(outcome(content, dialect, chunks)).toEqual(whole);
        // A comment that no line begins with makes the plain dialect another one.
        if (isPlain(dialect)) expect(outcome(content, { ...dialect, comment: '株' }, chunks)).toEqual(whole);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('limits', () => {
  const MAX = 1000;
  const dialect = { ...askedDialect({ quote: "'", escape: '\\' }), delimiter: '||' };
  const limited = (text: string): Cut => cut(text, dialect, [64], MAX);

  it.each([
    ['a plain cell', 'x'.repeat(MAX)],
    ['a quoted cell', `'${'x'.repeat(MAX)}'`],
    ['a quoted cell full of escapes', `'${"\\'".repeat(MAX)}'`],
  ])('%s may have as many bytes as the limit', (_, text) => {
    expect(limited(`1||${text}\n2||z`).rows[0]![1]).toHaveLength(MAX);
  });

  it.each([
    ['a plain cell', 'x'.repeat(MAX + 1), /^f\.csv:2: a cell is longer than 1000 B$/],
    ['a quoted cell', `'${'x'.repeat(MAX + 1)}'`, /^f\.csv:2: /],
    [
      'a quote that is never closed',
      `'${'x\n'.repeat(100)}`,
      /^f\.csv:2: the quote that opens on this line is never closed$/,
    ],
    [
      'a quote that is not closed for long',
      `'${'x\n'.repeat(MAX)}`,
      /^f\.csv:2: the quote that opens on this line is not closed within 1000 B$/,
    ],
  ])('%s of more is refused, with its line', (_, text, message) => {
    expect(() => limited(`1||a\n2||${text}\n3||b\n`)).toThrow(message);
  });

  it('a record of too many cells is refused, and one whose quotes make no sense', () => {
    const cells = 'x||'.repeat(400_000);
    const chunks = [128 * 1024];
    const long = (text: string) => () => cut(`1||a\n${text}`, dialect, chunks, MAX);
    expect(long(cells.repeat(15))).toThrow(/^f\.csv:2: the record is larger than 16 MiB$/);
    expect(long(`'a'b${cells.repeat(15)}`)).toThrow(/^f\.csv:2: the record is larger than 16 MiB$/);
  });

  it('a comment may be of any length', () => {
    const text = `# ${'x'.repeat(20 << 20)}\nc1||a\n`;
    const read = cut(text, { ...dialect, comment: '#' }, [1 << 20], MAX);
    expect(read).toMatchObject({ rows: [['c1', 'a']], lines: [2] });
  });
});

describe('options that no file can have', () => {
  it.each([
    [{ quote: 'ab' }, 'quote: "ab" is not one character'],
    [{ quote: '' }, 'quote: "" is not one character'],
    [{ escape: '\\n\\n' }, 'escape: "\\\\n\\\\n" is not one character'],
    [{ quote: 'none', escape: '\\' }, 'escape: "\\\\" has a meaning only inside quotes, and there are none'],
    [{ delimiter: '' }, 'delimiter: "" cannot separate cells'],
    [{ delimiter: '\\x00' }, 'delimiter: "\\\\x00" cannot separate cells'],
    [{ delimiter: "';'", quote: "'" }, `delimiter: "';'" contains the quote`],
    [{ delimiter: '\\,', escape: '\\' }, 'delimiter: "\\\\," contains the escape character'],
    [{ comment: '' }, 'comment: "" is not the beginning of a line'],
    [{ comment: '"x' }, 'comment: "\\"x" would leave out rows: cells may begin with it'],
    [{ delimiter: ';', comment: ';' }, 'comment: ";" would leave out rows: cells may begin with it'],
  ])('%j', (options, message) => {
    expect(() => askedDialect(options)).toThrow(message);
  });

  it.each([
    [{ delimiter: '\\x01' }, { delimiter: '\x01' }],
    [{ delimiter: '\\u00A6' }, { delimiter: '¦' }],
    [{ delimiter: '\\t|\\t' }, { delimiter: '\t|\t' }],
    [{ delimiter: 'tab' }, { delimiter: '\t' }],
    [
      { quote: "'", escape: "'" },
      { quote: "'", escape: null },
    ],
    [{ quote: 'none' }, { quote: null }],
  ])('%j is read as meant', (options, expected) => {
    expect(askedDialect(options)).toMatchObject(expected);
  });
});
