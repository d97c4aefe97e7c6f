// The Nodes that are supported, and how a command is run on one of them.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter, dirname } from 'node:path';
import { promisify } from 'node:util';

/** Majors: the oldest that is supported, and those that are maintained. */
export const NODES = ['20', '22', '24', '26'];

/** The versions that the command line names; all of them when it names none. */
export const chosenNodes = () => (process.argv.length > 2 ? process.argv.slice(2) : NODES);

/**
 * Fetches a Node, which is a package like any other, and gives the environment in which it is `node`.
 * @param {string} version a major, or a whole version
 * @returns {Promise<{ version: string, binary: string, env: NodeJS.ProcessEnv }>}
 */
export async function nodeOf(version) {
  const words = [
    '--yes',
    '--package',
    `node@${version}`,
    '--',
    'node',
    '-p',
    'process.version + " " + process.execPath',
  ];
  const { stdout } = await promisify(execFile)('npx', words, { shell: process.platform === 'win32' });
  const [, exact, path] = /^(v\S+) (.*)$/m.exec(stdout) ?? [];
  if (!path) throw new Error(`node@${version}: ${stdout}`);
  return {
    version: exact,
    binary: path,
    env: { ...process.env, PATH: dirname(path) + delimiter + process.env.PATH },
  };
}

/** Runs a command whose output is shown. @returns {Promise<number>} its exit code */
export async function show(command, words, options = {}) {
  const child = spawn(command, words, { stdio: 'inherit', ...options });
  const [code] = await once(child, 'exit');
  return code ?? 1;
}
