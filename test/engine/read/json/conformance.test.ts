/**
 * The texts of JSONTestSuite (https://github.com/nst/JSONTestSuite; MIT, see its LICENSE in `fixtures/json-test-suite`), in
 * base64, since many are not UTF-8: those that every parser must accept (`y_`), must refuse (`n_`), and may do either (`i_`).
 * Each is read as a value of an item.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ProfilesError } from '../../../../src/engine/errors.js';
import { FIXTURES, readText } from '../reading.js';

const encoded = JSON.parse(readFileSync(`${FIXTURES}json-test-suite/cases.json`, 'utf8')) as Record<
  string,
  string
>;
const cases = new Map(Object.entries(encoded).map(([name, text]) => [name, Buffer.from(text, 'base64')]));
// The suite's two large ones, which are made of one piece each.
cases.set('n_structure_100000_opening_arrays', Buffer.from('['.repeat(100_000)));
cases.set('n_structure_open_array_object', Buffer.from(`${'[{"":'.repeat(50_000)}\n`));

const named = (prefix: string): [string, Buffer][] => [...cases].filter(([name]) => name.startsWith(prefix));

/** What becomes of an item that has the text as a value: the value that is sent, or why nothing is. */
async function outcomeOf(
  text: Buffer,
  form: 'array' | 'lines',
): Promise<{ sent: unknown } | { refused: string }> {
  const item = Buffer.concat([Buffer.from('{"company_id":"c1","v":'), text, Buffer.from('}')]);
  const [open, close] = form === 'array' ? ['[', ']'] : ['{"company_id":"c0"}\n', '\n'];
  try {
    const file = Buffer.concat([Buffer.from(open!), item, Buffer.from(close!)]);
    const { items, reasons } = await readText(form === 'array' ? 'f.json' : 'f.ndjson', file);
    const found = (items as { company_id: string; metadata?: { v: unknown } }[]).find(
      (i) => i.company_id === 'c1',
    );
    if (found) return { sent: found.metadata!.v };
    return { refused: reasons.join() };
  } catch (error) {
    if (!(error instanceof ProfilesError)) throw error;
    return { refused: 'error' };
  }
}

/** Valid JSON that would lose something on its way. */
const LOSES: Record<string, RegExp> = {
  y_object_duplicated_key: /: v: the key "a" appears twice$/,
  y_object_duplicated_key_and_value: /: v: the key "a" appears twice$/,
};

/** What becomes of texts about which parsers differ; null: they are sent as they are. */
const EITHER: [name: RegExp, refusal: RegExp | null][] = [
  [/^i_number_too_big_pos_int/, null],
  [/500_nested/, /: v has more than 64 levels$/],
  [/^i_number/, /: v: \S+ cannot be represented exactly as a number; write it in quotes$/],
  [
    /key_lone|[12](?:nd|st)_(?:valid_)?surrogate|incomplete|lonely|invalid_surrogate|inverted|lone_second/,
    /: v: \\u\w{4} is half of a character/,
  ],
  // No UTF-8, or a byte order mark within.
  [/^i_/, /^error$/],
];

describe.each(['array', 'lines'] as const)('in %s', (form) => {
  test.each(named('y_'))('%s is accepted as it is', async (name, text) => {
    const outcome = await outcomeOf(text, form);
    if (LOSES[name]) expect(outcome).toEqual({ refused: expect.stringMatching(LOSES[name]) });
    // Zero has no sign when it is written again.
    else expect(outcome).toEqual({ sent: JSON.parse(text.toString().replace(/-0(?=\s*\])/, '0')) });
  });

  test.each(named('n_'))('%s is refused', async (_, text) => {
    expect(await outcomeOf(text, form)).toEqual({ refused: expect.any(String) });
  });

  test.each(named('i_'))('%s is accepted as it is, or refused', async (name, text) => {
    const outcome = await outcomeOf(text, form);
    const refusal = EITHER.find(([pattern]) => pattern.test(name))![1];
    if (refusal === null) expect(outcome).toEqual({ sent: JSON.parse(text.toString()) });
    else expect(outcome).toEqual({ refused: expect.stringMatching(refusal) });
  });
});

test('the suite is whole', () => {
  const counts = ['y_', 'n_', 'i_'].map((prefix) => named(prefix).length);
  expect(counts).toEqual([95, 188, 35]);
});

test('an item that is cut off by a bad character is as long as the one before', async () => {
  // Both are so long that each is read by itself, and begins where the one before began.
  const item = (id: string, beginning: string): string => `{"company_id":"${id}","v":"${beginning}`;
  const whole = item('c1', 'x'.repeat(600_000));
  const broken = item('c2', `\u0001","w":"`);
  const text = [whole, broken.padEnd(whole.length, 'x')].map((one) => `${one}"}\n`).join('');
  await expect(readText('f.ndjson', text)).rejects.toThrow('f.ndjson:2: the line is not valid JSON');
});
