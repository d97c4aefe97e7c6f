// Packs the package, tries to publish it (dry run), and installs it on several versions of Node: the packed
// file into an empty folder and globally, and a clone globally. Then runs what the README says to run first:
// node scripts/packed.mjs [version…]
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { installGlobally } from './install-ways.mjs';
import { chosenNodes, nodeOf } from './node-versions.mjs';

const run = promisify(execFile);
const shell = process.platform === 'win32'; // npm and npx are scripts there
const LIBRARY = `
  import { planImport } from 'profiles-cli';
  import { startSandbox } from 'profiles-cli/sandbox';
  const sandbox = await startSandbox();
  const { valid } = await planImport({ files: ['companies.csv'] });
  await sandbox.stop();
  console.log(valid);
`;

const [, stated] = /All (\d+) packages that it installs/.exec(await readFile('README.md', 'utf8')) ?? [];

/**
 * Tries to publish, as far as that is possible without an account. Warnings are errors: npm corrects
 * package.json with a warning.
 */
async function dryPublish(file) {
  const { stderr } = await run('npm', ['publish', '--dry-run', file], { shell });
  const warnings = stderr
    .split('\n')
    .filter((line) => line.startsWith('npm warn') && !/logged in|Unknown (user|env) config/.test(line));
  if (warnings.length > 0) throw new Error(`npm publish --dry-run:\n${warnings.join('\n')}`);
}

const root = await mkdtemp(join(tmpdir(), 'profiles-packed-'));
try {
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', root], { shell });
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
    const here = { cwd, env, shell };
    await run('npm', ['install', '--prefix', cwd, file], here);
    const lock = JSON.parse(await readFile(join(cwd, 'node_modules/.package-lock.json'), 'utf8'));
    const packages = Object.keys(lock.packages).length;
    if (packages !== Number(stated)) throw new Error(`${packages} packages, README.md says ${stated}`);
    const started = performance.now();
    const imported = await run(
      'npx',
      ['profiles', 'import', 'companies.csv', '--region', 'sandbox', '--json'],
      here,
    );
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    const { status, rows } = JSON.parse(imported.stdout);
    const library = await run(
      process.platform === 'win32' ? 'node.exe' : 'node',
      ['--input-type=module', '-e', LIBRARY],
      { cwd, env },
    );
    if (status !== 'completed' || rows.completed !== rows.read || library.stdout.trim() !== 'true') {
      throw new Error(`Node ${version}: import ${status}, library ${library.stdout}`);
    }
    const given = { root: cwd, node: { ...env, NODE_BINARY: binary }, file };
    await installGlobally({ ...given, way: 'tarball' });
    // Once is enough, because its dependencies are the same for each version of Node.
    if (results.length === 0) await installGlobally({ ...given, way: 'clone' });
    results.push({
      node: version,
      packages,
      import: status,
      rows: rows.completed,
      seconds,
    });
  }
  console.table(results);
} finally {
  await rm(root, { recursive: true, force: true });
}
