/** Profiles beside those of `profiles.md`: any JSON, and any identifier. */
import fc from 'fast-check';
import { expect } from 'vitest';
import { COMPANIES, COMPANY, post, timed as test } from './http.js';

test('a profile is what JSON.parse finds, whatever the JSON', async ({ clock, sandbox }) => {
  const value = fc.jsonValue().filter((one) => one !== null);
  const item = fc.record(
    { company_id: fc.string({ minLength: 1 }), metadata: fc.dictionary(fc.string(), value) },
    { requiredKeys: ['company_id'] },
  );
  const items = fc.uniqueArray(item, { minLength: 1, selector: ({ company_id }) => company_id });
  await fc.assert(
    fc.asyncProperty(items, fc.constantFrom('', ' ', '\n', '\t  '), async (list, indent) => {
      sandbox.reset();
      const json = JSON.stringify({ companies: list }, null, indent);
      expect((await post(sandbox, COMPANIES, json)).status).toBe(202);
      clock.advance(300);
      for (const { company_id, metadata } of (JSON.parse(json) as { companies: typeof list }).companies)
        expect(sandbox.show('companies', company_id)?.metadata).toEqual(metadata ?? {});
    }),
  );
});

test.for(['', ' ', 'a\u0000b', '../x', '😀', "'; DROP TABLE entry; --", 'x'.repeat(10_000)])(
  'a profile can have any identifier: %j',
  async (tail, { sandbox }) => {
    const id = `id${tail}`;
    await post(sandbox, COMPANY, { company_id: id, metadata: { [id]: id } });
    expect(sandbox.show('companies', id)?.metadata).toEqual({ [id]: id });
  },
);
