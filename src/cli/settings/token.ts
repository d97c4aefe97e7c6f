/** The API key when it is needed: from the settings, from a program (`token_command`), or from a file (contract §2). */
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { dirname, isAbsolute, resolve } from 'node:path';
import { AuthError, ConfigError, InterruptedError, ProfilesError } from '../../engine/errors.js';
import { fileTrouble } from '../../engine/util/file-trouble.js';
import { readSmallFile } from '../../engine/util/read-small-file.js';
import { hinted } from '../advice/hint.js';
import { refuseExposed } from './file.js';
import { type CommandWorld, readToken, type Secret, type Settings, type SettingsWorld } from './sources.js';

type TokenSettings = Pick<Settings, 'token' | 'tokenCommand' | 'tokenFile'>;

/** Whether there is a token, or a program or file that has one. */
export const hasToken = ({ token, tokenCommand, tokenFile }: TokenSettings): boolean =>
  token !== null || tokenCommand !== null || tokenFile !== null;

/** Where the token came from, if the region that a flag chose has none of its own. */
export function tokenFrom({ embedded, origins }: Pick<Settings, 'embedded' | 'origins'>): string | undefined {
  const { region = '', token = 'not set' } = origins;
  const isOwn = embedded || token === 'not set' || /\bregions\.[^.]+\.token\)$/.test(token);
  return isOwn || !region.startsWith('flag ') ? undefined : token.replace(/^(?:environment|flag) /, '');
}

/** The token; may run `token_command`, or read `token_file`. @throws AuthError (exit 4) that lists the ways to provide one */
export async function requireToken(
  settings: TokenSettings & Pick<Settings, 'account' | 'configPath' | 'origins'>,
  world: CommandWorld & Pick<SettingsWorld, 'platform'>,
): Promise<Secret> {
  const { token, tokenCommand, tokenFile, account, origins, configPath } = settings;
  if (token) return token;
  if (tokenCommand) return runTokenCommand(tokenCommand, dirname(configPath), world);
  if (tokenFile) return readTokenFile(tokenFile, world);
  const key = account === null ? 'token' : `accounts.${account}.token`;
  const whose = account === null ? '' : ` for account "${account}"`;
  // If a flag or a stored run chose the account, PROFILES_TOKEN is ignored, so the hint does not name it.
  const isChosen = origins.account?.startsWith('flag ');
  const byVariable = isChosen ? '' : 'set PROFILES_TOKEN or PROFILES_TOKEN_FILE, or ';
  throw hinted(new AuthError(`no token is set${whose}`), [
    { do: `${byVariable}run`, run: ['config', 'set', key] },
    'or rehearse with --region sandbox, which needs none',
  ]);
}

/**
 * Reads `token_file`, such as a mounted secret.
 * @throws ConfigError if the file cannot be read, is empty, or can be read by other users; InterruptedError
 */
export async function readTokenFile(
  { path, origin }: NonNullable<Settings['tokenFile']>,
  { platform, stop }: Pick<SettingsWorld, 'platform' | 'stop'>,
): Promise<Secret> {
  let text: string;
  try {
    const found = await stat(path);
    // The mode of a pipe does not matter.
    if (platform !== 'win32' && found.isFile()) {
      const otherwise = '; if that is not possible, set PROFILES_TOKEN instead';
      refuseExposed(path, found, { what: 'contains a token', otherwise });
    }
    text = (await readSmallFile(path, stop)).toString();
  } catch (error) {
    if (error instanceof ProfilesError) throw error;
    const trouble = fileTrouble((error as NodeJS.ErrnoException).code);
    throw new ConfigError(`${path}: ${trouble} (from ${origin})`, { cause: error });
  }
  const token = readToken(text, path);
  if (!token) throw new ConfigError(`${path}: the file is empty (from ${origin})`);
  return token;
}

/** In seconds: a password manager may first ask the user. */
const PATIENCE_S = 60;
/** Maximum size of the output: no token is longer. */
const MOST_BYTES = 64 * 1024;
/**
 * How long to wait for output after the program has ended, in milliseconds: its children may keep the pipe
 * open, as gpg-agent does.
 */
const LINGER_MS = 250;

/**
 * Runs the program without a shell and without stdin, and reads the first line of its stdout. Errors never
 * contain its stdout. They quote the last line of its stderr, unless that repeats part of stdout.
 * @param folder of the config file: a relative path starts there, so that the current folder does not decide what runs
 * @throws AuthError if the program cannot be started, fails, prints nothing, or takes longer than 60 s;
 * InterruptedError
 */
async function runTokenCommand(
  { words: [given = '', ...args], origin }: NonNullable<Settings['tokenCommand']>,
  folder: string,
  { env, clock, stop }: CommandWorld,
): Promise<Secret> {
  const program = /[/\\]/.test(given) && !isAbsolute(given) ? resolve(folder, given) : given;
  const fail = (what: string, hint = `run it by hand: ${given}`): AuthError =>
    new AuthError(`${origin}: ${given} ${what}`, { hint });
  const { spawn } = await import('node:child_process'); // most commands run no program
  const start = async () => {
    // Some errors are thrown here; others are events of the child, which may not have streams then.
    const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe'];
    const begun = spawn(program, args, { env: { ...env }, stdio, windowsHide: true });
    await once(begun, 'spawn');
    return begun;
  };
  const child = await start().catch((error: NodeJS.ErrnoException) => {
    throw fail(startTrouble(error.code));
  });
  const over = new AbortController();
  const output = { stdout: '', stderr: '' };
  try {
    const end = await new Promise<number | string>((done, failed) => {
      const after = (ms: number, end: number | string): void =>
        void clock.sleep(ms, over.signal).then(
          () => done(end),
          () => {},
        );
      for (const name of ['stdout', 'stderr'] as const) {
        child[name].setEncoding('utf8').on('data', (text: string) => {
          if (output[name].length <= MOST_BYTES) output[name] += text;
          if (output.stdout.length > MOST_BYTES) done('full');
        });
      }
      child.once('error', failed);
      child.once('close', (code, signal) => done(code ?? signal!));
      child.once('exit', (code, signal) => after(LINGER_MS, code ?? signal!));
      after(PATIENCE_S * 1_000, 'late');
      if (stop.aborted) done('stopped');
      stop.addEventListener('abort', () => done('stopped'), { once: true, signal: over.signal });
    });
    if (end === 'stopped') throw InterruptedError.of(stop);
    if (end === 'late') throw fail(`did not end within ${PATIENCE_S}s`);
    if (end === 'full') throw fail('printed more than a token: its first line must be the token');
    if (end !== 0) {
      const said = lastLine(output.stderr, output.stdout);
      const how = typeof end === 'number' ? `ended with exit code ${end}` : `was ended by ${end}`;
      throw fail(how, said === '' ? undefined : `it says: ${said}`);
    }
    const token = readToken(output.stdout.split(/\r\n|\n|\r/, 1)[0]!, origin);
    if (!token) throw fail('printed no token: the first line of its output is empty');
    return token;
  } finally {
    over.abort();
    child.kill('SIGKILL');
    child.stdout.destroy();
    child.stderr.destroy();
    child.unref();
  }
}

function startTrouble(code: string | undefined): string {
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return 'was not found';
    case 'EACCES':
      return 'cannot be run: permission denied';
    case 'EINVAL': // what Node reports for a .cmd or .bat without a shell
      return 'is a script of the Windows shell; name the program that it runs';
    default:
      return `cannot be started (${code ?? 'unknown'})`;
  }
}

/** The last line of stderr; empty if it contains a word of stdout, which may be the token. */
function lastLine(stderr: string, stdout: string): string {
  const line = stderr
    .trim()
    .split(/\r\n|\n|\r/)
    .at(-1)!
    .trim();
  const secrets = stdout.split(/\s+/).filter((word) => word.length >= 4);
  return secrets.some((word) => line.includes(word)) ? '' : line.slice(0, 300);
}
