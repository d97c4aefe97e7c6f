/** The built program in real pipes: readers that are slow, that leave, or that never look. Lookups have a test of their own. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { COMMANDS } from '../../src/cli/main.js';
import { built } from '../support/child.js';
import { scratch } from '../support/cli.js';
import { INVOCATIONS, type Invocation } from './invocations.js';
import { makePlace, type Place, TOKEN } from './place.js';

const BIN = join(import.meta.dirname, '../../bin/profiles.js');

let place: Place;
beforeAll(async () => {
  built();
  place = await makePlace();
});
afterAll(() => place.stop());

const environment = (folder: string): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOME: folder,
  PROFILES_STATE_DIR: join(folder, '.state'),
  PROFILES_TOKEN: TOKEN,
  ...place.env,
});

interface Ended {
  /** Exit codes of the pipe's parts, in their order. */
  codes: string;
  stdout: string;
  stderr: string;
}

/** Runs a line of bash, in which `profiles` is the program. */
async function bash(line: string, folder: string): Promise<Ended> {
  const script = `profiles() { '${process.execPath}' '${BIN}' "$@"; }\n${line}\necho "\${PIPESTATUS[@]}" > codes`;
  const child = spawn('bash', ['-c', script], { cwd: folder, env: environment(folder) });
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text;
    });
  }
  child.stdin.end();
  await once(child, 'close');
  return { ...texts, codes: readFileSync(join(folder, 'codes'), 'utf8').trim() };
}

/** The first of each command that goes well and prints something. */
const one: [string, Invocation][] = COMMANDS.map(({ name }) => {
  const found = INVOCATIONS.find(
    ({ line, ends, stopped }) => ends === 0 && line.split(' ')[0] === name && !stopped,
  );
  return [found!.line, found!];
});

describe('| head -1', () => {
  it.each(one)('%s', async (line) => {
    const folder = place.folder();
    const { codes, stderr } = await bash(`profiles ${place.words(line).join(' ')} --quiet | head -1`, folder);
    expect({ codes, stderr }).toEqual({ codes: '0 0', stderr: '' });
  });
});

describe('a reader that is gone before the first byte', () => {
  it.each(one)('%s', async (line) => {
    const folder = place.folder();
    const words = [BIN, ...place.words(line), '--quiet'];
    const child = spawn(process.execPath, words, { cwd: folder, env: environment(folder) });
    child.stdout.destroy();
    let stderr = '';
    child.stderr.on('data', (text: Buffer) => {
      stderr += text;
    });
    child.stdin.end();
    expect((await once(child, 'close'))[0]).toBe(0);
    expect(stderr).toBe('');
  });
});

describe.skipIf(!existsSync('/dev/full'))('a full disk under stdout is one sentence and exit code 1', () => {
  it.each(one)('%s', async (line) => {
    const words = place.words(line).join(' ');
    const prints = (await bash(`profiles ${words}`, place.folder())).stdout !== '';
    const { codes, stderr } = await bash(`profiles ${words} > /dev/full`, place.folder());
    expect(codes, stderr).toBe(prints ? '1' : '0');
    expect(stderr.match(/^profiles: .*$/gm) ?? []).toEqual(
      prints ? ['profiles: stdout cannot be written: no space left on device (ENOSPC)'] : [],
    );
    expect(stderr).not.toMatch(/^\s+at |node:/m);
  });
});

describe('nothing is cut at the 64 KiB of a pipe, even for a slow reader', () => {
  /** Takes nothing until the program has had time to fill the pipe. */
  const slowly = '(sleep 0.4; cat)';

  it('events of an import', async () => {
    const folder = place.folder();
    writeFileSync(join(folder, 'bad.csv'), `company_id,name\n${',nobody\n'.repeat(3_000)}`);
    const { codes, stdout } = await bash(`profiles import bad.csv --ndjson --quiet | ${slowly}`, folder);
    expect(codes).toBe('5 0');
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { type: string }).type);
    expect(events.filter((type) => type === 'rejected')).toHaveLength(3_000);
    expect(events.at(-1)).toBe('summary');
  });

  it('one long value, as text and as JSON', async () => {
    const folder = place.folder();
    writeFileSync(join(folder, 'long.csv'), `company_id,name\nlong,${'a'.repeat(300_000)}\n`);
    const imported = await bash('profiles import long.csv --region sandbox', folder);
    expect(imported.codes).toBe('0');
    for (const form of ['', '--json']) {
      const { codes, stdout } = await bash(`profiles sandbox show company long ${form} | ${slowly}`, folder);
      expect(codes).toBe('0 0');
      expect(stdout.match(/a{1000,}/)?.[0]).toHaveLength(300_000);
    }
  });
});

it('too many open files is one sentence', async () => {
  const hint = 'allow more of them: ulimit -n 1024';
  const error = { code: 'unexpected', message: 'too many open files (EMFILE)', hint };
  let told = 0;
  // How many it takes differs from Node to Node: with fewest Node itself does not start, with most all is well.
  for (let files = 18; files <= 32; files++) {
    const { codes, stderr } = await bash(`ulimit -n ${files}; profiles runs --json`, scratch());
    const isNodes = Number(codes) >= 128 || /^node:/m.test(stderr); // it crashed, or failed before the program began
    if (codes === '0' || isNodes) continue;
    const [sentence, next, json, ...rest] = stderr.trimEnd().split('\n');
    expect([codes, rest], stderr).toEqual(['1', []]);
    // SQLite does not say why it could not open a file.
    if (sentence?.endsWith('unable to open database file')) continue;
    expect([sentence, next]).toEqual([`profiles: ${error.message}`, `  ${hint}`]);
    expect(JSON.parse(json!)).toMatchObject({ error });
    told++;
  }
  expect(told).toBeGreaterThan(0);
});

it('with too few files for an import it says what to allow', async () => {
  const folder = place.folder();
  let told = 0;
  for (let files = 22; files <= 32; files++) {
    const { codes, stderr } = await bash(`ulimit -n ${files}; profiles import companies.csv --quiet`, folder);
    if (codes === '0' || Number(codes) >= 128 || /^node:|unable to open database file/m.test(stderr))
      continue;
    expect(stderr).toMatch(/^profiles: .*too many open files.*\n {2}allow more .*: ulimit -n 1024$/m);
    told++;
  }
  expect(told).toBeGreaterThan(0);
});

it.skipIf(process.platform === 'win32')(
  'in a folder that was removed it says so in one sentence',
  async () => {
    const { codes, stderr } = await bash(
      'mkdir gone; (cd gone; rmdir ../gone; profiles runs --json)',
      scratch(),
    );
    const message = 'the current folder no longer exists (ENOENT)';
    const hint = 'change to one that does: cd';
    const [sentence, next, json, ...rest] = stderr.trimEnd().split('\n');
    expect([codes, sentence, next, rest]).toEqual(['2', `profiles: ${message}`, `  ${hint}`, []]);
    expect(JSON.parse(json!)).toMatchObject({ error: { code: 'usage', message, hint } });
  },
);

it.skipIf(process.platform === 'win32')('in a folder with too long a path it says so', async () => {
  const cwd = scratch();
  onTestFinished(() => void execFileSync('rm', ['-rf', cwd])); // Node cannot remove it
  const deep = `const { mkdirSync } = require('node:fs');
    const name = 'x'.repeat(200);
    for (let i = 0; i < 25; i++) { mkdirSync(name); process.chdir(name); }
    const { status } = require('node:child_process').spawnSync(process.execPath, ['${BIN}', 'runs'], { stdio: 'inherit' });
    process.exitCode = status;`;
  writeFileSync(join(cwd, 'deep.cjs'), deep);
  const { codes, stderr } = await bash('node deep.cjs', cwd);
  expect([codes, stderr]).toEqual([
    '2',
    expect.stringMatching(
      /^profiles: the path of the current folder cannot be read \(\w+\)\n {2}change to another one: cd\n$/,
    ),
  ]);
});

/** Only another user than root can run out of threads. */
const canBecomeAnother = process.getuid?.() === 0 && existsSync('/usr/bin/setpriv');

it.runIf(canBecomeAnother)(
  'with few threads to start it reads a large file with fewer, or with none',
  async () => {
    const folder = scratch();
    writeFileSync(
      join(folder, 'large.csv'),
      `company_id,name\n${`c-1,${'x'.repeat(1_000)}\n`.repeat(9_000)}`,
    );
    chmodSync(folder, 0o777);
    const command = `exec "${process.execPath}" "${BIN}" import large.csv --dry-run --quiet`;
    // How many the program has before it starts its own differs from Node to Node, which crashes without those.
    const ended: string[] = [];
    for (let threads = 11; threads <= 16; threads++) {
      const limited = `setpriv --reuid 54321 --regid 54321 --clear-groups bash -c 'ulimit -u ${threads}; ${command}'`;
      const { codes, stderr } = await bash(`${limited} 2> >(grep '^profiles:' >&2)`, folder);
      if (Number(codes) < 128) ended.push(`${codes}${stderr}`);
    }
    expect(new Set(ended)).toEqual(new Set(['0']));
  },
);

// Last, since it empties the place's service.
describe('readers of stdout and stderr that are gone', () => {
  it('do not stop an import', async () => {
    const folder = place.folder();
    place.service.reset();
    const line =
      'profiles import companies.csv users.csv --chunk-size 2 -o interval=10ms --ndjson 2>&1 | head -1';
    const { codes, stdout } = await bash(line, folder);
    expect(codes).toBe('0 0');
    expect(stdout.split('\n')).toHaveLength(2);
    for (const n of [1, 9]) expect(place.service.show('companies', `acme-00${n}`)).toBeDefined();
    expect(place.service.show('users', 'u-9')).toBeDefined();
  });
});
