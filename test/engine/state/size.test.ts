import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { acknowledged, aJob, aRequest, aRun, rowsOf, test } from './support/state.js';

const PROFILES = 100_000;
const CHUNK = 5_000;

/** Hashes that look as random as real ones do. */
const hashes = (from: number, salt: bigint): BigUint64Array =>
  BigUint64Array.from({ length: CHUNK }, (_, i) => (BigInt(from + i + 1) + salt) * 0x9e3779b97f4a7c15n);

test('fingerprints of 100,000 profiles, each imported twice, take at most 40 bytes a profile on disk', async ({
  state,
  folder,
  clock,
  reopen,
}) => {
  const scope = { account: 'a', region: 'r', base_url: 'https://api.test' };
  for (const run of ['first', 'second']) {
    await state.runs.start(aRun({ run, scope }));
    for (let seq = 1; seq <= PROFILES / CHUNK; seq++) {
      const from = (seq - 1) * CHUNK;
      const salt = run === 'first' ? 1n << 40n : 1n << 41n;
      const prints = {
        ids: hashes(from, 0n),
        contents: hashes(from, salt),
        records: hashes(from, salt + 1n),
      };
      const job = aJob(`${run}-${seq}`);
      await state.requests.record(run, scope, 'users', aRequest({ seq, rows: CHUNK }), rowsOf(prints));
      await state.requests.record(run, scope, 'users', acknowledged(job, { seq, rows: CHUNK }));
      clock.pass(1_000);
      await state.jobs.update(scope, { ...job, status: 'completed' });
    }
    await state.known.compact(scope, 'users');
  }
  await state.close();
  const bytes = readdirSync(folder).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
  // Half of it is room for what has not been compacted; what compaction frees is given back.
  expect(bytes / PROFILES).toBeLessThan(30);

  const index = await (await reopen()).known.load(scope, 'users');
  const last = { ids: hashes(PROFILES - CHUNK, 0n), contents: hashes(PROFILES - CHUNK, 1n << 41n) };
  expect(index.matches(last, CHUNK - 1)).toBe(true);
  expect(index.matches({ ...last, contents: last.ids }, CHUNK - 1)).toBe(false);
});

test('rows that are kept for their history take at most 8 bytes each on disk, and are given back when they are pruned', async ({
  state,
  folder,
  clock,
  reopen,
}) => {
  const scope = { account: 'a', region: 'r', base_url: 'https://api.test' };
  const sizeOf = (): number => statSync(join(folder, 'state.db')).size;
  const run = async (name: string, keeps: boolean): Promise<number> => {
    const open = await reopen();
    await open.runs.start(aRun({ run: name, scope }));
    for (let seq = 1; seq <= PROFILES / CHUNK; seq++) {
      const from = (seq - 1) * CHUNK;
      const ids = hashes(from, 0n);
      const lines = Uint32Array.from(ids, (_, row) => from + row + 2);
      const none = { ids: ids.subarray(0, 0), lines: [] };
      const sent = { ids, lines: [{ input: 0, lines }] };
      const rows = { sent, leftOut: none, overtaken: none, doubtful: none };
      const prints = { ids, contents: ids, records: ids };
      await open.requests.record(
        name,
        scope,
        'users',
        aRequest({ seq, rows: CHUNK }),
        rowsOf(prints, [], keeps ? rows : null),
      );
    }
    await open.close();
    return sizeOf();
  };
  await state.close();
  const [empty, without, both] = [sizeOf(), await run('without', false), await run('with', true)];
  const kept = both - without - (without - empty);
  expect(kept / PROFILES).toBeGreaterThan(6);
  expect(kept / PROFILES).toBeLessThan(8);
  const last = await reopen();
  clock.pass(1);
  await last.history.prune(clock.now());
  await last.close();
  expect(sizeOf()).toBeLessThan(both - 0.9 * kept);
});
