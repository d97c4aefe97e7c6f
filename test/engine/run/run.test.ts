import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { test as base, describe, expect } from 'vitest';
import { StateError, UsageError } from '../../../src/engine/errors.js';
import type { Kind } from '../../../src/engine/model.js';
import { type ImportOptions, importNumbers } from '../../../src/engine/options.js';
import { NO_RULES } from '../../../src/engine/read/index.js';
import { identityOf } from '../../../src/engine/run/record.js';
import { restoreOptions, storeOptions } from '../../../src/engine/run/recorded.js';
import { newRunId } from '../../../src/engine/run/session.js';
import type { StoredRun } from '../../../src/engine/state/runs.js';
import type { State } from '../../../src/engine/state/state.js';
import { openState } from '../../support/state.js';

const test = base.extend<{ state: State }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of the fixtures from the pattern
  state: async ({}, use) => {
    const folder = mkdtempSync(join(tmpdir(), 'profiles-run-'));
    const state = await openState(folder, Date.now);
    await use(state);
    await state.close();
    rmSync(folder, { recursive: true });
  },
});

const OPTIONS: ImportOptions = {
  ...importNumbers({}),
  maxCellBytes: 1_048_576,
  paths: ['companies.csv'],
  rules: NO_RULES,
  wait: true,
  waitTimeoutMs: null,
  intervalMs: null,
  invalid: 'none',
  rejects: null,
  outcomes: null,
  changedOnly: false,
  refreshAfterMs: null,
  maxChanged: null,
  trackKeys: false,
  dryRun: false,
  checkProperties: false,
  full: false,
  resume: false,
  failed: false,
  onFailure: 'stop',
};
const withRules = (over: Partial<ImportOptions['rules']>): ImportOptions => ({
  ...OPTIONS,
  rules: { ...NO_RULES, ...over },
});

describe('newRunId', () => {
  test('is the time in UTC and four letters, and can be typed', () => {
    const time = Date.UTC(2026, 10, 20, 10, 15, 0, 999);
    expect(newRunId(time, () => 0)).toBe('20261120-101500-aaaa');
    expect(newRunId(time, () => 0.999_999)).toBe('20261120-101500-9999');
  });

  test('sorts by time, and holds no letter that reads as another', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 4e12 }),
        fc.integer({ min: 1_000, max: 1e9 }),
        fc.infiniteStream(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })),
        (time, later, chance) => {
          const random = (): number => chance.next().value;
          const ids = [newRunId(time, random), newRunId(time + later, random)];
          expect([...ids].sort()).toEqual(ids);
          for (const id of ids) expect(id).toMatch(/^\d{8}-\d{6}-[a-hjkmnp-z2-9]{4}$/);
        },
      ),
    );
  });
});

describe('identityOf', () => {
  const scope = { account: 'production', region: 'eu', base_url: 'https://api.test' };
  const inputs: { digest: string; kind: Kind; path?: string }[] = [
    { digest: 'a', kind: 'companies', path: 'c.csv' },
    { digest: 'b', kind: 'users', path: 'u.csv' },
  ];
  const before = identityOf(scope, inputs, OPTIONS);

  test.each<[name: string, now: () => string]>([
    ['the region', () => identityOf({ ...scope, region: 'default' }, inputs, OPTIONS)],
    ['the host', () => identityOf({ ...scope, base_url: 'https://other.test' }, inputs, OPTIONS)],
    ['the content of a file', () => identityOf(scope, [inputs[0]!, { ...inputs[1]!, digest: 'c' }], OPTIONS)],
    [
      'the kind of a file',
      () => identityOf(scope, [inputs[0]!, { ...inputs[1]!, kind: 'companies' }], OPTIONS),
    ],
    ['the order of the files', () => identityOf(scope, [inputs[1]!, inputs[0]!], OPTIONS)],
    ['a file more', () => identityOf(scope, [...inputs, inputs[0]!], OPTIONS)],
    ['--kind', () => identityOf(scope, inputs, { ...OPTIONS, kind: 'users' })],
    ['--id', () => identityOf(scope, inputs, { ...OPTIONS, id: 'ID' })],
    ['--company-id', () => identityOf(scope, inputs, { ...OPTIONS, companyId: 'ID' })],
    ['--format', () => identityOf(scope, inputs, { ...OPTIONS, format: 'tsv' })],
    ['--delimiter', () => identityOf(scope, inputs, { ...OPTIONS, delimiter: ';' })],
    ['--quote', () => identityOf(scope, inputs, { ...OPTIONS, quote: "'" })],
    ['--escape', () => identityOf(scope, inputs, { ...OPTIONS, escape: '\\' })],
    ['--comment', () => identityOf(scope, inputs, { ...OPTIONS, comment: '#' })],
    ['--skip-lines', () => identityOf(scope, inputs, { ...OPTIONS, skipLines: 1 })],
    ['--lenient-quotes', () => identityOf(scope, inputs, { ...OPTIONS, lenientQuotes: true })],
    ['--short-rows', () => identityOf(scope, inputs, { ...OPTIONS, shortRows: 'pad' })],
    ['--excel-text', () => identityOf(scope, inputs, { ...OPTIONS, excelText: true })],
    ['--rename-duplicates', () => identityOf(scope, inputs, { ...OPTIONS, renameDuplicates: true })],
    ['--encoding', () => identityOf(scope, inputs, { ...OPTIONS, encoding: 'latin1' })],
    ['--map', () => identityOf(scope, inputs, withRules({ map: [['a', 'b']] }))],
    ['--include', () => identityOf(scope, inputs, withRules({ include: ['a'] }))],
    ['--exclude', () => identityOf(scope, inputs, withRules({ exclude: ['a'] }))],
    ['--set', () => identityOf(scope, inputs, withRules({ set: [['a', '1']] }))],
    ['another value of --set', () => identityOf(scope, inputs, withRules({ set: [['a', '2']] }))],
    ['--type', () => identityOf(scope, inputs, withRules({ types: [['a', 'string']] }))],
    ["--type '*=string'", () => identityOf(scope, inputs, withRules({ infer: false }))],
    ['--empty', () => identityOf(scope, inputs, withRules({ empty: 'null' }))],
    ['-o max_cell', () => identityOf(scope, inputs, { ...OPTIONS, maxCellBytes: 1_000 })],
    ['-o chunk_bytes', () => identityOf(scope, inputs, { ...OPTIONS, chunkBytes: 1_000 })],
  ])('%s makes it another import', (_name, now) => {
    expect(now()).not.toBe(before);
  });

  test('each of these is another one than the others', () => {
    const rules = (over: Partial<ImportOptions['rules']>): string =>
      identityOf(scope, inputs, withRules(over));
    const all = [rules({ include: ['a'] }), rules({ exclude: ['a'] }), rules({ map: [['a', 'a']] })];
    expect(new Set(all).size).toBe(3);
  });

  test.each<[name: string, now: () => string]>([
    [
      'where the files lie',
      () =>
        identityOf(
          scope,
          inputs.map((i) => ({ ...i, path: 'x' })),
          OPTIONS,
        ),
    ],
    ['how they were named', () => identityOf(scope, inputs, { ...OPTIONS, paths: ['elsewhere.csv'] })],
    [
      'a dialect that is off',
      () => identityOf(scope, inputs, { ...OPTIONS, skipLines: 0, excelText: false }),
    ],
    ['--chunk-size', () => identityOf(scope, inputs, { ...OPTIONS, chunkSize: 7 })],
    ['--concurrency', () => identityOf(scope, inputs, { ...OPTIONS, concurrency: 4 })],
    ['--no-wait', () => identityOf(scope, inputs, { ...OPTIONS, wait: false })],
    ['--skip-invalid', () => identityOf(scope, inputs, { ...OPTIONS, invalid: 'any' })],
    ['--resume', () => identityOf(scope, inputs, { ...OPTIONS, resume: true })],
  ])('%s does not', (_name, now) => {
    expect(now()).toBe(before);
  });

  test('is a hash: nothing of a mapping can be read in it', () => {
    expect(before).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe('options of a run', () => {
  const secret: ImportOptions = withRules({
    set: [
      ['source', 'confidential'],
      ['__proto__', '1'],
    ],
  });

  /** Stores options, as a run of this name, and gives it as the state has it. */
  async function stored(state: State, options: ImportOptions, run = 'run-1'): Promise<StoredRun> {
    await state.runs.start({
      run,
      scope: { account: 'a', region: 'r', base_url: 'https://api.test' },
      named_account: null,
      identity: 'i',
      status: 'running',
      finished: false,
      item_format: 1,
      machine: '',
      replaces: [],
      options: await storeOptions(state, run, options),
      started_at: '2026-01-15T12:00:00.000Z',
      inputs: [
        {
          path: 'a.csv',
          location: '/a.csv',
          kind: 'users',
          digest: 'd',
          types: [],
          rows: { read: 0, filtered: 0, rejected: 0 },
        },
      ],
    });
    return (await state.runs.all())[0]!;
  }

  test('come back as they were', async ({ state }) => {
    const options = { ...OPTIONS, kind: 'users' as const, invalid: { percent: 2 }, intervalMs: 50 };
    expect(restoreOptions(state, await stored(state, options))).toEqual(options);
    expect(existsSync(join(state.folder, 'spool'))).toBe(false);
  });

  test('values of --set come back too, and are not in the database', async ({ state }) => {
    const run = await stored(state, secret);
    expect(JSON.stringify(run.options)).not.toContain('confidential');
    expect(restoreOptions(state, run)).toEqual(secret);
  });

  test.runIf(process.platform !== 'win32')('they lie in a private file', async ({ state }) => {
    await stored(state, secret);
    expect(statSync(join(state.spools.folder('run-1'), 'values.json')).mode & 0o777).toBe(0o600);
  });

  test('without them the run cannot go on, and says so', async ({ state }) => {
    const run = await stored(state, secret);
    state.spools.remove('run-1');
    expect(() => restoreOptions(state, run)).toThrow(UsageError);
    expect(() => restoreOptions(state, run)).toThrow(
      expect.objectContaining({
        problem: { code: 'values_missing', run: 'run-1', set: ['source', '__proto__'], where: [] },
      }),
    );
    const sets = [secret.rules.set];
    expect(restoreOptions(state, run, { sets })).toEqual(secret);
  });

  test('a file that was cut short counts as missing', async ({ state }) => {
    const options: ImportOptions = { ...secret, where: [['tier', '=', 'gold']] };
    const run = await stored(state, options);
    truncateSync(join(state.spools.folder('run-1'), 'values.json'), 5);
    const missing = { set: ['source', '__proto__'], where: ['tier='] };
    expect(() => restoreOptions(state, run)).toThrow(
      expect.objectContaining({ problem: { code: 'values_missing', run: 'run-1', ...missing } }),
    );
    const given = { sets: [secret.rules.set], where: options.where };
    expect(restoreOptions(state, run, given)).toEqual(options);
  });

  test('they are replaced as a whole: what was there is not written to', async ({ state }) => {
    await storeOptions(state, 'run-1', secret);
    const folder = state.spools.folder('run-1');
    linkSync(join(folder, 'values.json'), join(folder, 'before'));
    const before = readFileSync(join(folder, 'before'), 'utf8');
    await storeOptions(state, 'run-1', withRules({ set: [['source', 'other']] }));
    expect(readFileSync(join(folder, 'before'), 'utf8')).toBe(before);
    expect(readFileSync(join(folder, 'values.json'), 'utf8')).toContain('other');
    expect(readdirSync(folder).sort()).toEqual(['before', 'values.json']);
  });

  test('where they cannot be written, nothing begins', async ({ state }) => {
    mkdirSync(join(state.spools.folder('run-1'), 'values.json'));
    const storing = storeOptions(state, 'run-1', secret);
    await expect(storing).rejects.toThrow(StateError);
    await expect(storing).rejects.toThrow(
      /cannot save constant values, conditions, and places of inputs to .*values\.json/,
    );
  });
});
