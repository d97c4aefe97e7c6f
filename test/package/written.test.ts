/** What the command prints as the build wrote it: the version and the help. */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { built, type Ended, node } from '../support/child.js';
import { cli, scratch } from '../support/cli.js';

const ROOT = resolve(import.meta.dirname, '../..');
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };

beforeAll(built);

/** Runs the built command, on a terminal of this width if it is given. */
function run(word: string, { root = ROOT, columns }: { root?: string; columns?: number }): Promise<Ended> {
  const preload = join(scratch(), 'terminal.cjs');
  const terminal = columns === undefined ? {} : { isTTY: true, columns };
  writeFileSync(preload, `Object.assign(process.stdout, ${JSON.stringify(terminal)});`);
  return node(['--require', preload, join(root, 'bin/profiles.js'), word], { cwd: ROOT }).ended;
}

it.each([undefined, 70, 80, 200])(
  'the help is that of the source, on a terminal of %s columns',
  async (columns) => {
    const width = columns === undefined ? {} : { columns };
    for (const word of ['--help', '-h']) {
      const { stdout } = await cli([word], width);
      expect(await run(word, width)).toMatchObject({ code: 0, stdout, stderr: '' });
    }
  },
);

it.each([undefined, 70, 80])(
  'the version is that of the package, on a terminal of %s columns',
  async (columns) => {
    const width = columns === undefined ? {} : { columns };
    expect(await run('--version', width)).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' });
  },
);

it('is printed without loading the program, and made if it was not written', async () => {
  const root = scratch();
  for (const name of ['bin', 'dist', 'package.json'])
    cpSync(join(ROOT, name), join(root, name), { recursive: true });
  const help = { code: 0, stdout: (await cli(['--help'])).stdout };
  for (const name of ['help.txt', 'version.txt']) rmSync(join(root, 'dist', name));
  expect(await run('--help', { root })).toMatchObject(help);
  expect(await run('--version', { root })).toMatchObject({ code: 0, stdout: `${version}\n` });

  cpSync(join(ROOT, 'dist/help.txt'), join(root, 'dist/help.txt'));
  rmSync(join(root, 'dist/main.cjs'));
  expect(await run('--help', { root })).toMatchObject(help);
});
