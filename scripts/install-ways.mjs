// Installs the package in each way, with an empty home and prefix, and runs what a user would run first.
import { execFile } from 'node:child_process';
import { copyFile, cp, mkdir, readFile, realpath } from 'node:fs/promises';
import { delimiter, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const windows = process.platform === 'win32';

/** Copies the tracked files of this checkout, as a clone has them. */
async function cloneTo(folder) {
  const { stdout } = await run('git', ['ls-files', '-z'], { maxBuffer: 2 ** 24 });
  for (const name of stdout.split('\0').filter(Boolean)) {
    await cp(name, join(folder, name)).catch((error) => {
      if (error.code !== 'ENOENT') throw error; // deleted, but not committed yet
    });
  }
}

/** The commands below "Your first import" in the README, without comments. */
async function firstImport() {
  const text = await readFile('README.md', 'utf8');
  const block = /^## Your first import\n[^`]*```sh\n([\s\S]*?)```/m.exec(text)[1];
  return block
    .split('\n')
    .map((line) => line.replace(/ {2,}#.*/, '').trim())
    .filter(Boolean);
}

/**
 * Installs globally into an empty prefix, from the packed file or from a clone. Then runs the commands of the
 * README, and checks completion and man page.
 * @param {{ root: string, node: NodeJS.ProcessEnv, file: string, way: 'tarball' | 'clone' }} given
 */
export async function installGlobally({ root, node, file, way }) {
  const at = (name) => join(root, `${way}-${name}`);
  for (const name of ['home', 'prefix', 'work']) await mkdir(at(name), { recursive: true });
  const quiet = { shell: windows, maxBuffer: 2 ** 24 };
  // npm uses its usual registry and cache, but nothing else of this user.
  const npm = { ...node, npm_config_prefix: at('prefix') };
  if (way === 'clone') {
    await cloneTo(at('clone'));
    await run('npm', ['ci'], { ...quiet, cwd: at('clone'), env: npm });
    await run('npm', ['install', '--global', '.'], { ...quiet, cwd: at('clone'), env: npm });
  } else await run('npm', ['install', '--global', file], { ...quiet, cwd: at('work'), env: npm });

  const bin = windows ? at('prefix') : join(at('prefix'), 'bin');
  const home = at('home');
  const env = {
    ...(windows ? { SystemRoot: process.env.SystemRoot, APPDATA: home, LOCALAPPDATA: home } : {}),
    HOME: home,
    USERPROFILE: home,
    PATH: [bin, dirname(node.NODE_BINARY), ...(windows ? [] : ['/usr/bin', '/bin'])].join(delimiter),
  };
  await mkdir(join(at('work'), 'fixtures'));
  await copyFile(resolve('fixtures/companies.csv'), join(at('work'), 'fixtures/companies.csv'));
  const here = { cwd: at('work'), env };
  for (const line of await firstImport()) await run(line, { ...here, shell: true });
  const { stdout: script } = await run('profiles completion bash', { ...here, shell: true });
  if (!script.includes('profiles')) throw new Error(`${way}: no completion script`);
  if (windows) return;
  const page = await realpath(join(at('prefix'), 'share/man/man1/profiles.1'));
  if (!(await readFile(page, 'utf8')).includes('.SS import'))
    throw new Error(`${way}: ${page} is not the man page`);
}
