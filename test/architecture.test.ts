/** The layering of the source (README "How it is built"), read from its import lines. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

const SRC = resolve(import.meta.dirname, '../src');

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => name.replaceAll('\\', '/'));

/** The layer of a file: its folder, or for files directly in src their own name. */
function layerOf(file: string): string {
  const [first, ...rest] = file.split('/');
  if (file === 'service/contract.ts' || file === 'service/names.ts') return 'contract';
  return rest.length > 0 ? first! : first!.replace(/\.ts$/, '');
}

interface Import {
  from: string;
  to: string;
  /** Erased by the compiler: it says what a thing looks like, and couples nothing at run time. */
  typeOnly: boolean;
}

const imports: Import[] = files.flatMap((file) => {
  const text = readFileSync(join(SRC, file), 'utf8');
  const found = [...text.matchAll(/^(?:import|export)\s+(type\s+)?[^;]*?from\s+'(\.[^']+)';/gms)].map(
    ([, type, path]) => ({ typeOnly: type !== undefined, path: path! }),
  );
  const lazy = [...text.matchAll(/import\('(\.[^']+)'\)/g)].map(([, path]) => ({
    typeOnly: false,
    path: path!,
  }));
  return [...found, ...lazy].map(({ typeOnly, path }) => ({
    from: file,
    to: relative(SRC, resolve(SRC, dirname(file), path))
      .replaceAll('\\', '/')
      .replace(/\.js$/, '.ts'),
    typeOnly,
  }));
});

/** What each layer may import, beside itself. A layer without an entry fails. */
const BASE = ['errors', 'model', 'contract', 'duration', 'nearest', 'shell', 'fingerprint-index'];
const ALLOWED: Record<string, string[]> = {
  errors: [],
  duration: ['errors'],
  nearest: [],
  shell: [],
  'fingerprint-index': [],
  contract: [],
  model: ['contract'],
  input: BASE,
  service: BASE,
  state: BASE,
  settings: BASE,
  output: BASE,
  sandbox: ['errors', 'contract'],
  flow: [...BASE, 'input', 'service', 'state', 'output', 'settings'],
  context: ['service', 'state', 'settings', 'output'],
  world: [],
  'create-context': [...BASE, 'context', 'service', 'state', 'settings', 'output', 'sandbox'],
  commands: [...BASE, 'context', 'input', 'service', 'state', 'output', 'settings', 'flow', 'sandbox'],
  main: [...BASE, 'context', 'create-context', 'commands', 'output', 'world'],
  // The other way in: it sees no command and prints nothing.
  library: [...BASE, 'input', 'service', 'state', 'settings', 'flow', 'world'],
  index: [...BASE, 'input', 'service', 'flow', 'library'],
};

describe('imports point down', () => {
  test('there are files and imports to look at', () => {
    expect(files.length).toBeGreaterThan(50);
    expect(imports.length).toBeGreaterThan(200);
  });

  test('every layer says what it may import, and is there', () => {
    expect([...new Set(files.map(layerOf))].sort()).toEqual(Object.keys(ALLOWED).sort());
  });

  test.each(Object.keys(ALLOWED))('%s', (layer) => {
    const wrong = imports.filter(({ from, to, typeOnly }) => {
      const [here, there] = [layerOf(from), layerOf(to)];
      // The context's and the clock's types are what everything above input is handed.
      if (typeOnly && there === 'context') return false;
      return here === layer && there !== layer && !ALLOWED[layer]!.includes(there);
    });
    expect(wrong).toEqual([]);
  });

  test('only its command and the context embed the sandbox', () => {
    const users = imports.filter(({ from, to }) => layerOf(to) === 'sandbox' && layerOf(from) !== 'sandbox');
    for (const { from } of users)
      expect(from).toMatch(/^(?:commands\/sandbox(?:\/.*)?\.ts|create-context\.ts)$/);
  });

  test('no command imports another', () => {
    const index = readFileSync(join(SRC, 'commands/index.ts'), 'utf8');
    const commands = [...index.matchAll(/import\('\.\/([^']+)\.js'\)/g)].map(
      ([, name]) => `commands/${name}.ts`,
    );
    expect(commands.length).toBeGreaterThan(8);
    const wrong = imports.filter(
      ({ from, to }) =>
        from !== 'commands/index.ts' && from !== to && commands.includes(to) && commands.includes(from),
    );
    expect(wrong).toEqual([]);
  });
});

test('only world.ts reads process', () => {
  const readers = files.filter((file) => {
    const code = readFileSync(join(SRC, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
    return /\bprocess\.[a-z]/i.test(code) || /from 'node:process'/.test(code);
  });
  expect(readers.filter((file) => file !== 'world.ts')).toEqual([]);
});

test('inputs are opened through their door', () => {
  const wrong = imports.filter(
    ({ from, to }) => layerOf(to) === 'input' && layerOf(from) !== 'input' && to !== 'input/index.ts',
  );
  expect(wrong).toEqual([]);
});
