/** Every fenced block of every document is held against the program by some test; one that is new has to be given to one. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import type { World } from '../../src/cli/context.js';
import { commandTree } from '../../src/cli/main.js';
import { Exit } from '../../src/engine/errors.js';
import { allCommands } from '../cli/reference-text.js';
import { type Block, blocksOf, DOCUMENTS, read } from '../docs/documents.js';
import { ROOT } from './consumer.js';

const BLOCKS = DOCUMENTS.flatMap(blocksOf);
const blocksOfKinds = (...kinds: string[]): Block[] =>
  BLOCKS.filter(({ page, language }) => kinds.includes(`${page} ${language}`));

test('each block has its test, or says why it has none', () => {
  const pages = DOCUMENTS.filter((page) => page.startsWith('docs/'));
  expect(pages.length).toBeGreaterThan(5);
  const known = [
    // test/docs/commands.test.ts; a script: test/docs/recipes.test.ts
    ...['README.md', ...pages].flatMap((page) => [`${page} sh`, `${page} console`]),
    'docs/ci.md yaml', // test/docs/recipes.test.ts; test/action/action.test.ts holds its inputs against action.yml
    ...pages.map((page) => `${page} ts`), // here, as are those below
    'CONTRIBUTING.md sh',
    'bench/README.md sh',
    'fixtures/wire/README.md json',
  ];
  const without = BLOCKS.filter(
    ({ page, language, notRun }) => notRun === null && !known.includes(`${page} ${language}`),
  );
  expect(without).toEqual([]);
  // A reason is a sentence.
  for (const { notRun } of BLOCKS) if (notRun !== null) expect(notRun).toMatch(/\w+ \w+ \w+/);
});

test('the recipes for CI are those that are run', () => {
  const recipes = blocksOfKinds('docs/ci.md yaml').length;
  const scripts = BLOCKS.filter(({ language, text }) => language === 'sh' && text.startsWith('#!'));
  expect([recipes, scripts.map(({ page }) => page)]).toEqual([4, ['docs/ci.md']]);
});

test('code on a page is a part of an example, which is compiled and run', () => {
  const examples = readdirSync(join(ROOT, 'examples')).filter((name) => name.endsWith('.ts'));
  const texts = examples.map((name) => read(`examples/${name}`));
  const code = BLOCKS.filter(({ page, language }) => language === 'ts' && page.startsWith('docs/'));
  expect(code.length).toBeGreaterThan(1);
  for (const { page, line, text } of code)
    expect({ page, line, found: texts.some((example) => example.includes(text)) }).toMatchObject({
      found: true,
    });
});

// They run for minutes, some of them all that is here: it is enough that they can be started.
test('commands for contributors are scripts of package.json', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const lines = blocksOfKinds('CONTRIBUTING.md sh', 'bench/README.md sh').flatMap(({ text }) =>
    text.trimEnd().split('\n'),
  );
  expect(lines.length).toBeGreaterThan(4);
  for (const line of lines) {
    const [, name] = /^npm (?:run )?(\S+)/.exec(line) ?? [];
    expect(name === 'ci' || name! in scripts, line).toBe(true);
  }
});

test('a wire example has the members that are described, and no others', () => {
  const [described] = blocksOfKinds('fixtures/wire/README.md json');
  const known = new Set(Object.keys(JSON.parse(described!.text) as object));
  const files = readdirSync(join(ROOT, 'fixtures/wire')).filter((name) => name.endsWith('.json'));
  const used = new Set(
    files.flatMap((name) => Object.keys(JSON.parse(read(`fixtures/wire/${name}`)) as object)),
  );
  expect(used).toEqual(known);
});

describe('README', () => {
  const README = read('README.md');

  test('fits on two screens', () => {
    expect(README.split('\n').length).toBeLessThanOrEqual(100);
  });

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

  test('names every exit code', () => {
    for (const code of Object.values(Exit))
      expect(README).toMatch(new RegExp(`^\\| (?:\\d+, )?${code}(?:, \\d+)? \\|`, 'm'));
  });
});

describe('CONTRIBUTING', () => {
  const text = read('CONTRIBUTING.md');

  test('names files and folders that exist', () => {
    const named = [...text.matchAll(/`((?:src|test|scripts|bin)\/[\w./-]+)`/g)].map(([, path]) => path!);
    expect(named.length).toBeGreaterThan(50);
    expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  test('names commands that are scripts', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: object };
    const named = [...text.matchAll(/`npm run ([\w:]+)/g)].map(([, name]) => name!);
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });
});

test('every command, the root included, has at least two examples', async () => {
  // Only `stdout` is looked at while the tree is made.
  const world = { stdout: new PassThrough() } as unknown as World;
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
