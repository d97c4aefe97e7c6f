/** What a start loads: the files of dist/ that stand behind an entry by plain imports, and the packages in them. */
import type { Metafile } from 'esbuild';
import { describe, expect, it } from 'vitest';

const { href } = new URL('../../scripts/bundle.mjs', import.meta.url);
const { bundle } = (await import(href)) as {
  bundle(): Promise<{ files: Map<string, string>; metafile: Metafile }>;
};
const { files: texts, metafile } = await bundle();
const { outputs } = metafile;

const BINDING = '@photostructure/sqlite';

/** Files that are loaded with a module of src/. */
function filesOf(module: string): string[] {
  const [first] = Object.entries(outputs).find(([, { inputs }]) => module in inputs) ?? [];
  if (first === undefined) throw new Error(`${module} is in no file`);
  const files = new Set([first]);
  for (const file of files) {
    for (const { path, kind, external } of outputs[file]!.imports) {
      if (kind === 'import-statement' && !external) files.add(path);
    }
  }
  return [...files];
}

const inputsOf = (module: string): string[] =>
  filesOf(module).flatMap((file) => Object.keys(outputs[file]!.inputs));

const packagesOf = (module: string): string[] => {
  const names = inputsOf(module).map((input) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1]);
  return [...new Set(names)].filter((name) => name !== undefined);
};

/** Packages that are no part of dist/. */
const externalsOf = (module: string): string[] =>
  filesOf(module).flatMap((file) =>
    outputs[file]!.imports.filter(({ external }) => external).map(({ path }) => path),
  );

describe('a start loads', () => {
  it.each([
    'src/cli/main.ts',
    'src/cli/commands/command.ts',
    'src/cli/commands/lookups.ts',
    'src/cli/context.ts',
  ])('no package with %s', (module) => expect(packagesOf(module)).toEqual([]));

  it.each(['main', 'commands/lookups', 'commands/runs'])('no database with %s, for help', (name) => {
    expect(externalsOf(`src/cli/${name}.ts`)).not.toContain(BINDING);
    expect(externalsOf('src/engine/state/sqlite/database.ts')).toContain(BINDING);
  });

  it('few files with the first one', () => expect(filesOf('src/cli/main.ts').length).toBeLessThanOrEqual(9));

  it.each(['zod', 'undici', 'cli-table3', 'commander', 'ora'])(
    'an import without %s, until it is needed',
    (name) => expect(packagesOf('src/cli/commands/import-run.ts')).not.toContain(name),
  );

  it.each(['import-run', 'jobs', 'lookups', 'doctor', 'identify', 'inspect'])('no spinner with %s', (name) =>
    expect(packagesOf(`src/cli/commands/${name}.ts`)).not.toContain('ora'),
  );

  it('a client with undici alone: schemas wait for the first reply, a proxy for its setting', () =>
    expect(packagesOf('src/engine/service/client.ts')).toEqual(['undici']));

  it('of undici neither fetch nor HTTP/2', () => {
    const inputs = inputsOf('src/engine/service/client.ts');
    expect(inputs).toContain('node_modules/undici/lib/dispatcher/client.js');
    expect(inputs.filter((input) => /undici\/lib\/(?:web\/fetch|dispatcher\/client-h2)/.test(input))).toEqual(
      [],
    );
  });
});

it('no file exports a copy, whose names are looked up one by one with each use', () => {
  const exporting = [...texts].filter(([, text]) => text.includes('module.exports='));
  expect(exporting.length).toBeGreaterThan(20);
  const copies = exporting.filter(([, text]) => /module\.exports=__toCommonJS\(/.test(text));
  expect(copies.map(([name]) => name)).toEqual([]);
});
