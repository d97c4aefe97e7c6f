/** The layering of the source (CONTRIBUTING "Rules"), read from its import lines. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { COMMANDS } from '../src/cli/main.js';

const SRC = resolve(import.meta.dirname, '../src');

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => name.replaceAll('\\', '/'));

/** The layer of a file: its room, `engine/<folder>`, `cli/<folder>` or `sandbox`; for files between them their own name. */
function layerOf(file: string): string {
  const [first, second] = file.split('/');
  if (/^engine\/service\/(?:contract|names)\.ts$/.test(file)) return 'contract';
  return first === 'sandbox' ? first : `${first}/${second!.replace(/\.ts$/, '')}`;
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
      .replace(/\.js$/, (_, at: number, path: string) =>
        files.includes(`${path.slice(0, at)}.tsx`) ? '.tsx' : '.ts',
      ),
    typeOnly,
  }));
});

/** What each layer may import, beside itself. A layer without an entry fails. */
const BASE = ['errors', 'events', 'fingerprints', 'model', 'options', 'problems', 'states', 'util'].map(
  (name) => `engine/${name}`,
);
const ENGINE = ['engine/read', 'engine/service', 'engine/state', 'engine/plan', 'engine/send', 'engine/run'];
const ALLOWED: Record<string, string[]> = {
  contract: [],
  ...Object.fromEntries(BASE.map((name) => [name, [...BASE, 'contract']])),
  // Without a word of this domain.
  'engine/util': ['engine/errors'],
  // read, service, state <- plan <- send <- run <- course
  'engine/service': [...BASE, 'contract'],
  'engine/state': [...BASE, 'contract'],
  'engine/read': BASE,
  'engine/plan': [...BASE, 'contract', 'engine/read'],
  'engine/send': [...BASE, 'contract', 'engine/read', 'engine/service', 'engine/state', 'engine/plan'],
  'engine/run': [
    ...BASE,
    'contract',
    'engine/read',
    'engine/service',
    'engine/state',
    'engine/plan',
    'engine/send',
  ],
  'engine/course': [...BASE, 'contract', ...ENGINE],
  // The other way in: it sees no command and prints nothing.
  'engine/library': [...BASE, 'contract', ...ENGINE, 'engine/course'],
  'engine/index': [...BASE, 'contract', ...ENGINE, 'engine/course', 'engine/library'],
  sandbox: ['engine/errors', 'engine/util', 'contract'],
  // The table; of the sandbox it takes a default.
  'cli/options': [...BASE, 'sandbox'],
  // Hints, and commands to paste.
  'cli/advice': [...BASE, 'contract', 'engine/service', 'engine/state', 'cli/options', 'cli/settings'],
  'cli/settings': [...BASE, 'contract', 'engine/service', 'engine/state', 'cli/advice', 'cli/options'],
  'cli/facts': [...BASE, 'contract', 'engine/send', 'engine/service', 'engine/state', 'cli/advice'],
  'cli/output': [...BASE, 'contract', 'cli/advice', 'cli/facts'],
  'cli/world': ['engine/util', 'engine/errors', 'cli/output'],
  'cli/context': [
    'cli/advice',
    ...BASE,
    'contract',
    ...ENGINE,
    'cli/options',
    'cli/settings',
    'cli/output',
    'sandbox',
  ],
  'cli/prompts': [...BASE, 'cli/context', 'cli/output'],
  'cli/guide': [
    ...BASE,
    ...ENGINE,
    'cli/advice',
    'cli/context',
    'cli/facts',
    'cli/options',
    'cli/output',
    'cli/prompts',
  ],
  'cli/commands': [
    'cli/advice',
    ...BASE,
    'contract',
    ...ENGINE,
    'engine/course',
    'cli/context',
    'cli/guide',
    'cli/options',
    'cli/output',
    'cli/prompts',
    'cli/facts',
    'cli/settings',
    'sandbox',
  ],
  'cli/main': [
    'cli/advice',
    ...BASE,
    'cli/context',
    'cli/commands',
    'cli/options',
    'cli/output',
    'cli/world',
  ],
};

/** Chains of imports that lead from a file back to itself, one for each import that closes one. */
function cyclesAmong(some: readonly string[]): string[][] {
  const targets = new Map(some.map((file) => [file, new Set<string>()]));
  for (const { from, to } of imports) if (targets.has(to)) targets.get(from)?.add(to);
  const cycles: string[][] = [];
  const done = new Set<string>();
  const follow = (file: string, chain: readonly string[]): void => {
    const start = chain.indexOf(file);
    if (start >= 0) cycles.push([...chain.slice(start), file]);
    if (start >= 0 || done.has(file)) return;
    for (const next of targets.get(file)!) follow(next, [...chain, file]);
    done.add(file);
  };
  for (const file of some) follow(file, []);
  return cycles;
}

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
      // The context's type is what everything in the shell is handed.
      if (typeOnly && there === 'cli/context' && here.startsWith('cli/')) return false;
      return here === layer && there !== layer && !ALLOWED[layer]!.includes(there);
    });
    expect(wrong).toEqual([]);
  });

  test('only its command and the context embed the sandbox', () => {
    const users = imports.filter(({ from, to }) => layerOf(to) === 'sandbox' && layerOf(from) !== 'sandbox');
    for (const { from } of users)
      expect(from).toMatch(/^cli\/(?:commands\/(?:sandbox|help)\.ts|context\.ts|options\/table\.ts)$/);
  });

  test('no command imports another', () => {
    const index = readFileSync(join(SRC, 'cli/main.ts'), 'utf8');
    const commands = [...index.matchAll(/import\('\.\/commands\/((?!command|help-page)[^']+)\.js'\)/g)].map(
      ([, name]) => `cli/commands/${name}.ts`,
    );
    expect(commands.length).toBeGreaterThan(8);
    const wrong = imports.filter(
      ({ from, to }) => from !== to && commands.includes(to) && commands.includes(from),
    );
    expect(wrong).toEqual([]);
  });
});

test('every import leads to a file', () => {
  const lost = imports.filter(({ to }) => !files.includes(to) && !to.endsWith('.json'));
  expect(lost).toEqual([]);
});

test('no file imports itself by way of others, not even for a type', () => {
  expect(cyclesAmong(files)).toEqual([]);
});

test('there is no cryptography and no assembler of our own', () => {
  const rotation = /<< ?(\d+)n?\) ?\| ?\([^()]*>>> ?(\d+)n?\)/g;
  const own = files.filter((file) => {
    const text = readFileSync(join(SRC, file), 'utf8').replace(/\/\*.*?\*\/|\/\/[^\n]*|'[^'\n]*'/gs, '');
    // Hash functions and ciphers rotate words.
    return text.includes('WebAssembly') || [...text.matchAll(rotation)].some(([, a, b]) => +a! + +b! === 32);
  });
  expect(own).toEqual([]);
});

test('no private file of a library is imported', () => {
  const own = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.(?:tsx?|css)$/.test(name),
  );
  const packages = own.flatMap((file) =>
    [
      ...readFileSync(join(SRC, file), 'utf8').matchAll(
        /(?:from|import|module|require)\s*\(?'([^.'][^']*)'/g,
      ),
    ].map(([, path]) => `${file}: ${path}`),
  );
  expect(packages.length).toBeGreaterThan(50);
  const isPrivate = (line: string): boolean =>
    /: (?!node:)(?:@[^/]+\/)?[^/]+\/.*(?:\.[cm]?js|\blib\b|\bdist\b|\bsrc\b)/.test(line);
  expect(packages.filter(isPrivate)).toEqual([]);
});

test('no file has more than 300 lines', () => {
  const linesOf = (file: string): number => readFileSync(join(SRC, file), 'utf8').split('\n').length - 1;
  expect(files.filter((file) => linesOf(file) > 300)).toEqual([]);
});

test('the engine knows no flag, no command line and no variable of the command', () => {
  const words = COMMANDS.map(({ name }) => name).join('|');
  const known = new RegExp(
    `(?<![\\w-])--[a-z][\\w-]+(?![.\\w-]| [=<>]=)|\\bprofiles (?:${words})\\b|\\bPROFILES_`,
  );
  const found = files
    .filter((file) => file.startsWith('engine/'))
    .flatMap((file) => {
      const lines = readFileSync(join(SRC, file), 'utf8').split('\n');
      // Flags of V8 are others.
      const flags = lines.filter((line) => known.test(line) && !line.includes('setFlagsFromString('));
      return flags.map((line) => `${file}: ${line.trim()}`);
    });
  expect(found).toEqual([]);
});

test('only cli/world.ts reads process, and the module that asks whose a file is', () => {
  const readers = files.filter((file) => {
    const code = readFileSync(join(SRC, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
    return /\bprocess\.[a-z]/i.test(code) || /from 'node:process'/.test(code);
  });
  expect(readers.filter((file) => file !== 'cli/world.ts')).toEqual(['engine/util/owner.ts']);
});

test('no folder is made with recursive, which never returns for one below /proc', () => {
  const makers = files.filter((file) =>
    /mkdir(?:Sync)?\([^;]*recursive/.test(readFileSync(join(SRC, file), 'utf8')),
  );
  expect(makers).toEqual([]);
});

test('inputs are opened through their door', () => {
  const rooms = ['engine/read', 'engine/plan']; // the plan is made of what reading finds
  const wrong = imports.filter(
    ({ from, to }) =>
      layerOf(to) === 'engine/read' && !rooms.includes(layerOf(from)) && to !== 'engine/read/index.ts',
  );
  expect(wrong).toEqual([]);
});
