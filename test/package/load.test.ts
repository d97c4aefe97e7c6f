/** What the command keeps of V8's work between two starts, on Node 20. */
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import module from 'node:module';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { built, type Ended, node } from '../support/child.js';
import { scratch } from '../support/cli.js';

const ROOT = resolve(import.meta.dirname, '../..');
const SQLITE = 'node_modules/@photostructure';

beforeAll(built);

/** The package somewhere else, with nothing kept. */
function copy(): { root: string; cache: string; help(): Promise<Ended>; kept(): string[] } {
  const root = scratch();
  for (const name of ['bin', 'dist', 'package.json'])
    cpSync(join(ROOT, name), join(root, name), { recursive: true });
  const cache = join(root, 'node_modules/.cache');
  return {
    root,
    cache,
    help: () => node([join(root, 'bin/profiles.js'), 'help'], { cwd: root }).ended,
    kept: () => readdirSync(cache).map((name) => join(cache, name)),
  };
}

function flipped(bytes: Buffer, at: number): Buffer {
  const other = Buffer.from(bytes);
  other[at]! ^= 16;
  return other;
}

const SUMMARY = 'Import company and user profiles';
const CHANGED = 'Import COMPANY and user profiles';
const good = { code: 0, stderr: '', stdout: expect.stringContaining(SUMMARY) };

describe.skipIf('enableCompileCache' in module)('compiled code', () => {
  it('is used by the next start, until the file that it was made of changes', async () => {
    const { root, help, kept } = copy();
    const source = join(root, 'dist/main.cjs');
    const then = new Date('2026-01-01');
    utimesSync(source, then, then);
    expect(await help()).toMatchObject(good);
    const [file, ...more] = kept();
    expect(more).toEqual([]);
    const before = statSync(file!);
    expect(await help()).toMatchObject(good);
    expect(statSync(file!)).toMatchObject({ ino: before.ino, mtimeMs: before.mtimeMs });

    // Of the same length, which is all that V8 looks at.
    const text = readFileSync(source, 'utf8');
    expect(text).toContain(SUMMARY);
    writeFileSync(source, text.replace(SUMMARY, CHANGED));
    utimesSync(source, then, then);
    expect((await help()).stdout).toContain(CHANGED);
    expect((await help()).stdout).toContain(CHANGED);
    expect(statSync(file!).ino).not.toBe(before.ino);
  });

  it.each([
    ['is empty', () => Buffer.alloc(0)],
    ['is cut off', (bytes: Buffer) => bytes.subarray(0, bytes.length - 100)],
    ['is cut off in its index', (bytes: Buffer) => bytes.subarray(0, 100)],
    ['has a bit that is another', (bytes: Buffer) => flipped(bytes, bytes.length - 30_000)],
    ['is something else', () => Buffer.from('{"files": [1, 2, 3]}'.repeat(9))],
  ])('that %s is made anew', async (_, damage) => {
    const { help, kept } = copy();
    await help();
    const [file] = kept();
    const whole = readFileSync(file!);
    writeFileSync(file!, damage(whole));
    expect(await help()).toMatchObject(good);
    expect(readFileSync(file!).length).toBeGreaterThan(whole.length / 2);
    expect(kept()).toEqual([file]);
  });

  it('is used again after a run that was long enough for flags of its own', async () => {
    const { root, kept } = copy();
    mkdirSync(join(root, 'node_modules'));
    symlinkSync(join(ROOT, SQLITE), join(root, SQLITE));
    // Whatever this machine takes for it, it is little work.
    const preload = join(root, 'work.cjs');
    writeFileSync(preload, 'process.cpuUsage = () => ({ user: 0, system: 0 });');
    const imported = async (rows: number): Promise<void> => {
      const lines = Array.from({ length: rows }, (_, row) => `c-${row},${'Ann '.repeat(2_500)}`);
      writeFileSync(join(root, 'companies.csv'), ['company_id,name', ...lines, ''].join('\n'));
      const words = ['import', 'companies.csv', '--region', 'sandbox', '--quiet'];
      const command = ['--require', preload, join(root, 'bin/profiles.js'), ...words];
      const { code, stderr } = await node(command, { cwd: root }).ended;
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    };
    await imported(1_000); // 10 MB: threads are worth their start
    const [file] = kept();
    const before = statSync(file!);
    await imported(1);
    await imported(1_000);
    expect(statSync(file!)).toMatchObject({ ino: before.ino, mtimeMs: before.mtimeMs });
  });

  it('is not kept where it cannot be, which nobody hears of', async () => {
    const { root, cache, help } = copy();
    mkdirSync(join(root, 'node_modules'));
    writeFileSync(cache, 'not a folder');
    expect(await help()).toMatchObject(good);
    expect(readFileSync(cache, 'utf8')).toBe('not a folder');
  });

  it('of a mistyped command is not kept', async () => {
    const { root } = copy();
    const { code } = await node([join(root, 'bin/profiles.js'), 'imprt'], { cwd: root }).ended;
    expect(code).toBe(2);
    expect(readdirSync(root)).not.toContain('node_modules');
  });

  it('of a command that did much work is not kept: V8 has let go of what its start needed', async () => {
    const { root } = copy();
    const preload = join(root, 'work.cjs');
    writeFileSync(preload, 'process.cpuUsage = () => ({ user: 3_000_000, system: 0 });');
    const command = ['--require', preload, join(root, 'bin/profiles.js'), 'help'];
    expect(await node(command, { cwd: root }).ended).toMatchObject(good);
    expect(readdirSync(root)).not.toContain('node_modules');
  });

  it('is whole when several starts keep it at once', async () => {
    const { help, kept } = copy();
    for (const ended of await Promise.all([help(), help(), help(), help()]))
      expect(ended).toMatchObject(good);
    expect(kept()).toHaveLength(1);
    expect(await help()).toMatchObject(good);
  });
});

it('warns of what Node warns of, but not of what a library calls experimental', async () => {
  const preload = join(scratch(), 'warn.cjs');
  writeFileSync(
    preload,
    "process.emitWarning('of a library', 'ExperimentalWarning'); process.emitWarning('TLS is not checked');",
  );
  const bin = join(ROOT, 'bin/profiles.js');
  const { stderr } = await node(['--require', preload, bin, '--version'], { cwd: ROOT }).ended;
  expect(stderr).toContain('TLS is not checked');
  expect(stderr).not.toContain('of a library');
});
