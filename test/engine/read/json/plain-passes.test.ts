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
