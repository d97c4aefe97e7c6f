/** The GitHub Action, end to end: its steps under a runner's environment, against the sandbox as a service. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished } from 'vitest';
import { built } from '../support/child.js';
import { scratch } from '../support/cli.js';
import { acceptedBy, environmentOf, ManualClock, test } from '../support/sandbox.js';
import { ACTION, INPUTS, OUTPUTS, Runner, step } from './runner.js';

beforeAll(built);

const FILES = 'companies.csv\nusers.csv\n';

describe('action.yml', () => {
  test('has the inputs and outputs that are documented', () => {
    expect(Object.keys(INPUTS)).toEqual(
      'files args account region version working-directory state relay report fail-on artifacts'.split(' '),
    );
    expect(OUTPUTS).toEqual(
      'exit-code run rows-submitted rows-unchanged rows-rejected rejects-path report-path resumable next'.split(
        ' ',
      ),
    );
    const page = readFileSync(join(import.meta.dirname, '../../docs/ci.md'), 'utf8');
    for (const name of [...Object.keys(INPUTS), ...OUTPUTS]) expect(page).toContain(`| \`${name}\` |`);
  });

  test('names the actions that it uses, and those of the documents, by their digests', () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/ci.md'), 'utf8');
    for (const text of [ACTION, page]) {
      const used = [...text.matchAll(/uses: (actions\/\S+)(.*)/g)];
      expect(used).not.toEqual([]);
      for (const [, name, version] of used) {
        expect(name).toMatch(/^actions\/[a-z/-]+@[0-9a-f]{40}$/);
        expect(version).toMatch(/^ # v\d+\.\d+\.\d+$/);
      }
    }
  });

  test('keeps the states of accounts and regions apart, with a character that no name has', () => {
    const keys = [...ACTION.matchAll(/ (?:restore-)?keys?: (profiles-state.*)/g)].map(([, key]) => key!);
    expect(keys).toHaveLength(3);
    const keyOf = (account: string, region: string): string[] =>
      keys.map((key) =>
        key.replace(/\$\{\{ inputs\.(\w+) }}/g, (_, name) => (name === 'account' ? account : region)),
      );
    const names = ['', 'a', 'b', 'a-b', 'b-a', 'a-a', 'a-b-a'];
    const all = names.flatMap((account) => names.map((region) => keyOf(account, region)[1]!));
    for (const [at, key] of all.entries())
      expect(all.filter((other) => other.startsWith(key))).toEqual([all[at]]);
  });

  test('no script holds an expression: inputs are data', () => {
    for (const id of ['setup', 'import']) expect(step(id).script).not.toContain('${{');
    expect(ACTION.match(/^ +run: /gm)).toHaveLength(2);
  });

  test.for(['setup', 'import'])('the script of %s is bash', (id) => {
    execFileSync('bash', ['-n', '-c', step(id).script]);
  });
});

describe('an import', () => {
  test('that succeeds; the next one sends nothing', async ({ sandbox }) => {
    const runner = new Runner(environmentOf(sandbox));
    const inputs = { files: FILES, args: '--changed-only' };
    const first = await runner.import(inputs);
    expect(first).toMatchObject({
      code: 0,
      outputs: {
        'exit-code': '0',
        run: expect.stringMatching(/^\d{8}-/),
        'rows-submitted': '24',
        'rows-unchanged': '0',
        'rows-rejected': '0',
        'rejects-path': '',
        resumable: 'false',
      },
    });
    expect(first.summary).toContain('completed');
    expect(first.log).toContain('::warning::The state is kept in the cache of GitHub');
    const second = await runner.import(inputs);
    expect(second).toMatchObject({ code: 0, outputs: { 'rows-unchanged': '24', 'rows-submitted': '0' } });
    expect(acceptedBy(sandbox)).toEqual(['12 companies', '12 users']);
    expect(readdirSync(join(runner.temp, 'profiles-state'))).toContain('state.db');
    expect(existsSync(join(runner.workspace, '.profiles-state'))).toBe(false);
  });

  test.for([
    { 'fail-on': '', code: 5 },
    { 'fail-on': '1 2 5', code: 5 },
    { 'fail-on': '1,5', code: 5 },
    { 'fail-on': '1 2 4 6 7', code: 0 },
    { 'fail-on': 'none', code: 0 },
  ])('with rejected rows: fail-on "$fail-on" ends with $code', async ({ code, ...inputs }, { sandbox }) => {
    const runner = new Runner(environmentOf(sandbox));
    mkdirSync(join(runner.workspace, 'my exports'));
    writeFileSync(join(runner.workspace, 'my exports/new users.csv'), 'user_id,name\nu-1,Anna\n,Nobody\n');
    const result = await runner.import({
      ...inputs,
      files: '  new users.csv  ',
      'working-directory': 'my exports',
      report: 'import report.html',
    });
    expect(result).toMatchObject({
      code,
      outputs: {
        'exit-code': '5',
        'rows-rejected': '1',
        'rejects-path': join(runner.workspace, 'my exports/new users.rejects.csv'),
        'report-path': join(runner.workspace, 'my exports/import report.html'),
      },
    });
    expect(result.outputs.next).not.toBe('');
    expect(result.log).toContain('::error file=my exports/new users.csv,line=3::');
    expect(acceptedBy(sandbox)).toEqual([]);
  });

  test('with a job that fails', async ({ start }) => {
    const sandbox = await start({ faults: ['fail-job:first=1'] });
    const result = await new Runner(environmentOf(sandbox)).import({ files: 'users.csv' });
    expect(result).toMatchObject({ code: 7, outputs: { 'exit-code': '7' } });
    expect(result.outputs.next).toContain('profiles ');
  });

  test('in relays: what one run does not finish in time, the next one does', async ({ start }) => {
    // Its jobs do not move until the third run.
    const clock = new ManualClock();
    const sandbox = await start({ clock });
    const runner = new Runner(environmentOf(sandbox));
    const ids = new Set<string>();
    for (const _ of [1, 2]) {
      const { code, outputs } = await runner.import({ files: FILES, relay: '1500ms' });
      expect({ code, exit: outputs['exit-code'], resumable: outputs.resumable }).toEqual({
        code: 0,
        exit: '3',
        resumable: 'true',
      });
      ids.add(outputs.run!);
    }
    expect((await runner.import({ files: FILES, relay: '1500ms', 'fail-on': '3' })).code).toBe(3);
    const time = setInterval(() => clock.advance(1_000), 10);
    const { code, outputs } = await runner.import({ files: FILES, relay: '5m' });
    clearInterval(time);
    expect([code, outputs.resumable, outputs['rows-submitted']]).toEqual([0, 'false', '24']);
    ids.add(outputs.run!);
    expect(ids.size).toBe(1);
    expect(acceptedBy(sandbox)).toEqual(['12 companies', '12 users']);
  });

  test('while another one runs: exit 8, and nothing is sent twice', async ({ start }) => {
    const clock = new ManualClock();
    const sandbox = await start({ clock });
    const runner = new Runner(environmentOf(sandbox));
    const first = runner.import({ files: 'companies.csv' });
    await expect.poll(() => sandbox.ledger().map(({ operation }) => operation)).toContain('job');
    const second = await runner.import({ files: 'companies.csv' });
    expect(second).toMatchObject({ code: 8, outputs: { 'exit-code': '8' } });
    const time = setInterval(() => clock.advance(1_000), 10);
    expect((await first).code).toBe(0);
    clearInterval(time);
    expect(acceptedBy(sandbox)).toEqual(['12 companies']);
  });
});

describe('what is uploaded', () => {
  test('the rejects files and the report', async ({ sandbox }) => {
    const runner = new Runner(environmentOf(sandbox));
    writeFileSync(join(runner.workspace, 'a.csv'), 'company_id,name\nc-1,a\n,b\n');
    const { outputs } = await runner.import({ files: 'a.csv', report: 'r.html' });
    expect(outputs.uploads!.split('\n')).toEqual(
      ['a.rejects.csv', 'a.rejects.csv.json', 'r.html'].map((name) => join(runner.workspace, name)),
    );
  });

  test('no file that another name, a link, or the log brings in', async ({ sandbox }) => {
    const runner = new Runner(environmentOf(sandbox));
    const secret = join(runner.temp, 'secret.html');
    writeFileSync(secret, 'secret');
    symlinkSync(secret, join(runner.workspace, 'r.html'));
    const folder = join(runner.workspace, 'in');
    mkdirSync(join(folder, `a\n${runner.temp}`), { recursive: true });
    const rows = `company_id,##[set-output name=uploads]${secret}\nc-1,1\n,2\n`;
    for (const name of [`a\n${secret.slice(1)}\n.csv`.replaceAll('/', '_'), '[a]*.csv']) {
      writeFileSync(join(folder, name), rows);
    }
    const { outputs, log } = await runner.import({ files: 'in' });
    expect(outputs).toMatchObject({ 'exit-code': '5', 'report-path': '', uploads: '' });
    expect(outputs['rejects-path']).toBe(join(runner.workspace, '[a]*.rejects.csv'));
    expect(log).not.toContain('##[set-output');
    const linked = await runner.import({ files: 'nowhere.csv', report: 'r.html' });
    expect(linked.outputs).toMatchObject({ 'exit-code': '2', 'report-path': '', uploads: '' });
  });
});

describe('what is installed', () => {
  /** A packed file that is named as the program, with a script that leaves a trace. */
  function packed(): string {
    const script = 'node -e "fs.writeFileSync(process.env.TRACE, process.env.PROFILES_TOKEN ?? String())"';
    const manifest = {
      name: 'profiles-cli',
      version: '1.2.3',
      bin: 'run.js',
      scripts: { postinstall: script },
    };
    const folder = scratch({ 'package.json': JSON.stringify(manifest), 'run.js': '#!/usr/bin/env node\n' });
    execFileSync('npm', ['pack', '--ignore-scripts'], { cwd: folder, stdio: 'pipe' });
    return join(folder, 'profiles-cli-1.2.3.tgz');
  }
  /** A runner whose npm writes down its environment first. */
  function noting(): { runner: Runner; trace: string; seen: () => string } {
    const runner = new Runner({ PROFILES_TOKEN: 'sk_live_123456' });
    const [trace, seen] = [join(runner.temp, 'trace'), join(runner.temp, 'environment')];
    const npm = execFileSync('which', ['npm'], { encoding: 'utf8' }).trim();
    writeFileSync(join(runner.temp, 'bin/npm'), `#!/bin/sh\nenv >> '${seen}'\nexec '${npm}' "$@"\n`, {
      mode: 0o755,
    });
    return { runner, trace, seen: () => readFileSync(seen, 'utf8') };
  }

  test('a packed file: without its scripts, and without the secrets of the import', async () => {
    const { runner, trace, seen } = noting();
    const { code, log } = await runner.run('setup', { version: packed() }, { env: { TRACE: trace } });
    expect({ code, log }).toEqual({ code: 0, log: expect.stringContaining('added 1 package') });
    expect(existsSync(join(runner.temp, 'profiles-cli/bin/profiles-cli'))).toBe(true);
    expect(existsSync(trace)).toBe(false);
    expect(seen()).toContain('RUNNER_TEMP=');
    expect(seen()).not.toContain('PROFILES_');
  });

  test('a version: only with its digest', async () => {
    const file = readFileSync(packed());
    const digest = `sha512-${createHash('sha512').update(file).digest('base64')}`;
    const registry = createServer((request, response) => {
      const tarball = `http://${request.headers.host}/profiles-cli-1.2.3.tgz`;
      const version = { name: 'profiles-cli', version: '1.2.3', dist: { tarball, integrity: digest } };
      const packument = {
        name: 'profiles-cli',
        'dist-tags': { latest: '1.2.3' },
        versions: { '1.2.3': version },
      };
      response.end(request.url === '/profiles-cli' ? JSON.stringify(packument) : file);
    });
    await new Promise<void>((ready) => registry.listen(0, '127.0.0.1', ready));
    onTestFinished(() => void registry.close());
    const address = `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`;
    for (const [given, wanted] of [
      [digest, 0],
      [`sha512-${'A'.repeat(86)}==`, 2],
    ] as const) {
      const { runner, trace, seen } = noting();
      const env = { TRACE: trace, npm_config_registry: address, npm_config_cache: join(runner.temp, 'npm') };
      const { code, log } = await runner.run('setup', { version: `1.2.3@${given}` }, { env });
      expect({ code, log }).toMatchObject({ code: wanted });
      expect(existsSync(join(runner.temp, 'profiles-cli/bin'))).toBe(wanted === 0);
      if (wanted !== 0)
        expect(log).toContain(`::error::the package has another digest than the input version: ${digest}`);
      expect(existsSync(trace)).toBe(false);
      expect(seen()).not.toContain('PROFILES_');
    }
  });
});

describe('hostile inputs are data', () => {
  const HOSTILE = [
    '$(touch pwned)',
    '"; touch pwned; "',
    '`touch pwned`',
    "'; touch pwned; '",
    '* ? [a]',
    '-rf',
    '--yes',
    '\\',
    '$HOME',
  ];
  test('as names of files', async ({ sandbox }) => {
    const runner = new Runner(environmentOf(sandbox));
    const names = HOSTILE.map((name) => `${name}.csv`);
    for (const [at, name] of names.entries())
      writeFileSync(join(runner.workspace, name), `company_id\nc-${at}\n`);
    const { code, outputs } = await runner.import({ files: names.join('\n') });
    expect([code, outputs['rows-submitted']]).toEqual([0, String(names.length)]);
    expect(readdirSync(runner.workspace)).not.toContain('pwned');
  });

  test.for(['args', 'account', 'region', 'state', 'relay', 'report', 'fail-on', 'version'])(
    'as %s',
    async (name, { sandbox }) => {
      const runner = new Runner(environmentOf(sandbox));
      for (const text of HOSTILE.slice(0, 4)) {
        await runner.import({ files: 'companies.csv', region: 'sandbox', [name]: text });
      }
      for (const folder of [runner.workspace, runner.temp])
        expect(readdirSync(folder)).not.toContain('pwned');
    },
  );

  test('args: a flag and its value may share a line, and a value is one word', async ({ sandbox }) => {
    const runner = new Runner(environmentOf(sandbox));
    writeFileSync(join(runner.workspace, 'a.csv'), 'company_id,Full Name\nc-1,$(id)\n');
    const args = '--map Full Name=display name\n\n  --set source=$(touch pwned) "x"  \r\n--chunk-size=1';
    expect((await runner.import({ files: 'a.csv', args })).code).toBe(0);
    expect(sandbox.show('companies', 'c-1')?.metadata).toEqual({
      'display name': '$(id)',
      source: '$(touch pwned) "x"',
    });
    expect(readdirSync(runner.workspace)).not.toContain('pwned');
  });
});

describe('what cannot work is said at once', () => {
  test.for([
    [{ files: ' \n' }, 'the input files names no file'],
    [{ files: FILES, 'fail-on': 'never' }, 'the input fail-on is neither a list of exit codes nor none'],
    ...[
      '1.0; id',
      'latest',
      '^1.0.0',
      '1.0.0',
      'npm:other@1.0.0',
      '../other',
      `1.0.0@sha512-${'a'.repeat(40)}`,
    ].map(
      (version) =>
        [
          { files: FILES, version },
          'the input version is neither a version with its digest, as 1.0.0@sha512-…, nor the path of a .tgz file',
        ] as const,
    ),
    [{ files: FILES, version: './no.tgz' }, 'the input version names a file that is not there'],
  ] as const)('%j', async ([inputs, says], { sandbox }) => {
    const { code, log } = await new Runner(environmentOf(sandbox)).import(inputs);
    expect(code).toBe(2);
    expect(log).toContain(`::error::${says}`);
  });

  test('usage errors have an exit code too', async ({ sandbox }) => {
    const { code, outputs } = await new Runner(environmentOf(sandbox)).import({ files: 'nowhere.csv' });
    expect([code, outputs['exit-code']]).toEqual([2, '2']);
  });

  test('a state for many machines is not replaced by a folder that is lost', async ({ sandbox }) => {
    const env = { PROFILES_STATE: 'postgres://db.example.com/profiles' };
    const { code, log } = await new Runner(environmentOf(sandbox)).import({ files: FILES }, env);
    expect(code).not.toBe(0);
    expect(log).not.toContain('The state is kept in the cache');
    expect(acceptedBy(sandbox)).toEqual([]);
  });
});
