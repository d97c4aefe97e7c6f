/** Both ways through the passes: items that are copied, and the same ones where they have to be parsed. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { times } from '../../../support/times.js';
import { read, readText } from '../reading.js';

const value = fc.oneof(
  fc.constantFrom('x', '', 'a "quoted" é', 5, -0.25, 1e21, true, null, [], { deep: [1, 'x'] }),
  fc.jsonValue({ maxDepth: 1 }),
);
const item = fc.record(
  {
    company_id: fc.oneof(
      { arbitrary: fc.constantFrom('c1', 'c2', '1.23E+11', 'é'), weight: 9 },
      fc.constantFrom('', 5, null),
    ),
    a: value,
    b: value,
    metadata: fc.oneof(
      { arbitrary: fc.record({ a: value, c: value, company_id: value }, { requiredKeys: [] }), weight: 4 },
      value,
    ),
    c: value,
  },
  { requiredKeys: ['company_id'] },
);

it('plan and items are the same', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(item, { minLength: 1, maxLength: 8 }), async (items) => {
      const plain = items.map((one) => `${JSON.stringify(one)}\n`).join('');
      // A name with an escape is the same name, but no longer one that is known by its bytes.
      const escaped = plain.replaceAll('"company_id"', '"\\u0063ompany_id"');
      const options = { kind: 'companies', id: 'company_id', itemLimitBytes: 90 } as const;
      const [one, other] = [
        await readText('a.ndjson', plain, options),
        await readText('a.ndjson', escaped, options),
      ];
      const { digest: _, marks: __, size: ___, ...plan } = one.scan;
      expect(other.scan).toMatchObject(plan);
      expect(other.texts).toEqual(one.texts);
      expect(other.lines).toEqual(one.lines);
      expect(other.reasons).toEqual(one.reasons);
    }),
    { numRuns: times(20) },
  );
});

const unit = fc.oneof(
  fc.constantFrom(...'"\\/\b\n\u0000\u007f\u0080\u07ff\u0800\uffff\ud83d\ude00aé株😀'.split('')),
  fc.integer({ max: 0xffff, min: 0 }).map((code) => String.fromCharCode(code)),
);
const SPELLINGS = [
  (text: string) => JSON.stringify(text).slice(1, -1),
  (text: string) => `\\u${text.charCodeAt(0).toString(16).padStart(4, '0')}`,
  (text: string) => `\\u${text.charCodeAt(0).toString(16).padStart(4, '0').toUpperCase()}`,
  (text: string) => (text === '/' ? '\\/' : JSON.stringify(text).slice(1, -1)),
];

it('a text is sent as JSON.stringify writes it, however its characters are written', async () => {
  const spelled = fc.tuple(unit, fc.constantFrom(...SPELLINGS));
  const texts = fc.array(fc.array(spelled, { maxLength: 12 }), { minLength: 1, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(texts, async (rows) => {
      const values = rows.map((units) => units.map(([text]) => text).join(''));
      const lines = rows.map((units) => units.map(([text, spell]) => spell(text)).join(''));
      const { texts, reasons } = await readText(
        'a.ndjson',
        lines.map((line, row) => `{"company_id":"c${row}","a":"${line}"}\n`).join(''),
      );
      expect(texts).toEqual(
        values.flatMap((value, row) =>
          Buffer.from(value).toString() === value
            ? [JSON.stringify({ company_id: `c${row}`, metadata: { a: value } })]
            : [],
        ),
      );
      expect(reasons).toHaveLength(rows.length - texts.length);
    }),
    { numRuns: times(50) },
  );
});

it('users: their companies are told apart from none', async () => {
  const { items } = await read('input/users-body.json');
  expect(items).toContainEqual({ user_id: 'u2' });
  const flat = await readText(
    'users.ndjson',
    '{"user_id":"u1","company_id":"c1","x":1}\n{"user_id":"u2","company_id":""}\n{"user_id":"u3","company_id":null}\n',
  );
  expect(flat.items).toEqual([
    { user_id: 'u1', company_id: 'c1', metadata: { x: 1 } },
    { user_id: 'u2' },
    { user_id: 'u3' },
  ]);
});
