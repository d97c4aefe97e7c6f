/** What would be published. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { beforeAll, describe, expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/commands/index.js';
import { built } from '../support/child.js';
import { scratch } from '../support/cli.js';
import { type Packed, pack, ROOT } from './consumer.js';

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<string, unknown>;
const folder = scratch();
let packed: Packed;

beforeAll(async () => {
  await built();
  execFileSync(process.execPath, ['scripts/man.mjs'], { cwd: ROOT });
  execFileSync(process.execPath, ['scripts/shrinkwrap.mjs'], { cwd: ROOT });
  packed = pack(folder);
  execFileSync(process.execPath, ['scripts/shrinkwrap.mjs', '--remove'], { cwd: ROOT });
});

describe('the packed file', () => {
  test('holds what is used, and nothing of the workshop', () => {
    const other = packed.files
      .map(({ path }) => path)
      .filter(
        (path) => !/^(?:bin|schemas)\/[\w.-]+$|^dist\/[\w-]+(?:\.d\.ts|\.c?js|\.css|\.txt)$/.test(path),
      );
    expect(other.sort()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'THIRD-PARTY-NOTICES',
      'fixtures/companies.csv',
      'man/profiles.1',
      'npm-shrinkwrap.json',
      'package.json',
    ]);
  });

  test('has all that package.json points to', () => {
    const paths = new Set(packed.files.map(({ path }) => path));
    const pointers = JSON.stringify([manifest.exports, manifest.bin, manifest.man]).match(
      /(?<=")[^"]+\.\w+(?=")/g,
    );
    const targets = pointers!
      .filter((pointer) => pointer !== './package.json')
      .map((path) => path.replace(/^\.\//, ''));
    expect(targets.length).toBeGreaterThan(5);
    for (const target of targets) expect(paths).toContain(target);
  });

  test('carries the version and the digest of all that it installs, as they were tested', () => {
    const words = ['-xzOf', join(folder, packed.filename), 'package/npm-shrinkwrap.json'];
    const { packages } = JSON.parse(execFileSync('tar', words, { encoding: 'utf8' }));
    const { packages: locked } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
    const { '': root, ...installed } = packages;
    expect(root.dependencies).toEqual(manifest.dependencies);
    expect(Object.keys(installed).sort()).toEqual([
      'node_modules/@photostructure/sqlite',
      'node_modules/node-addon-api',
      'node_modules/node-gyp-build',
    ]);
    for (const [path, entry] of Object.entries(installed)) {
      expect(entry).toEqual(locked[path]);
      expect(entry).toMatchObject({
        version: expect.any(String),
        integrity: expect.stringMatching(/^sha512-/),
      });
    }
  });

  test('is small', () => {
    // Readers of CSV dialects, workbooks, Parquet and archives, and a client of PostgreSQL are bundled, so that an install needs no other package.
    expect(packed.size).toBeLessThan(1_000_000);
  });

  test('names no path of this machine and no source map', () => {
    for (const name of readdirSync(join(ROOT, 'dist'))) {
      const text = readFileSync(join(ROOT, 'dist', name), 'utf8');
      expect(text.includes(ROOT), name).toBe(false);
      expect(text.includes('sourceMappingURL'), name).toBe(false);
    }
  });
});

test('publint finds nothing to say', async () => {
  const { buffer } = new Uint8Array(readFileSync(join(folder, packed.filename)));
  const { messages, pkg } = await publint({ pack: { tarball: buffer }, strict: true });
  expect(pkg.name).toBe('profiles-cli');
  expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
});

test('the notices are those of what is bundled', () => {
  const check = () =>
    execFileSync(process.execPath, ['scripts/notices.mjs', '--check'], { cwd: ROOT, stdio: 'pipe' });
  expect(check).not.toThrow();
});

test('the man page has every command, every global option and the exit codes', () => {
  const page = readFileSync(join(ROOT, 'man/profiles.1'), 'utf8');
  for (const { name } of COMMANDS) expect(page).toMatch(new RegExp(`^\\.SS ${name}\\b`, 'm'));
  for (const text of ['.B \\-\\-region <name>', '.SS config set ', '130  ', 'PROFILES_TOKEN']) {
    expect(page).toContain(text);
  }
  expect(page).not.toMatch(/^\.nf\n\.fi/m);
});
