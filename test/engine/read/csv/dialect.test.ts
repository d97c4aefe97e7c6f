/** Dialects: what another writer wrote comes back, and csv-parse on the whole text at once sees the same rows. */

import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { askedDialect, type Dialect, Notes, plainDialect } from '../../../../src/engine/read/csv/dialect.js';
import { CsvRow, csvRows } from '../../../../src/engine/read/csv/rows.js';
import { times } from '../../../support/times.js';
import { type Dialect as Written, writeCsv } from '../csv-writer.js';

interface Cut {
  rows: string[][];
  lines: number[];
  /** Rows with text after a closing quote, by their indexes. */
  broken: number[];
  /** What looks like another dialect. */
  odd: string[];
}

/** Reads a text in chunks of these sizes, in turn. Its header is a row like the others. */
async function cut(
  text: string,
  dialect: Dialect,
  sizes: readonly number[] = [65_536],
  maxCellBytes = 1 << 20,
  header = false,
): Promise<Cut> {
  const bytes = Buffer.from(text);
  const notes = new Notes(dialect);
  const chunks = async function* () {
    for (let at = 0, turn = 0; at < bytes.length; turn++) {
      let end = at + sizes[turn % sizes.length]!;
      while ((bytes[end]! & 0xc0) === 0x80) end++; // text comes in whole characters
      const chunk = Buffer.from(bytes.subarray(at, end));
      yield chunk;
      chunk.fill(0x22); // the memory of a chunk is used again, so what is kept must be a copy
      at = end;
    }
  };
  const result: Cut = { rows: [], lines: [], broken: [], odd: [] };
  const form = { path: 'f.csv', dialect, maxCellBytes, notes, width: null, header };
  const file = { path: 'f.csv', location: 'f.csv', compression: null, encoding: 'utf-8' };
  const row = new CsvRow();
  for await (const batch of csvRows(chunks(), form, file)) {
    expect(batch.first).toBe(result.rows.length);
    for (const { number, reason } of batch.odd ?? []) {
      if (reason !== null) result.broken.push(result.rows.length + number);
    }
    row.begin(batch);
    result.rows.push(...Array.from(batch.lines, (_, number) => row.original(number)));
    result.lines.push(...batch.lines);
  }
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

const written = fc.record<Written>({
  delimiter: fc.constantFrom(',', ';', '\t', '|'),
  ends: fc.array(fc.constantFrom('\n', '\r\n', '\r'), { minLength: 1, maxLength: 3 }),
  quoteAll: fc.boolean(),
  open: fc.boolean(),
  emptyEvery: fc.constantFrom(0, 2),
});

describe('what another writer wrote', () => {
  it('comes back cell by cell and line by line, in every dialect, line end and chunking', async () => {
    await fc.assert(
      fc.asyncProperty(
        table,
        dialects,
        end,
        fc.boolean(),
        sizes,
        async (rows, dialect, lineEnd, notes, chunks) => {
          fc.pre(sane(dialect));
          const { text, lines } = write(rows, dialect, lineEnd, notes);
          expect(await cut(text, dialect, chunks)).toMatchObject({ rows, lines, broken: [] });
        },
      ),
      { numRuns: times(60) },
    );
  });

  it('comes back from plain CSV, with quotes only where they are needed, and mixed line ends', async () => {
    await fc.assert(
      fc.asyncProperty(table, written, sizes, fc.boolean(), async (rows, form, chunks, isTight) => {
        // A CR that is followed by an LF is one line end: the two must not meet by accident.
        fc.pre(!form.ends.includes('\r') || !form.ends.includes('\n') || !form.emptyEvery);
        const { text, lines } = writeCsv(rows, form);
        const longest = Math.max(1, ...rows.flat().map((cell) => Buffer.byteLength(cell)));
        const read = await cut(text, plainDialect(form.delimiter), chunks, isTight ? longest : undefined);
        expect(read).toMatchObject({ rows, lines, broken: [] });
      }),
      { numRuns: times(100) },
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

  it('is read as csv-parse reads the whole, but for rows with text after a quote, or refused', async () => {
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(text, any, sizes, async (content, dialect, chunks) => {
        fc.pre(usable(dialect));
        // csv-parse also takes a comment behind a closing quote for one; here comments are whole lines.
        fc.pre(dialect.comment === null || !content.includes(`${dialect.quote}${dialect.comment}`));
        const read = await cut(content, dialect, chunks).catch((error: Error) => error);
        if (read instanceof Error) {
          expect(read.message).toMatch(/^f\.csv:\d+: the quote that opens/);
          return;
        }
        if (dialect.lenientQuotes) expect(read.broken).toEqual([]);
        // Plain CSV continues with the next line behind text that follows a quote; csv-parse with the next cell.
        if (read.broken.length > 0) return;
        compared++;
        expect(read.rows).toEqual(elsewhere(content, dialect));
      }),
      { numRuns: times(400) },
    );
    expect(compared).toBeGreaterThan(times(100));
  });

  it('is read the same however it is chunked', async () => {
    const outcome = (content: string, dialect: Dialect, chunks: readonly number[]) =>
      cut(content, dialect, chunks).catch((error: Error) => error.message);
    await fc.assert(
      fc.asyncProperty(text, any, sizes, async (content, dialect, chunks) => {
        fc.pre(usable(dialect));
        expect(await outcome(content, dialect, chunks)).toEqual(await outcome(content, dialect, [1000]));
      }),
      { numRuns: times(200) },
    );
  });
});

it.each(['\n', '\r\n', '\r'])(
  'leaves out empty lines, but not a row of one empty cell, with %j',
  async (end) => {
    const lines = ['', '', 'a', '', '""', '', '', 'b', ''];
    for (const size of [1, 2, 3, 1000]) {
      const read = await cut(lines.join(end), plainDialect(','), [size]);
      expect(read).toMatchObject({ rows: [['a'], [''], ['b']], lines: [3, 5, 8] });
    }
  },
);

it.each([
  ['empty lines before it and after it', ['', 'id,n', '', '', 'a,1', '', 'b,2', ''], [5, 7]],
  ['no line end after the last row', ['id,n', 'a,1', 'b,2'], [2, 3]],
  ['quoted, over two lines', ['"id', 'x",n', 'a,1', ''], [3]],
  ['nothing but empty lines after it', ['id,n', '', '', ''], []],
  ['nothing after it', ['id,n'], []],
])('a header: %s', async (_, lines, numbers) => {
  for (const end of ['\n', '\r\n', '\r']) {
    for (const size of [1, 2, 3, 5, 1000]) {
      const read = await cut(lines.join(end), plainDialect(','), [size], 1 << 20, true);
      expect(read.lines, `chunks of ${size}`).toEqual(numbers);
    }
  }
});

it('knows every delimiter that may be asked for', async () => {
  for (let code = 0x20; code < 0x7f; code++) {
    const delimiter = String.fromCharCode(code);
    if (delimiter === '"' || delimiter === 'x') continue;
    const { rows } = await cut(`x${delimiter}"x${delimiter}x"\n`, plainDialect(delimiter));
    expect(rows, delimiter).toEqual([['x', `x${delimiter}x`]]);
  }
});

describe.each([
  ['plain CSV', plainDialect(','), '"', '""'],
  ['another dialect', { ...askedDialect({ quote: "'", escape: '\\' }), delimiter: '||' }, "'", "\\'"],
])('limits of %s', (_, dialect, quote, escaped) => {
  const MAX = 1000;
  const { delimiter } = dialect;
  const limited = (text: string, chunk = 64): Promise<Cut> =>
    cut(text.replaceAll('|', delimiter), dialect, [chunk], MAX);

  it.each([
    ['a plain cell', 'x'.repeat(MAX)],
    ['a quoted cell', `${quote}${'x'.repeat(MAX)}${quote}`],
    ['a quoted cell full of quotes', `${quote}${escaped.repeat(MAX)}${quote}`],
  ])('%s may have as many bytes as the limit', async (_, text) => {
    const { rows } = await limited(`1|${text}\n2|z`);
    expect(rows[0]![1]).toHaveLength(MAX);
    expect((await limited(`1|a\n2|${text}`)).rows[1]![1]).toHaveLength(MAX);
  });

  it.each([
    ['a plain cell', 'x'.repeat(MAX + 1), /^f\.csv:2: a cell is longer than 1000 B$/],
    ['a plain cell in two-byte letters', 'é'.repeat(MAX / 2 + 1), /^f\.csv:2: a cell is longer than 1000 B$/],
    ['a quoted cell', `${quote}${'x'.repeat(MAX + 1)}${quote}`, /^f\.csv:2: /],
    ['a quoted cell full of quotes', `${quote}${escaped.repeat(MAX + 1)}${quote}`, /^f\.csv:2: /],
    [
      'a quote that is never closed',
      `${quote}${'x\n'.repeat(100)}`,
      /^f\.csv:2: the quote that opens on this line is never closed$/,
    ],
  ])('%s of more is refused, with its line', async (_, text, message) => {
    for (const chunk of [64, 1_000_000]) {
      await expect(limited(`1|a\n2|${text}\n3|b\n`, chunk)).rejects.toThrow(message);
    }
  });

  it('a row of ever more cells is refused, not collected', async () => {
    const cells = `x${delimiter}`.repeat(400_000);
    const long = (text: string) => cut(`1${delimiter}a\n${text}`, dialect, [128 * 1024], MAX);
    await expect(long(cells.repeat(24))).rejects.toThrow(/^f\.csv:\d: the record is larger than 16 MiB$/);
  });
});

it('an unclosed quote early in a long text names the line where it opened, and does not read on to the end', async () => {
  const text = `1,a\n2,"b\n${'3,c\n'.repeat(100_000)}`;
  await expect(cut(text, plainDialect(','), [64], 1000)).rejects.toThrow(
    'f.csv:2: the quote that opens on this line is not closed within 1000 B',
  );
});
