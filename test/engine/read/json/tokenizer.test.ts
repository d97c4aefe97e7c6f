import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonTokenizer } from '../../../../src/engine/read/json/tokenizer.js';
import type { Rows } from '../../../../src/engine/read/rows.js';
import type { Splitter } from '../../../../src/engine/read/text/splitter.js';
import type { JsonBody } from '../../../../src/engine/read/types.js';
import { times } from '../../../support/times.js';

interface Cut {
  items: unknown[];
  lines: number[];
  fileLines: number[];
}

/** Cuts a text in chunks of these sizes and parses each record by itself. */
function cut(splitter: Splitter, text: string, sizes: readonly number[]): Cut {
  const bytes = Buffer.from(text);
  const result: Cut = { items: [], lines: [], fileLines: [] };
  const add = (batch: Rows | null): void => {
    if (!batch) return;
    expect(batch.first).toBe(result.items.length);
    for (let index = 0; index < batch.lines.length; index++) {
      const [start, end] = [batch.starts[index], batch.ends[index]];
      result.items.push(JSON.parse(Buffer.from(batch.bytes.subarray(start, end)).toString()));
    }
    result.lines.push(...batch.lines);
    result.fileLines.push(...batch.fileLines!);
  };
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length]!;
    const chunk = Buffer.from(bytes.subarray(at, at + size));
    add(splitter.push(chunk));
    chunk.fill(0x5b); // its memory is used again
    at += size;
  }
  add(splitter.end());
  return result;
}

const ARRAY: JsonBody = { items: 'array', path: [], others: [] };
const inside = (...path: string[]): JsonBody => ({ items: 'array', path, others: ['users'] });

const sizes = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 5 });
const indent = fc.constantFrom(0, 1, 2);
const spelled = fc.string({
  unit: fc.constantFrom('a', '"', '\\', '[', '{', '}', ']', ',', '\n', 'é', '😀'),
});
const value = fc.oneof(fc.jsonValue(), spelled, fc.dictionary(spelled, spelled));

describe('an array', () => {
  it('is cut into its items, whatever they hold and however it is chunked', () => {
    fc.assert(
      fc.property(fc.array(value), indent, sizes, (items, spaces, chunks) => {
        const text = JSON.stringify(items, null, spaces);
        const read = cut(new JsonTokenizer('f.json', ARRAY), `\n ${text}\r\n`, chunks);
        expect(read.items).toEqual(JSON.parse(text));
        expect(read.lines).toEqual(items.map((_, index) => index + 1));
      }),
      { numRuns: times(60) },
    );
  });

  it('may be the one member of an object', () => {
    fc.assert(
      fc.property(fc.array(value), indent, sizes, (items, spaces, chunks) => {
        const text = JSON.stringify({ companies: items }, null, spaces);
        const read = cut(new JsonTokenizer('f.json', inside('companies')), `${text}\n`, chunks);
        expect(read.items).toEqual(JSON.parse(text).companies);
      }),
    );
  });

  const refused = (text: string, body = ARRAY): string => {
    const messages = [[1], [4], [1000]].map((chunks) => {
      try {
        cut(new JsonTokenizer('f.json', body), text, chunks);
        return 'read';
      } catch (error) {
        return (error as Error).message;
      }
    });
    expect(new Set(messages).size).toBe(1); // whatever the chunks
    return messages[0]!;
  };

  it.each([
    ['[1,,2]', 'f.json:1: item 2 is missing before a comma'],
    ['[,1]', 'f.json:1: item 1 is missing before a comma'],
    ['["a" "b"]', 'f.json:1: a comma is missing after item 1'],
    ['[1', 'f.json:1: the text ends in the middle of item 1'],
    ['["a\\', 'f.json:1: the text ends in the middle of item 1'],
    ['[', 'f.json:1: the text ends before the array is closed, after item 0'],
    ['[1]}', 'f.json:1: text follows the end of the array'],
    ['{"a":[1]}', 'f.json:1: is not a JSON array, and not {"companies": […]} or {"users": […]}'],
    ['   ', 'f.json:1: the text ends before an array begins'],
  ])('%j is refused: %s', (text, message) => expect(refused(text)).toBe(message));

  it.each([
    ['{"companies":[1', 'f.json:1: the text ends in the middle of item 1'],
    [
      '{"companies":[1]',
      'f.json:1: the text ends after the array, before the object that it is in is closed',
    ],
    ['{"companies":[1]}}', 'f.json:1: text follows the end of the object that holds the array'],
    ['{"companies":[1],"more":2,}', 'f.json:1: what is around the array is not valid JSON'],
    ['{"next":01,\n"companies":[\n1\n]\n}', 'f.json:1: what is around the array is not valid JSON'],
    ['{\n"companies":[\n1\n],\n"next":01}', 'f.json:5: what is around the array is not valid JSON'],
    ['{"companies":[1],"more" 2}', 'f.json:1: what is around the array is not valid JSON'],
    ['{"a":1 "companies":[1]}', 'f.json:1: what is around the array is not valid JSON'],
    ['{"a":[}],"b":,"companies":[1]}', 'f.json:1: what is around the array is not valid JSON'],
    [
      '{"companies":[1]}\n{"companies":[2]}',
      'f.json:2: text follows the end of the object that holds the array',
    ],
    ['{"companies":[1],"companies":[2]}', 'f.json:1: "companies" appears twice'],
    ['{"companies":[1],\n"users":[2]}', 'f.json:2: holds "users" beside "companies"'],
    ['{"users":[2],"companies":[1]}', 'f.json:1: holds "users" beside "companies"'],
    ['{"companies":{"a":[1]}}', 'f.json:1: "companies" is not an array'],
    ['{"company":[1]}', 'f.json:1: has no "companies"'],
    ['{}', 'f.json:1: has no "companies"'],
    ['[1]', 'f.json:1: is not a JSON array, and not {"companies": […]} or {"users": […]}'],
  ])('the body %j is refused: %s', (text, message) =>
    expect(refused(text, inside('companies'))).toBe(message),
  );

  it.each([
    ['{"data":{"items":[1]},"items":[2]}', [1]],
    ['{"items":[2],"data":{"x":{"items":[3]},"it\\u0065ms":[1],"y":"]}"},"z":[[]]}', [1]],
    ['{"data":{"items":[]}}', []],
  ])('of %j, the array at data.items is read', (text, items) => {
    for (const size of [1, 3, 1000]) {
      expect(cut(new JsonTokenizer('f.json', inside('data', 'items')), text, [size]).items).toEqual(items);
    }
  });

  it.each([
    ['{"data":[1]}', 'f.json:1: "data" is not an object'],
    ['{"data":{"items":{}}}', 'f.json:1: "data.items" is not an array'],
    ['{"data":{"item":[]}}', 'f.json:1: has no "data.items"'],
    ['{"date":{"items":[]}}', 'f.json:1: has no "data"'],
    ['{"data":{"items":[1]},"data":{"items":[2]}}', 'f.json:1: "data" appears twice'],
    ['{"data":{"items":[1],"items":[2]}}', 'f.json:1: "data.items" appears twice'],
  ])('of %j, data.items is refused: %s', (text, message) =>
    expect(refused(text, inside('data', 'items'))).toBe(message),
  );

  it('is found among any other members, however it is chunked', () => {
    const others = fc.dictionary(spelled, value);
    fc.assert(
      fc.property(others, others, fc.array(value), indent, sizes, (before, after, items, spaces, chunks) => {
        fc.pre(!('data' in before) && !('data' in after));
        const members = [before, { data: items }, after]
          .map((part) => JSON.stringify(part, null, spaces).trim().slice(1, -1).trim())
          .filter(Boolean);
        const read = cut(new JsonTokenizer('f.json', inside('data')), `{${members.join(',')}}`, chunks);
        expect(read.items).toEqual(JSON.parse(JSON.stringify(items)));
      }),
      { numRuns: times(60) },
    );
  });

  it.each(['{"x":"', '{"data":[],"x":"'])('nor is what is around it collected without end: %s', (start) => {
    const splitter = new JsonTokenizer('f.json', inside('data'));
    const chunk = Buffer.from('x'.repeat(1 << 20));
    splitter.push(Buffer.from(start));
    expect(() => {
      for (let turn = 0; turn < 64; turn++) splitter.push(chunk);
    }).toThrow('f.json:1: what is around the array is larger than 16 MiB');
  });

  it('an item without end is refused, not collected', () => {
    const splitter = new JsonTokenizer('f.json', ARRAY);
    const chunk = Buffer.from('x'.repeat(1 << 20));
    splitter.push(Buffer.from('[{"a":"'));
    expect(() => {
      for (let turn = 0; turn < 64; turn++) splitter.push(chunk);
    }).toThrow('f.json:1: an item is larger than 16 MiB');
  });
});

describe('items one after another', () => {
  const VALUES: JsonBody = { items: 'values', path: [], others: [] };
  const between = fc.constantFrom('', '\n', ' ', '\r\n', '\n\n\t');
  const object = fc.dictionary(spelled, value);

  it('are cut, whatever white space is between and within them, with the lines on which they begin', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(object, between)), indent, sizes, (written, spaces, chunks) => {
        let text = '';
        const lines: number[] = [];
        for (const [item, space] of written) {
          lines.push(text.split('\n').length);
          text += `${JSON.stringify(item, null, spaces)}${space}`;
        }
        const read = cut(new JsonTokenizer('f.json', VALUES), text, chunks);
        expect(read.items).toEqual(written.map(([item]) => JSON.parse(JSON.stringify(item))));
        expect(read.lines).toEqual(lines);
        expect(read.fileLines).toEqual(lines);
      }),
      { numRuns: times(60) },
    );
  });

  it.each([
    ['{"a":1}\n{"a"', 'f.json:2: the text ends in the middle of item 2'],
    ['{"a":1},\n{"a":2}', 'f.json:1: "," follows item 1'],
    ['{"a":1}}', 'f.json:1: "}" follows item 1'],
    ['{"a":1}]', 'f.json:1: "]" follows item 1'],
  ])('%j is refused: %s', (text, message) => {
    for (const size of [1, 4, 100]) {
      expect(() => cut(new JsonTokenizer('f.json', VALUES), text, [size])).toThrow(message);
    }
  });

  it('a value that is no object is an item, which is rejected later', () => {
    expect(cut(new JsonTokenizer('f.json', VALUES), '{} 12 "x" null', [3]).items).toEqual([
      {},
      12,
      'x',
      null,
    ]);
  });
});

describe('JSON Lines', () => {
  const end = fc.constantFrom('\n', '\r\n', '\n\n', '\n  \n', '\n\t\r\n');

  it('are cut into lines, those of white space left out', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(value, end)), fc.boolean(), sizes, (written, open, chunks) => {
        let text = '';
        const lines: number[] = [];
        for (const [item, lineEnd] of written) {
          lines.push(text.split('\n').length);
          text += JSON.stringify(item) + lineEnd;
        }
        if (open) text = text.trimEnd();
        const read = cut(new JsonTokenizer('f.ndjson', { ...ARRAY, items: 'lines' }), text, chunks);
        expect(read.items).toEqual(written.map(([item]) => JSON.parse(JSON.stringify(item))));
        expect(read.lines).toEqual(lines);
        expect(read.fileLines).toEqual(lines);
      }),
      { numRuns: times(60) },
    );
  });
});
