import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonFault } from '../../../src/cli/settings/json.js';

describe('the first error of a text', () => {
  it.each([
    ['{"a":1,}', 1, 8, 'unexpected comma before }'],
    ['{\n  "a": 1\n  "b": 2\n}', 3, 3, 'expected a comma or }'],
    ['{a: 1}', 1, 2, 'expected a key in double quotes'],
    ["{'a': 1}", 1, 2, 'expected a key in double quotes'],
    ['{"a" 1}', 1, 6, 'expected a colon'],
    ['{"a": "b\n"}', 1, 7, 'the string is not closed, or contains a character that must be escaped'],
    ['{"a": tru}', 1, 7, 'expected a value'],
    ['{"a": 01}', 1, 7, 'expected a value'],
    ['{"a": [1, 2}', 1, 12, 'expected a comma or ]'],
    ['{"a": 1}\n// end', 2, 1, 'unexpected text after the end'],
    ['{"a": 1', 1, 8, 'expected a comma or }'],
  ])('%j', (text, line, column, reason) => {
    expect(jsonFault(text)).toEqual({ line, column, reason });
  });
});

it('finds an error exactly if JSON.parse does', () => {
  const parses = (text: string): boolean => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  };
  // JSON with up to three characters replaced: mostly broken, often only just.
  const nearlyJson = fc
    .tuple(
      fc.json(),
      fc.array(fc.tuple(fc.nat(), fc.constantFrom(...'{}[]",:0-1.eE\\u tfn\n\t')), { maxLength: 3 }),
    )
    .map(([text, edits]) =>
      edits.reduce((t, [at, c]) => t.slice(0, at % t.length) + c + t.slice((at % t.length) + 1), text),
    );
  fc.assert(
    fc.property(nearlyJson, (text) => {
      expect(jsonFault(text) === null).toBe(parses(text));
    }),
    { numRuns: 3_000 },
  );
});
