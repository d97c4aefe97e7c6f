/** What would be published. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { beforeAll, describe, expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/main.js';
import { built } from '../support/child.js';
import { scratch } from '../support/cli.js';
import { type Packed, pack, ROOT } from './consumer.js';

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<string, unknown>;
const folder = scratch();
let packed: Packed;

beforeAll(async () => {
  built();
  execFileSync(process.execPath, ['scripts/man.mjs'], { cwd: ROOT });
  packed = pack(folder);
});

describe('the packed file', () => {
  test('holds what is used, and nothing of the workshop', () => {
    const other = packed.files
      .map(({ path }) => path)
      .filter(
        (path) =>
          !/^node_modules\/|^(?:bin|schemas)\/[\w.-]+$|^dist\/[\w-]+(?:\.d\.ts|\.c?js|\.css)$/.test(path),
      );
    expect(other.sort()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'THIRD-PARTY-NOTICES',
      'dist/parquet_wasm_bg.wasm',
      'fixtures/companies.csv',
      'man/profiles.1',
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

  test('carries all that it installs, in the versions of the lockfile', () => {
    execFileSync('tar', ['-xzf', join(folder, packed.filename), '-C', folder]);
    const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
    const installed = Object.keys(packages).filter((path) => path !== '' && !packages[path].dev);
    expect(installed).toContain('node_modules/@photostructure/sqlite');
    for (const path of installed) {
      const { version } = JSON.parse(readFileSync(join(folder, 'package', path, 'package.json'), 'utf8'));
      expect(version).toBe(packages[path].version);
    }
    expect(packed.bundled).toHaveLength(installed.length);
  });

  test('is small, but for the libraries of SQLite and parquet-wasm', () => {
    // Readers of CSV dialects, workbooks, Parquet and archives, prompts, and a client of PostgreSQL are bundled, so that an install needs no other package.
    const own = packed.files.filter(({ path }) => !/^node_modules\/|\.wasm$/.test(path));
    const text = Buffer.concat(own.map(({ path }) => readFileSync(join(ROOT, path))));
    expect(gzipSync(text, { level: 9 }).length).toBeLessThan(1_030_000);
    expect(packed.size).toBeLessThan(15_500_000);
  });

  test('is as large as the README says', () => {
    const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
    const stated = Number(/The packed package is (\d+) kB/.exec(readme)?.[1]);
    expect(Math.abs(packed.size / 1_000 - stated) / stated, `${packed.size} bytes`).toBeLessThan(0.03);
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
