/** The examples as a stranger has them: compiled against the packed package, and run. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect } from 'vitest';
import { read } from '../docs/documents.js';
import { built, node } from '../support/child.js';
import { test } from '../support/sandbox.js';
import { consumer, ROOT } from './consumer.js';

/** For vitest, which compiles it itself. */
const DOUBLE = 'double.test.ts';

let folder: string;

beforeAll(async () => {
  built();
  folder = consumer();
  cpSync(join(ROOT, 'examples'), folder, { recursive: true });
  writeFileSync(
    join(folder, 'companies.csv'),
    'company_id,name,employees,zip\n1,Ada,12,02139\n2,Bell,7,10115\n',
  );
  writeFileSync(
    join(folder, 'changed.csv'),
    'company_id,name,employees,zip\n1,Ada,a dozen,2139\n,Bell,7,10115\n1,Ada,12,10115\n',
  );
  const options = { target: 'ES2022', module: 'NodeNext', strict: true, types: ['node'] };
  // The package's own declarations are checked too: they may name nothing that is not installed with it.
  const strict = {
    compilerOptions: { ...options, skipLibCheck: false },
    include: ['*.ts'],
    exclude: [DOUBLE],
  };
  // Those of vitest are not ours to check.
  symlinkSync(join(ROOT, 'node_modules/vitest'), join(folder, 'node_modules/vitest'), 'junction');
  const double = { compilerOptions: { ...options, skipLibCheck: true, noEmit: true }, include: [DOUBLE] };
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  for (const [name, config] of Object.entries({ 'tsconfig.json': strict, 'tsconfig.double.json': double })) {
    writeFileSync(join(folder, name), JSON.stringify(config));
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    execFileSync(process.execPath, [tsc, '-p', join(folder, name)], { cwd: folder, stdio: 'inherit' });
  }
});

const run = (argv: string[], env: Record<string, string> = {}) => node(argv, { cwd: folder, env }).ended;

describe('import.js', () => {
  test('imports, and says what happens', async ({ sandbox }) => {
    const env = { SERVICE_URL: sandbox.url, SERVICE_TOKEN: sandbox.token };
    const { code, stdout, stderr } = await run(['import.js', 'companies.csv'], env);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    const lines = stdout.trimEnd().split('\n');
    expect(lines[0]).toMatch(/^1 requests, \d+ bytes$/);
    expect(lines[1]).toMatch(/^request 1 \(2 rows\) is job \S+$/);
    expect(lines.at(-2)).toMatch(/^job \S+ is completed$/);
    expect(lines.at(-1)).toBe('completed: 2 of 2 rows');
    expect(sandbox.show('companies', '1')?.metadata).toEqual({ name: 'Ada', employees: 12, zip: '02139' });
  });

  test('says what ended it', async ({ sandbox }) => {
    const env = { SERVICE_URL: sandbox.url, SERVICE_TOKEN: 'another-token', STATE_DIR: 'other' };
    const { code, stdout, stderr } = await run(['import.js', 'companies.csv'], env);
    expect(stdout).toMatch(/stopped: 0 of 2 rows\n$/);
    expect(stderr).toMatch(/401/);
    expect(code).toBe(4);
  });
});

test('the README compiles an example in the clone', async ({ sandbox }) => {
  const [, line] = /^npx tsc (.+)$/m.exec(read('examples/README.md')) ?? [];
  const out = mkdtempSync(join(ROOT, 'dist/try-'));
  try {
    const words = line!.replace('dist/try', out).split(' ');
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    execFileSync(process.execPath, [tsc, ...words], { cwd: ROOT, stdio: 'inherit' });
    const env = { SERVICE_URL: sandbox.url, SERVICE_TOKEN: sandbox.token, STATE_DIR: 'of-clone' };
    const { code, stdout, stderr } = await run([join(out, 'examples/import.js'), 'companies.csv'], env);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^completed: 2 of 2 rows$/m);
  } finally {
    rmSync(out, { recursive: true });
  }
});

describe('gate.js', () => {
  test('lets good files pass, and leaves nothing behind', async () => {
    expect(await run(['gate.js', 'companies.csv'])).toEqual({
      code: 0,
      signal: null,
      stdout: '2 rows, 0 rejected, 0 duplicates\n',
      stderr: '',
    });
  });

  test('names what is wrong', async () => {
    const { code, stdout } = await run(['gate.js', 'changed.csv']);
    expect(stdout.split('\n')).toEqual([
      expect.stringMatching(/^changed\.csv:3: .*company_id/),
      expect.stringMatching(/^changed\.csv: employees is string, because of .*"a dozen"/),
      expect.stringMatching(/^changed\.csv: zip is integer, because of /),
      '3 rows, 1 rejected, 1 duplicates',
      '',
    ]);
    expect(code).toBe(1);
  });
});

describe('records.js', () => {
  test('imports what a generator gives, and then only what changed', async ({ sandbox }) => {
    const env = { SERVICE_URL: sandbox.url, SERVICE_TOKEN: sandbox.token, STATE_DIR: 'of-records' };
    expect(await run(['records.js'], env)).toEqual({
      code: 0,
      signal: null,
      stdout: 'completed: 300 read, 300 sent, 0 unchanged\n',
      stderr: '',
    });
    expect(sandbox.show('companies', '201')?.metadata).toEqual({
      name: 'Account 201',
      seats: 1,
      since: '2024-01-02T00:00:00.000Z',
    });
    expect((await run(['records.js'], env)).stdout).toBe('completed: 300 read, 0 sent, 300 unchanged\n');
  });
});

describe('sync.test.js', () => {
  test('passes', async () => {
    const { code, stdout } = await run(['--test', '--test-reporter=tap', 'sync.test.js']);
    expect(stdout).toMatch(/^# pass 2$/m);
    expect(code).toBe(0);
  });
});

describe('worker.js', () => {
  const changes = (...lines: object[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  const work = (env: Record<string, string>, stdin: string) =>
    node(['worker.js'], { cwd: folder, env, stdin }).ended;

  test('sends what the queue holds, and acknowledges it', async ({ sandbox }) => {
    sandbox.limits.failRows = [['plan', 'gold']];
    const env = { SERVICE_URL: sandbox.url, SERVICE_TOKEN: sandbox.token, STATE_DIR: 'of-worker' };
    const { code, stdout, stderr } = await work(
      env,
      changes(
        { company_id: 'c-1', metadata: { plan: 'free' } },
        { company_id: 'c-2', metadata: { plan: 'gold' } },
        { company_id: '', metadata: {} },
        { company_id: 'c-1', metadata: { plan: 'pro' } },
      ),
    );
    expect(stderr).toMatch(/^message 3: .*company_id.*$/m);
    expect(stderr).toMatch(/^message 2: /m);
    expect([code, stdout]).toEqual([0, '4 messages acknowledged\n']);
    expect(sandbox.show('companies', 'c-1')?.metadata).toEqual({ plan: 'pro' });
    expect(sandbox.count('companies')).toBe(1);
  });

  test('acknowledges nothing when the service is away', async ({ sandbox }) => {
    const env = { SERVICE_URL: sandbox.url, SERVICE_TOKEN: 'another-token', STATE_DIR: 'of-other-worker' };
    const { code, stdout, stderr } = await work(env, changes({ company_id: 'c-1', metadata: {} }));
    expect(stdout).toBe('');
    expect(stderr).toMatch(/401/);
    expect(code).toBe(1);
  });
});

test(`${DOUBLE} passes`, async () => {
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
  const patient = '--testTimeout=120000'; // beside other tests
  const { code, stdout, stderr } = await run([
    vitest,
    'run',
    '--root',
    folder,
    '--no-color',
    patient,
    DOUBLE,
  ]);
  expect(stderr).toBe('');
  expect(stdout).toMatch(/Tests .*4 passed/);
  expect(code).toBe(0);
});
