/** Every fenced block of every document is held against the program by some test; one that is new has to be given to one. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { built } from '../support/child.js';
import { scratch } from '../support/cli.js';
import { pack, ROOT } from './consumer.js';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

interface Block {
  file: string;
  language: string;
  text: string;
}

const DOCUMENTS = ['.', 'docs', 'bench', 'examples', 'fixtures', 'fixtures/wire'].flatMap((folder) =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name)),
);
const BLOCKS: Block[] = DOCUMENTS.flatMap((file) =>
  [...read(file).matchAll(/^(`{3,}|~{3,})(\w*)\n([\s\S]*?)^\1$/gm)].map(([, , language = '', text = '']) => ({
    file,
    language,
    text,
  })),
);
const blocksOf = (...kinds: string[]): Block[] =>
  BLOCKS.filter(({ file, language }) => kinds.includes(`${file} ${language}`));

test('each kind of block has its test', () => {
  expect(new Set(BLOCKS.map(({ file, language }) => `${file} ${language}`))).toEqual(
    new Set([
      'README.md sh', // test/cli/readme.test.ts; a script: test/cli/recipes.test.ts
      'README.md console', // test/cli/readme.test.ts
      'README.md yaml', // test/cli/recipes.test.ts
      'README.md ', // which modules import which: test/architecture.test.ts
      'CONTRIBUTING.md sh', // here, as are those below
      'bench/README.md sh',
      'fixtures/wire/README.md json',
    ]),
  );
});

test('the recipes for CI are those that are run', () => {
  const recipes = blocksOf('README.md yaml').length;
  const scripts = blocksOf('README.md sh').filter(({ text }) => text.startsWith('#!')).length;
  expect([recipes, scripts]).toEqual([2, 1]);
});

// They run for minutes, some of them all that is here: it is enough that they can be started.
test('commands for contributors are scripts of package.json', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const lines = blocksOf('CONTRIBUTING.md sh', 'bench/README.md sh').flatMap(({ text }) =>
    text.trimEnd().split('\n'),
  );
  expect(lines.length).toBeGreaterThan(4);
  for (const line of lines) {
    const [, name] = /^npm (?:run )?(\S+)/.exec(line) ?? [];
    expect(name === 'ci' || name! in scripts, line).toBe(true);
  }
});

test('a wire example has the members that are described, and no others', () => {
  const [described] = blocksOf('fixtures/wire/README.md json');
  const known = new Set(Object.keys(JSON.parse(described!.text) as object));
  const files = readdirSync(join(ROOT, 'fixtures/wire')).filter((name) => name.endsWith('.json'));
  const used = new Set(
    files.flatMap((name) => Object.keys(JSON.parse(read(`fixtures/wire/${name}`)) as object)),
  );
  expect(used).toEqual(known);
});

describe('README', () => {
  const README = read('README.md');

  test('its pictures and links are there', () => {
    const targets = [...README.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, target]) => target!);
    expect(targets).toContain('docs/import.svg');
    expect(targets.filter((target) => !existsSync(join(ROOT, target)))).toEqual([]);
  });

  test('is short', () => {
    expect(README.split('\n').length).toBeLessThan(300);
  });

  test('says how large the packed file is', async () => {
    await built();
    const stated = Number(/The packed package is (\d+) kB/.exec(README)?.[1]);
    const { size } = pack(scratch());
    expect(Math.abs(size / 1_000 - stated) / stated, `${size} bytes`).toBeLessThan(0.03);
  });
});
