/** Items that are copied as they are in the file, compared with those that are parsed and laid out. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isLaidOut, jsonLayout } from '../../../../src/engine/read/json/layout.js';
import { PlainItem, typeOf } from '../../../../src/engine/read/json/plain-item.js';
import { type MappingRules, NO_RULES } from '../../../../src/engine/read/mapping/rules.js';
import { constantsOf } from '../../../../src/engine/read/mapping/targets.js';
import { viewOf } from '../../../../src/engine/read/text/fours.js';
import type { OpenedInput } from '../../../../src/engine/read/types.js';

const COMPANIES: OpenedInput = {
  path: 'a.ndjson',
  location: 'a.ndjson',
  kind: 'companies',
  format: 'ndjson',
  encoding: 'utf-8',
  compression: null,
  delimiter: null,
  columns: [],
  targets: [],
  idColumn: 'company_id',
  companyIdColumn: null,
  rules: NO_RULES,
  constants: [],
  maxCellBytes: 1024,
  body: null,
  selection: null,
  roundNumbers: false,
  stamp: { size: 0, mtimeMs: 0 },
};
const USERS: OpenedInput = { ...COMPANIES, kind: 'users', idColumn: 'id', companyIdColumn: 'company_id' };

const withRules = (input: OpenedInput, rules: MappingRules): OpenedInput => ({
  ...input,
  rules,
  constants: constantsOf(rules),
});

interface Laid {
  item: string;
  id: string;
  company: string;
}

/** Reads texts one after another out of one batch, with a quote and a digit around each. */
function plainly(input: OpenedInput, texts: readonly string[]): (Laid | null)[] {
  const plain = new PlainItem(input);
  const bytes = Buffer.from(texts.map((text) => `"9${text}9"`).join(''));
  plain.begin(bytes);
  let at = 0;
  return texts.map((text) => {
    const start = at + 2;
    const end = start + Buffer.byteLength(text);
    at = end + 2;
    if (!plain.read(start, end)) return null;
    const target = Buffer.alloc(plain.size + 20, 0x2e);
    plain.write({ bytes: target, view: viewOf(target) }, 10);
    expect(target.toString('latin1', 0, 10) + target.toString('latin1', 13 + plain.size)).toBe(
      '.'.repeat(17),
    );
    return {
      item: target.toString('utf8', 10, 10 + plain.size),
      id: bytes.toString('utf8', plain.id, plain.idEnd),
      company: bytes.toString('utf8', plain.company, plain.companyEnd),
    };
  });
}

const plainlyOne = (text: string, input = COMPANIES): string | null =>
  plainly(input, [text])[0]?.item ?? null;

/** The same item by way of `JSON.parse`; a reason, or what the parser says. */
function parsed(input: OpenedInput, text: string): Laid | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return String(error);
  }
  const laid = jsonLayout(input)(value, text);
  return isLaidOut(laid) ? laid : String(laid);
}

// Texts as other programs spell them: white space, escapes and digits that JSON.stringify would not write.
const space = fc.constantFrom('', '', '', ' ', '\n', '\t\r\n ');
const string = fc
  .array(
    fc.constantFrom(
      'a',
      'é',
      '株',
      '😀',
      ' ',
      '\\"',
      '\\\\',
      '\\n',
      '\\/',
      '\\u0041',
      '\\u001f',
      '\\ud83d',
      '\\t',
      '\u2028',
    ),
    { maxLength: 5 },
  )
  .map((parts) => `"${parts.join('')}"`);
const number = fc.oneof(
  {
    arbitrary: fc.constantFrom('0', '-0', '1.0', '1.10', '1e5', '1E+2', '0.0000001', '0.000001', '-0.5'),
    weight: 5,
  },
  {
    arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
    weight: 5,
  },
  { arbitrary: fc.tuple(fc.integer(), fc.nat(9_999)).map(([a, b]) => `${a}.${b}`), weight: 5 },
  fc.constantFrom('123456789012345', '1234567890123456', '12345678901234567', '1e400', '0.1234567890123456'),
  fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }).map(String),
);
const scalar = fc.oneof(
  { arbitrary: string, weight: 3 },
  { arbitrary: number, weight: 3 },
  fc.constantFrom('true', 'false', 'null'),
);
const nested = fc.oneof(
  fc.jsonValue().map((value) => JSON.stringify(value)),
  fc.tuple(space, scalar, space, scalar).map(([a, x, b, y]) => `[${a}${x},${b}${y} ]`),
  scalar.map((value) => `{"b" : ${value}}`),
);
const name = fc
  .oneof(
    {
      arbitrary: fc.constantFrom('a', 'b', 'c', 'metadata', 'é', '__proto__', 'constructor', '_profiles_x'),
      weight: 12,
    },
    fc.constantFrom('company_id', 'id', '"\\', '0', '07'),
  )
  .map((text) => JSON.stringify(text));
const member = (held: fc.Arbitrary<string>): fc.Arbitrary<[name: string, text: string]> =>
  fc
    .tuple(space, name, space, space, held, space)
    .map(([a, key, b, c, v, d]) => [key, `${a}${key}${b}:${c}${v}${d}`]);
const object = (held: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .oneof(
      { arbitrary: fc.uniqueArray(member(held), { maxLength: 6, selector: ([key]) => key }), weight: 5 },
      fc.array(member(held), { maxLength: 6 }),
    )
    .map((members) => `{${members.map(([, text]) => text).join(',')}}`);
const identified = (rest: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(fc.constantFrom('"company_id":"c1","id":"u1"', '"id" : "u1", "company_id": "é株"'), rest, space)
    .map(([ids, text, after]) => (text === '{}' ? `{${ids}}${after}` : `{${ids},${text.slice(1)}${after}`));
const value = fc.oneof({ arbitrary: scalar, weight: 4 }, nested, object(fc.oneof(scalar, nested)));
const item = fc.oneof({ arbitrary: identified(object(value)), weight: 8 }, object(value), nested);
const rules = fc.record({
  map: fc.constantFrom([], [['a', 'b']] as const, [['b', 'é"']] as const),
  include: fc.constantFrom([], ['a', 'metadata']),
  exclude: fc.constantFrom([], ['c']),
  set: fc.constantFrom(
    [],
    [['k', 'x"']] as const,
    [
      ['a', '5'],
      ['b', '7'],
    ] as const,
  ),
  types: fc.constantFrom(
    [],
    [['a', 'string']] as const,
    [['a', 'number']] as const,
    [['b', 'integer']] as const,
  ),
  infer: fc.boolean(),
  empty: fc.constant('omit' as const),
});
const input = fc
  .tuple(fc.constantFrom(COMPANIES, USERS), fc.oneof(fc.constant(NO_RULES), rules))
  .map(([opened, some]): OpenedInput => withRules(opened, some));

describe('an item that is copied', () => {
  it('is the item that is parsed, byte for byte, however it is spelled and mapped', () => {
    const seen = { copied: 0, sent: 0 };
    fc.assert(
      fc.property(input, fc.array(item, { maxLength: 5 }), (opened, texts) => {
        plainly(opened, texts).forEach((laid, index) => {
          const expected = parsed(opened, texts[index]!);
          if (typeof expected !== 'string') seen.sent++;
          if (laid === null) return;
          seen.copied++;
          expect(laid).toEqual(expected);
        });
      }),
      { numRuns: 3_000 },
    );
    expect(seen.copied).toBeGreaterThan(0.5 * seen.sent);
  });

  it('is JSON: what the parser refuses is never taken', () => {
    const damage = fc.tuple(
      fc.nat(),
      fc.nat(2),
      fc.constantFrom('"', '\\', '{', '}', '[', ',', ':', '0', '-', '.', 'e', '\n', '\u0001', 'x'),
    );
    fc.assert(
      fc.property(item, fc.array(damage, { minLength: 1, maxLength: 2 }), (text, damages) => {
        let damaged = text;
        for (const [where, removed, put] of damages) {
          const at = where % (damaged.length + 1);
          damaged = damaged.slice(0, at) + put + damaged.slice(at + removed);
        }
        fc.pre(Buffer.from(damaged).toString() === damaged); // a file has no halves of characters
        const [laid] = plainly(COMPANIES, [damaged]);
        if (laid !== null) expect(laid).toEqual(parsed(COMPANIES, damaged));
      }),
      { numRuns: 5_000 },
    );
  });

  it.each([
    '{"company_id":"c1","name":"Åsa","n":5,"x":-1.25,"t":true,"f":false,"u":null,"big":123456789012345}',
    '{"name":"a \\"b\\"\\n","company_id":"c1"}',
    '{"company_id":"c1"}',
    '{"company_id":"c1","metadata":{"a":1,"b":{"c":[1]}}}',
    '{"company_id":"c1","metadata":{}}',
    '{"company_id":"c1","metadata":null,"a":""}',
    ' { "company_id" : "c1" , "a" : [ 1 , 2 ] } ',
    '{"company_id":"c1","__proto__":"p","constructor":1}',
    '{"company_id":"c1","a":1.0,"b":1e3,"c":"\\u00e9\\/","d":-0}',
  ])('%s', (text) => expect(plainlyOne(text)).toBe((parsed(COMPANIES, text) as Laid).item));

  it.each([
    ['an identifier twice', '{"company_id":"c1","company_id":"c2"}'],
    ['a field twice', '{"company_id":"c1","a":1,"a":2}'],
    ['a member twice', '{"company_id":"c1","metadata":{"a":1,"a":2}}'],
    ['a key beside metadata and in it', '{"company_id":"c1","a":1,"metadata":{"a":2,"b":3}}'],
    ['a key twice in a value', '{"company_id":"c1","a":{"b":1,"b":2}}'],
    ['half of a surrogate pair', '{"company_id":"c1","a":"\\ud83d"}'],
    ['such a half in a name within', '{"company_id":"c1","a":{"\\ude00":1}}'],
    ['names that JavaScript moves', '{"company_id":"c1","b":1,"0":2}'],
    ['no identifier', '{"a":1}'],
    ['an empty one', '{"company_id":""}'],
    ['one with escapes', '{"company_id":"\\u0041"}'],
    ['a number with decimals', '{"company_id":5.5}'],
    ['a null marker', '{"company_id":"NULL"}'],
    ['what no double holds', '{"company_id":"c1","a":12345678901234567}'],
    ['such a number within', '{"company_id":"c1","a":[1e400]}'],
    ['and in what is left out', '{"company_id":"c1","_profiles_line":1e400}'],
    ['metadata that is no object', '{"company_id":"c1","metadata":[1]}'],
    ['two values', '{"company_id":"c1"} {}'],
    ['no object', '["company_id"]'],
    [
      'more members than are counted',
      `{"company_id":"c1"${Array.from({ length: 1_100 }, (_, n) => `,"k${n}":1`).join('')}}`,
    ],
  ])('%s: left to the parser', (_, text) => expect(plainlyOne(text)).toBeNull());

  it('may break off where the batch ends, wherever that is', () => {
    const whole = '{"company_id":"c1","name":"Åsa","a":1.5,"metadata":{"b":true}}';
    const plain = new PlainItem(COMPANIES);
    for (let length = 0; length <= whole.length; length++) {
      const text = `${whole}${whole.slice(0, length)}`;
      const bytes = Buffer.from(text);
      plain.begin(Uint8Array.from(bytes));
      const first = Buffer.byteLength(whole);
      expect(plain.read(0, first)).toBe(true);
      expect(plain.read(first, bytes.length)).toBe(length === whole.length);
    }
  });

  it('leaves out of metadata what --set says, even under the name of an identifier', () => {
    const set = withRules(COMPANIES, { ...NO_RULES, set: [['company_id', 'x']] });
    const text = '{"company_id":"c1","metadata":{"company_id":"y","a":1}}';
    expect(plainlyOne(text, set)).toBe('{"company_id":"c1","metadata":{"a":1,"company_id":"x"}}');
    expect(parsed(set, text)).toMatchObject({ item: plainlyOne(text, set) });
  });

  it('after any other is the same: nothing is left of the one before', () => {
    const texts = [
      '{"company_id":"c1","a":1,"metadata":{"b":1}}',
      '{"company_id":"c2","b":2}',
      '{"a":3}',
      '{"a":[4],"company_id":"c3"}',
      '{"company_id":"c4","metadata":{"a":5}}',
    ];
    expect(plainly(COMPANIES, texts)).toEqual(texts.map((text) => plainly(COMPANIES, [text])[0]));
  });

  it('tells the JSON types of its members', () => {
    const plain = new PlainItem(COMPANIES);
    const text =
      '{"company_id":"c1","a":"\\n","b":5,"c":0.5,"d":true,"e":null,"f":[],"g":1.0,"h":"\\u0041","i":1e-7}';
    plain.begin(Buffer.from(text));
    expect(plain.read(0, text.length)).toBe(true);
    const types = Array.from({ length: plain.flat.count }, (_, index) => typeOf(plain.flat, index));
    expect(types).toEqual([
      'string',
      'string',
      'integer',
      'number',
      'boolean',
      'null',
      'object',
      'integer',
      'string',
      'number',
    ]);
  });
});
