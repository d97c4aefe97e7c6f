import { describe, expect, test } from 'vitest';
import { serialize } from '../../../src/engine/send/chunk.js';
import { cut, mergedOf, rowsOf } from '../support/cut.js';
import { idHash, itemOf } from '../support/rows.js';

describe('serialize', () => {
  test.each(['companies', 'users'] as const)('the body of %s', async (kind) => {
    const [chunk] = await cut(rowsOf('a', 'b'), { kind });
    const { body, items, merged } = serialize(chunk!);
    expect(body.toString()).toBe(`{"${kind}":[{"company_id":"a"},{"company_id":"b"}]}`);
    expect([items, merged]).toEqual([2, 0]);
  });

  test('an item that is not merged goes out as it is, to the byte', async () => {
    const row = { id: 'a', metadata: '{"price":1.10,"name":"\\u00e9 é"}' };
    const [chunk] = await cut([row, { id: 'b' }, { id: 'b' }]);
    expect(serialize(chunk!).body.toString()).toBe(`{"companies":[${itemOf(row)},{"company_id":"b"}]}`);
  });

  test('a key like __proto__ is a key like any other', async () => {
    const [chunk] = await cut([
      { id: '__proto__', metadata: '{"__proto__":{"admin":true},"constructor":1}' },
      { id: '__proto__', metadata: '{"__proto__":"later"}' },
    ]);
    expect(serialize(chunk!).body.toString()).toBe(
      '{"companies":[{"company_id":"__proto__","metadata":{"__proto__":"later","constructor":1}}]}',
    );
  });

  test('a user’s company that a later row does not name stays', () => {
    const items = ['{"user_id":"u","company_id":"x"}', '{"user_id":"u","metadata":{"n":1}}'];
    const id = idHash('u');
    const rows = {
      kind: 'users',
      body: Buffer.from(''),
      items: Buffer.from(`${items.join()},`),
      ends: Uint32Array.of(items[0]!.length + 1, items.join().length + 1),
      ids: BigUint64Array.of(id, id),
      shared: new Set([id]),
    } as const;
    expect(serialize(rows).body.toString()).toBe(
      '{"users":[{"user_id":"u","company_id":"x","metadata":{"n":1}}]}',
    );
  });

  test('two ids whose hashes meet stay two profiles', async () => {
    const [chunk] = await cut(rowsOf('a', 'b'));
    const met = BigUint64Array.of(1n, 1n);
    const body = mergedOf({
      ...chunk!,
      ids: met,
      shared: new Set([1n]),
    });
    expect(body.map(({ company_id }) => company_id)).toEqual(['a', 'b']);
  });

  test('a merged item stands where its identifier stood first', async () => {
    const [chunk] = await cut(rowsOf('a', 'b', 'a'));
    expect(serialize(chunk!).body.toString()).toBe('{"companies":[{"company_id":"a"},{"company_id":"b"}]}');
  });
});
