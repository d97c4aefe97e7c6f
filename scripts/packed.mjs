// Packs the package, tries to publish it (dry run), and installs it on several versions of Node: the packed
// file into an empty folder and globally, and a clone globally. Then runs what the README says to run first:
// node scripts/packed.mjs [version…]
import { execFile } from 'node:child_process';
import { copyFile, cp, mkdir, mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { chosenNodes, nodeOf } from './node-versions.mjs';

const run = promisify(execFile);
const windows = process.platform === 'win32'; // npm and npx are scripts there
const LIBRARY = `
  import { planImport } from 'profiles-cli';
  import { startSandbox } from 'profiles-cli/sandbox';
  const sandbox = await startSandbox();
  const { valid } = await planImport({ files: ['companies.csv'] });
  await sandbox.stop();
  console.log(valid);
`;

const readme = await readFile('README.md', 'utf8');
const [, stated] = /All (\d+) packages that it installs/.exec(readme) ?? [];

/**
 * Tries to publish, as far as that is possible without an account. Warnings are errors: npm corrects
 * package.json with a warning.
 */
async function dryPublish(file) {
  const { stderr } = await run('npm', ['publish', '--dry-run', file], { shell: windows });
  const warnings = stderr
    .split('\n')
    .filter((line) => line.startsWith('npm warn') && !/logged in|Unknown (user|env) config/.test(line));
  if (warnings.length > 0) throw new Error(`npm publish --dry-run:\n${warnings.join('\n')}`);
}

/** Copies the tracked files of this checkout, as a clone has them. */
async function cloneTo(folder) {
  const { stdout } = await run('git', ['ls-files', '-z'], { maxBuffer: 2 ** 24 });
  for (const name of stdout.split('\0').filter(Boolean)) {
    await cp(name, join(folder, name)).catch((error) => {
      if (error.code !== 'ENOENT') throw error; // deleted, but not committed yet
    });
  }
}

/** The commands below "Your first import", without comments. */
const firstImport = /^## Your first import\n[^`]*```sh\n([\s\S]*?)```/m
  .exec(readme)[1]
  .split('\n')
  .map((line) => line.replace(/ {2,}#.*/, '').trim())
  .filter(Boolean);

/**
 * Installs globally into an empty prefix, from the packed file or from a clone. Then runs the commands of the
 * README, and checks completion and man page.
 * @param {{ root: string, node: NodeJS.ProcessEnv, file: string, way: 'tarball' | 'clone' }} given
 */
async function installGlobally({ root, node, file, way }) {
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
  for (const line of firstImport) await run(line, { ...here, shell: true });
  const { stdout: script } = await run('profiles completion bash', { ...here, shell: true });
  if (!script.includes('profiles')) throw new Error(`${way}: no completion script`);
  if (windows) return;
  const page = await realpath(join(at('prefix'), 'share/man/man1/profiles.1'));
  if (!(await readFile(page, 'utf8')).includes('.SS import'))
    throw new Error(`${way}: ${page} is not the man page`);
}

const root = await mkdtemp(join(tmpdir(), 'profiles-packed-'));
try {
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', root], { shell: windows });
  const [packed] = JSON.parse(stdout.slice(stdout.search(/^\[/m)));
  const file = join(root, packed.filename);
  const kB = (bytes) => `${Math.round(bytes / 1000).toLocaleString('en')} kB`;
  console.log(
    `${packed.filename}: ${kB(packed.size)} packed, ${kB(packed.unpackedSize)} unpacked, ${packed.entryCount} files`,
  );

  await dryPublish(file);
  const results = [];
  for (const wanted of chosenNodes()) {
    const { version, binary, env: path } = await nodeOf(wanted);
    const cwd = join(root, version);
    await mkdir(cwd);
    await copyFile(resolve('fixtures/companies.csv'), join(cwd, 'companies.csv'));
    // Its own config and state, and not those of this user.
    const own = { XDG_CONFIG_HOME: cwd, APPDATA: cwd, PROFILES_STATE_DIR: join(cwd, 'state') };
    const env = { ...path, ...own };
    const here = { cwd, env, shell: windows };
    await run('npm', ['install', '--prefix', cwd, file], here);
    const lock = JSON.parse(await readFile(join(cwd, 'node_modules/.package-lock.json'), 'utf8'));
    const packages = Object.keys(lock.packages).length;
    if (packages !== Number(stated)) throw new Error(`${packages} packages, README.md says ${stated}`);
    const words = ['profiles', 'import', 'companies.csv', '--region', 'sandbox', '--json'];
    const imported = await run('npx', words, here);
    const { status, rows } = JSON.parse(imported.stdout);
    const library = await run(binary, ['--input-type=module', '-e', LIBRARY], { cwd, env });
    if (status !== 'completed' || rows.completed !== rows.read || library.stdout.trim() !== 'true') {
      throw new Error(`Node ${version}: import ${status}, library ${library.stdout}`);
    }
    const given = { root: cwd, node: { ...env, NODE_BINARY: binary }, file };
    await installGlobally({ ...given, way: 'tarball' });
    // Once is enough, because its dependencies are the same for each version of Node.
    if (results.length === 0) await installGlobally({ ...given, way: 'clone' });
    results.push({ node: version, packages, import: status, rows: rows.completed });
  }
  console.table(results);
} finally {
  await rm(root, { recursive: true, force: true });
}
