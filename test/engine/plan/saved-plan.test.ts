/** The plan file: what it says, and what of it is bound by its digest. */
import { expect, test } from 'vitest';
import {
  fileDigest,
  planFile,
  readPlan,
  type SavedPlan,
  sealed,
} from '../../../src/engine/plan/saved-plan.js';

const plan: SavedPlan = sealed({
  version: 1,
  totals: {
    read: 3,
    filtered: 0,
    rejected: 0,
    merged: 0,
    unchanged: 0,
    to_send: 3,
    requests: 2,
    bytes: 200,
    duplicates: 0,
  },
  account: 'production',
  region: 'eu',
  base_url: 'https://eu.example.com',
  item_format: 1,
  options: { chunkSize: 2, rules: { set: [['source', '"requests": "@requests@"']] } },
  inputs: [
    {
      path: 'companies.csv',
      kind: 'companies',
      format: 'csv',
      bytes: 60,
      digest: 'a'.repeat(64),
      read: 3,
      filtered: 0,
      rejected: 0,
      types: ['string', 'integer'],
      columns: [{ column: 'seats', key: 'seats', type: 'integer', empty: 0 }],
    },
  ],
  requests: [
    request({ first_row: 0, end_row: 2, first_line: 2, last_line: 3, rows: 2 }),
    request({ first_row: 2, end_row: 3, first_line: 4, last_line: 4, rows: 1 }),
  ],
  run: '20261120-101500-x7k2',
  created_at: '2026-11-20T10:15:00.000Z',
});

function request(
  where: Omit<SavedPlan['requests'][number], 'input' | 'bytes' | 'digest' | 'merged' | 'unchanged'>,
) {
  return { input: 0, ...where, merged: 0, unchanged: 0, bytes: 100, digest: 'b'.repeat(64) };
}

const read = (value: unknown): Promise<SavedPlan> =>
  readPlan(Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)), 'plan.json');

test('what was written is read back: totals first, one line for each request', async () => {
  const file = planFile(plan);
  expect(await read(file)).toEqual(plan);
  expect(Object.keys(JSON.parse(file)).slice(0, 2)).toEqual(['version', 'totals']);
  expect(file.split('\n').filter((line) => line.includes('"first_row"'))).toHaveLength(2);
  expect(fileDigest(Buffer.from('abc'))).toMatch(/^ba7816bf/);
});

test('another order of members and other space between them change nothing', async () => {
  const reversed = Object.fromEntries(Object.entries(plan).reverse());
  expect((await read(reversed)).digest).toBe(plan.digest);
  expect((await read(`\n${JSON.stringify(plan)}  `)).digest).toBe(plan.digest);
});

test('run and time are no part of the digest, so that the same plan made again has the same', async () => {
  const { digest, ...rest } = plan;
  expect(
    sealed({ ...rest, run: '20261121-000000-aaaa', created_at: '2026-11-21T00:00:00.000Z' }).digest,
  ).toBe(digest);
});

const [first, second] = plan.requests as [SavedPlan['requests'][number], SavedPlan['requests'][number]];
const [input] = plan.inputs as [SavedPlan['inputs'][number]];
const edits: Record<string, Partial<SavedPlan>> = {
  'the totals': { totals: { ...plan.totals, to_send: 2 } },
  'the account': { account: 'staging' },
  'the host': { base_url: 'https://evil.example.com' },
  'an option': { options: { ...plan.options, chunkSize: 3 } },
  'a type': { inputs: [{ ...input, types: ['string', 'string'] }] },
  'the digest of an input': { inputs: [{ ...input, digest: 'c'.repeat(64) }] },
  'the digest of a body': { requests: [{ ...first, digest: 'c'.repeat(64) }, second] },
  'the rows of a request': { requests: [{ ...first, end_row: 3 }, second] },
  'an offset': { requests: [{ ...first, offset: 12 }, second] },
  'a request less': { requests: [first] },
  'the order of requests': { requests: [second, first] },
};
test.each(Object.entries(edits))('edited: %s', async (_, edit) => {
  await expect(read({ ...plan, ...edit })).rejects.toMatchObject({
    exit: 2,
    message: 'plan.json: was edited after it was saved: its digest does not match',
  });
});

test.each<[string, unknown, string]>([
  ['nothing', '', 'is not a plan: it is not JSON'],
  ['not JSON', 'company_id,name', 'is not a plan: it is not JSON'],
  ['null', 'null', 'is not a plan: '],
  ['an array', [], 'is not a plan: '],
  ['another document', { companies: [] }, 'is not a plan: version: '],
  ['an unknown member', { ...plan, more: 1 }, 'is not a plan: Unrecognized key: "more"'],
  ['a run that would be a path', { ...plan, run: '../../x' }, 'is not a plan: run: is not a run'],
  [
    'rows that are no number',
    { ...plan, requests: [{ ...first, rows: -1 }] },
    'is not a plan: requests.0.rows: ',
  ],
  ['no inputs', { ...plan, inputs: [] }, 'is not a plan: inputs: '],
  [
    'a newer format',
    { ...plan, version: 2, surprise: true },
    'was saved by a newer version of profiles (format 2; this version reads 1)',
  ],
])('%s is refused', async (_, value, message) => {
  await expect(read(value)).rejects.toMatchObject({
    exit: 2,
    message: expect.stringContaining(`plan.json: ${message}`),
  });
});
