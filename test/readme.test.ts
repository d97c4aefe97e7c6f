/** The README names every command, and no flag that there is not; its first commands are the ones that work. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import type { World } from '../src/cli/context.js';
import { commandTree } from '../src/cli/main.js';
import { BUILT_IN, OPTIONS } from '../src/cli/options/index.js';
import { Exit } from '../src/engine/errors.js';
import { allCommands } from './cli/reference-text.js';

const ROOT = resolve(import.meta.dirname, '..');
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');

/** Only `stdout` is looked at while the tree is made. */
const world = { stdout: new PassThrough() } as unknown as World;

describe('README', () => {
  test('its first commands', () => {
    expect(README).toContain(
      'npm ci && npx profiles import fixtures/companies.csv --region sandbox\nnpm test\n',
    );
  });

  test('the promise, word for word', () => {
    expect(README).toContain(
      '*What the service has acknowledged is never sent again. What was in flight when the answer was lost is sent again (an upsert makes that safe) and is named in the report. Every row ends as filtered, rejected, unchanged, merged, submitted, unknown or unsent, and the numbers add up.*',
    );
  });

  test('names no flag, variable or config key that there is not', () => {
    const known = new Set(
      OPTIONS.flatMap(({ long, env, config, type }) => [
        long,
        env,
        config,
        // What the config file switches on, a flag switches off.
        ...(type.kind === 'flag' && config ? [long.replace('--', '--no-')] : []),
      ]).concat(Object.keys(BUILT_IN).map((name) => `--${name}`)),
    );
    // Of npm and npx.
    const prose = README.replaceAll(/--no-install|--global/g, '');
    const named = prose.match(/(?<![\w-])--[a-z][a-z-]+|\bPROFILES_[A-Z_]+|\bimport\.[a-z_]+_[a-z_]+/g) ?? [];
    expect(named.length).toBeGreaterThan(5);
    expect([...new Set(named)].filter((name) => !known.has(name))).toEqual([]);
  });

  test('names every exit code', () => {
    for (const code of Object.values(Exit))
      expect(README).toMatch(new RegExp(`^\\| (?:\\d+, )?${code}(?:, \\d+)? \\|`, 'm'));
  });
});

test('every command, the root included, has at least two examples', async () => {
  const tree = await commandTree([], world, () => async () => {});
  for (const command of [tree, ...(await allCommands())]) {
    let help = '';
    command.configureOutput({ writeOut: (text) => (help += text) });
    command.outputHelp();
    const examples = help.split('\nExamples\n')[1] ?? '';
    expect([command.name(), examples.match(/^ {2}\$ profiles /gm)?.length ?? 0]).toEqual([
      command.name(),
      expect.toSatisfy((count: number) => count >= 2, 'at least two'),
    ]);
  }
});
