import { expect, it } from 'vitest';
import { storyOf, type Upsert } from '../../src/sandbox/profile.js';

const upsert = (n: number, metadata: string | null, companyId: string | null = null): Upsert => ({
  n,
  bulk: 1,
  at: n * 1_000,
  metadata,
  companyId,
});

it('tells what each upsert added, changed, removed and left', () => {
  const story = storyOf([
    upsert(1, '{"a":1,"b":"x","__proto__":1}', 'acme'),
    upsert(2, '{"a":1,"b":"y","c":null,"__proto__":null}', 'acme'),
    upsert(3, null),
    upsert(4, '{"a":null,"b":"y"}', 'globex'),
    upsert(5, '{"a":1.0}'),
  ]);
  expect(story.map(({ changes, unchanged, company }) => ({ changes, unchanged, company }))).toEqual([
    {
      changes: [
        { key: 'a', before: null, after: '1' },
        { key: 'b', before: null, after: '"x"' },
        { key: '__proto__', before: null, after: '1' },
      ],
      unchanged: 0,
      company: { before: null, after: 'acme' },
    },
    {
      changes: [
        { key: 'b', before: '"x"', after: '"y"' },
        { key: '__proto__', before: '1', after: null },
      ],
      unchanged: 2,
      company: null,
    },
    { changes: [], unchanged: 0, company: null },
    {
      changes: [{ key: 'a', before: '1', after: null }],
      unchanged: 1,
      company: { before: 'acme', after: 'globex' },
    },
    { changes: [{ key: 'a', before: null, after: '1.0' }], unchanged: 0, company: null },
  ]);
});
