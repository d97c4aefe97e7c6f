/** Every fenced block of every document is held against the program by some test; one that is new has to be given to one. */
import { readdirSync, readFileSync } from 'node:fs';
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
  const pages = [...new Set(DOCUMENTS.filter((file) => file.startsWith('docs/')))];
  expect(pages.length).toBeGreaterThan(5);
  const known = [
    // test/docs/commands.test.ts; a script: test/docs/recipes.test.ts
    ...['README.md', ...pages].flatMap((file) => [`${file} sh`, `${file} console`]),
    'docs/ci.md yaml', // test/action/action.test.ts holds its inputs against action.yml
    'docs/recipes.md yaml', // test/docs/recipes.test.ts
    'docs/formats.md text', // what a file or a name looks like: nothing to run
    'docs/guide.md json', // here, as are those below
    'docs/sandbox.md ts',
    ...['docs/library-api.md ts', 'docs/library-sandbox-api.md ts'], // test/docs/api-reference.test.ts
    'CONTRIBUTING.md sh',
    'bench/README.md sh',
    'fixtures/wire/README.md json',
  ];
  expect(BLOCKS.map(({ file, language }) => `${file} ${language}`)).toEqual(
    expect.toSatisfy((kinds: string[]) => kinds.every((kind) => known.includes(kind)), 'known kinds'),
  );
});

test('the recipes for CI are those that are run', () => {
  const recipes = blocksOf('docs/recipes.md yaml').length;
  const scripts = BLOCKS.filter(({ language, text }) => language === 'sh' && text.startsWith('#!'));
  expect([recipes, scripts.map(({ file }) => file)]).toEqual([2, ['docs/recipes.md']]);
});

test('code on the sandbox page is in the example that is compiled and run', () => {
  const example = read('examples/sync.test.ts');
  for (const { text } of blocksOf('docs/sandbox.md ts'))
    for (const line of text.match(/startSandbox\([^)]*\)/g)!) expect(example).toContain(line.slice(0, 13));
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

  test('fits on two screens', () => {
    expect(README.split('\n').length).toBeLessThan(120);
  });

  test('says how large the packed file is', async () => {
    await built();
    const stated = Number(/The packed package is (\d+) kB/.exec(README)?.[1]);
    const { size } = pack(scratch());
    expect(Math.abs(size / 1_000 - stated) / stated, `${size} bytes`).toBeLessThan(0.03);
  });
});
