/** The built command reads large Parquet files in a thread with parquet-wasm, and without it where that ends. */
import { cpSync, existsSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { BIN, built, node } from '../support/child.js';
import { scratch } from '../support/cli.js';
import { FaultServer } from '../support/fault-server.js';

const ROOT = resolve(import.meta.dirname, '../..');
const FILE = join(ROOT, 'fixtures/columnar/many.parquet');

beforeAll(built);

const NAMES = [null, '', 'a "quoted" name', 'two\nlines \\'];

/** Row `i`, as `make-parquet.mjs` makes it. */
const companyOf = (i: number): object => ({
  ...(i % 5 > 0 && { name: NAMES[i % 5] ?? `Åsa ${i % 9}` }),
  ...(i % 1000 > 0 && { number: i * 1_000_003 - 5 }),
  wide: String(9007199254740900n + BigInt(i)),
  part: i / 8,
  ...(i % 3 > 0 && { yes: i % 2 === 0 }),
  day: new Date(Date.UTC(2000, 0, 1 + (i % 366))).toISOString().slice(0, 10),
  local: `2024-03-31T12:30:${String(i % 60).padStart(2, '0')}.500`,
  money: (i % 100) / 4,
});

async function imported(bin: string): Promise<object[]> {
  const service = await new FaultServer().start();
  onTestFinished(() => service.stop());
  const words = [
    'import',
    FILE,
    '--exclude',
    'left_out',
    '--base-url',
    service.url,
    '--chunk-size',
    '1000',
    '--no-wait',
  ];
  const { code, stderr } = await node([bin, ...words], {
    cwd: scratch(),
    env: { PROFILES_TOKEN: 'secret' },
  }).ended;
  expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
  const { companies } = service.ledger.profiles;
  expect([...companies.keys()]).toEqual(Array.from({ length: 100_001 }, (_, i) => `c${i}`));
  return [...companies.values()];
}

const EXPECTED = JSON.stringify(Array.from({ length: 100_001 }, (_, i) => companyOf(i)));

it('every value arrives as it is in the file', async () => {
  expect(JSON.stringify(await imported(BIN)) === EXPECTED).toBe(true);
});

it('also when the thread ends, as it may at damaged files', async () => {
  const root = scratch();
  for (const name of ['bin', 'dist', 'package.json'])
    cpSync(join(ROOT, name), join(root, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  const mark = join(root, 'mark');
  writeFileSync(
    join(root, 'dist/arrow-worker.cjs'),
    `require('node:fs').writeFileSync(${JSON.stringify(mark)}, ''); throw new Error('trap');`,
  );
  expect(JSON.stringify(await imported(join(root, 'bin/profiles.js'))) === EXPECTED).toBe(true);
  expect(existsSync(mark)).toBe(true);
});
