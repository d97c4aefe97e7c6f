// The supported versions of Node, and how to run a command with one of them.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter, dirname } from 'node:path';
import { promisify } from 'node:util';

/** Major versions: the oldest supported one, and those that are maintained. */
const NODES = ['20', '22', '24', '26'];

/** The versions on the command line, or all of them if there are none. */
export const chosenNodes = () => (process.argv.length > 2 ? process.argv.slice(2) : NODES);

/**
 * Gets a version of Node from the npm package `node`. In the returned `env`, the command `node` is that
 * version.
 * @param {string} version major or complete version
 * @returns {Promise<{ version: string, binary: string, env: NodeJS.ProcessEnv }>}
 */
export async function nodeOf(version) {
  const print = 'process.version + " " + process.execPath';
  const words = ['--yes', '--package', `node@${version}`, '--', 'node', '-p', print];
  const { stdout } = await promisify(execFile)('npx', words, { shell: process.platform === 'win32' });
  const [, exact, path] = /^(v\S+) (.*)$/m.exec(stdout) ?? [];
  if (!path) throw new Error(`node@${version}: ${stdout}`);
  return {
    version: exact,
    binary: path,
    env: { ...process.env, PATH: dirname(path) + delimiter + process.env.PATH },
  };
}

/** Runs a command, and shows its output. @returns {Promise<number>} its exit code */
export async function show(command, words, options = {}) {
  const child = spawn(command, words, { stdio: 'inherit', ...options });
  const [code] = await once(child, 'exit');
  return code ?? 1;
}
