/** The API key when it is needed: from the settings, from a program (`token_command`), or from a file (contract §2). */
import type { ExecFileException } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { dirname, isAbsolute, resolve } from 'node:path';
import { AuthError, ConfigError, InterruptedError } from '../../engine/errors.js';
import { fileTrouble } from '../../engine/util/file-trouble.js';
import { type Call, hinted } from '../advice/hint.js';
import { FLAGLESS } from '../options/index.js';
import { readPath } from '../options/types.js';
import { readText, refuseExposed } from './file.js';
import { TOKEN_KEYS } from './keys.js';
import type { CommandWorld, Found, Ignore, Settings, SettingsWorld, Sources } from './sources.js';
import { inFile, placeOf, readToken, Secret, variable } from './sources.js';

type Token = Settings['token'];

/** The token of the settings, or the program or file that has it. @throws ConfigError if there are two */
export function findToken(
  { world, flags, config, sections }: Sources,
  region: string,
  ignore: Ignore,
): Found<Token> {
  // The sandbox uses a token made for this process, so the settings must not contain a real one.
  if (region === 'sandbox') return { value: null, origin: 'embedded' };
  // Only the first section counts: the token at the top belongs to no account, or to another one.
  const own = { config, sections: sections.slice(0, 1) };
  const regional = inFile(own, `regions.${region}.token`);
  const [inPlain, inAFile] = [FLAGLESS.token.env, FLAGLESS.tokenFile.env];
  if (flags.account === undefined && (!regional || flags.region === undefined)) {
    const token = readToken(variable(world, inPlain) ?? '', inPlain);
    const file = variable(world, inAFile);
    if (token && file)
      throw new ConfigError(`${inPlain} and ${inAFile} are both set`, { hint: 'unset one of them' });
    if (token) return { value: token, origin: `environment ${inPlain}` };
    const path = file && resolve(world.cwd, readPath(file, inAFile));
    if (path) return { value: { path }, origin: `environment ${inAFile}` };
  } else {
    const flag = flags.account === undefined ? `--region ${flags.region}` : `--account ${flags.account}`;
    for (const name of [inPlain, inAFile]) ignore(name, `${flag} brings its own token`);
  }
  const found = regional
    ? [regional]
    : TOKEN_KEYS.flatMap((key) => inFile<string | string[]>(own, key) ?? []);
  const [one, other] = found.map((each) => placeOf(each).slice(config.path.length + 2));
  if (one === undefined) return { value: null, origin: 'not set' };
  if (other !== undefined) {
    throw hinted(new ConfigError(`${config.path}: ${one} and ${other} are both set`), {
      do: 'keep one of them; remove the other',
      run: ['config', 'unset', one],
      or: [{ run: ['config', 'unset', other] }],
    });
  }
  const { value, origin } = found[0]!;
  if (typeof value !== 'string') return { value: { words: value }, origin };
  if (one.endsWith('token_file')) return { value: { path: resolve(dirname(config.path), value) }, origin };
  const token = readToken(value, placeOf(found[0]!));
  return { value: token, origin: token ? origin : 'not set' };
}

/** Where the token came from, if the region that a flag chose has none of its own. */
export function tokenFrom({ embedded, origins }: Pick<Settings, 'embedded' | 'origins'>): string | undefined {
  const { region = '', token = 'not set' } = origins;
  const isOwn = embedded || token === 'not set' || /\bregions\.[^.]+\.token\)$/.test(token);
  return isOwn || !region.startsWith('flag ') ? undefined : token.replace(/^(?:environment|flag) /, '');
}

/** The token; may run `token_command`, or read `token_file`. @throws AuthError (exit 4) that lists the ways to provide one */
export async function requireToken(
  {
    token,
    account,
    accounts,
    origins,
    configPath,
  }: Pick<Settings, 'token' | 'account' | 'accounts' | 'configPath' | 'origins'>,
  world: CommandWorld & Pick<SettingsWorld, 'platform'>,
): Promise<Secret> {
  if (token instanceof Secret) return token;
  const origin = origins.token!;
  if (token && 'words' in token) return runTokenCommand(token.words, origin, dirname(configPath), world);
  if (token) return readTokenFile(token.path, origin, world);
  const key = account === null ? 'token' : `accounts.${account}.token`;
  const whose = account === null ? '' : ` for account "${account}"`;
  // If a flag or a stored run chose the account, PROFILES_TOKEN is ignored, so the hint does not name it.
  const isChosen = origins.account?.startsWith('flag ');
  const byVariable = isChosen ? '' : 'set PROFILES_TOKEN or PROFILES_TOKEN_FILE, or ';
  const [first, ...more] = (account === null ? accounts : []).map(
    (name): Call => ({ again: { plus: ['--account', name] } }),
  );
  throw hinted(new AuthError(`no token is set${whose}`), [
    ...(first ? [{ do: 'use an account of the config file', ...first, or: more.slice(0, 4) }] : []),
    { do: `${byVariable}run`, run: ['config', 'set', key] },
    'or rehearse with --region sandbox, which needs none',
  ]);
}

/**
 * Reads `token_file`, such as a mounted secret.
 * @throws ConfigError if the file cannot be read, is empty, or can be read by other users; InterruptedError
 */
async function readTokenFile(
  path: string,
  origin: string,
  { platform, stop }: Pick<SettingsWorld, 'platform' | 'stop'>,
): Promise<Secret> {
  const text = await readText(path, stop, origin);
  if (text === null) throw new ConfigError(`${path}: ${fileTrouble('ENOENT')} (from ${origin})`);
  const found = await stat(path);
  // The mode of a pipe does not matter.
  if (platform !== 'win32' && found.isFile()) {
    const otherwise = '; if that is not possible, set PROFILES_TOKEN instead';
    refuseExposed(path, found, { what: 'contains a token', otherwise });
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

type Ended = { error: ExecFileException | null; stdout: string; stderr: string };

/** Runs a program without a shell and without input until it ends, prints too much, or the signal aborts. */
async function outcomeOf(program: string, args: string[], env: SettingsWorld['env'], signal: AbortSignal) {
  const { execFile } = await import('node:child_process'); // most commands run no program
  const options = { env: { ...env }, signal, killSignal: 'SIGKILL', windowsHide: true } as const;
  return new Promise<Ended>((resolve, reject) => {
    const child = execFile(program, args, options, (error, stdout, stderr) =>
      resolve({ error, stdout, stderr }),
    );
    child.stdin?.on('error', () => {}).end();
    child.once('exit', () => {
      for (const stream of [child.stdout, child.stderr])
        setTimeout(() => stream?.destroy(), LINGER_MS).unref();
    });
    child.once('error', reject);
  }).catch((error: ExecFileException): Ended => ({ error, stdout: '', stderr: '' }));
}

/**
 * Runs the program, and reads the first line of its stdout. Errors never contain its stdout. They quote the last line of
 * its stderr, unless that repeats part of stdout.
 * @param folder of the config file: a relative path starts there, so that the current folder does not decide what runs
 * @throws AuthError if the program cannot be started, fails, prints nothing, or takes longer than 60 s;
 * InterruptedError
 */
async function runTokenCommand(
  [given = '', ...args]: readonly string[],
  origin: string,
  folder: string,
  { env, clock, stop }: CommandWorld,
): Promise<Secret> {
  const program = /[/\\]/.test(given) && !isAbsolute(given) ? resolve(folder, given) : given;
  const fail = (what: string, hint = `run it by hand: ${given}`): AuthError =>
    new AuthError(`${origin}: ${given} ${what}`, { hint });
  const [late, over] = [new AbortController(), new AbortController()];
  clock.sleep(PATIENCE_S * 1_000, over.signal).then(
    () => late.abort(),
    () => {}, // it ended in time
  );
  const signal = AbortSignal.any([stop, late.signal]);
  const { error, stdout, stderr } = await outcomeOf(program, args, env, signal).finally(() => over.abort());
  const { code } = error ?? {};
  if (stop.aborted) throw InterruptedError.of(stop);
  if (late.signal.aborted) throw fail(`did not end within ${PATIENCE_S}s`);
  if (stdout.length > MOST_BYTES) throw fail('printed more than a token: its first line must be the token');
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER')
    throw fail('was stopped, since it wrote more than 1 MiB to stderr');
  if (typeof code === 'string') throw fail(TROUBLE[code] ?? `cannot be started (${code})`);
  if (error) {
    const said = lastLine(stderr, stdout);
    const how = code == null ? `was ended by ${error.signal}` : `ended with exit code ${code}`;
    throw fail(how, said === '' ? undefined : `it says: ${said}`);
  }
  const token = readToken(stdout.split(/\r\n|\n|\r/, 1)[0]!, origin);
  if (!token) throw fail('printed no token: the first line of its output is empty');
  return token;
}

/** Why it cannot be started. */
const TROUBLE: Readonly<Record<string, string>> = {
  ...{ ENOENT: 'was not found', ENOTDIR: 'was not found', EACCES: 'cannot be run: permission denied' },
  // What Node reports for a .cmd or .bat without a shell.
  EINVAL: 'is a script of the Windows shell; name the program that it runs',
};

/** The last line of stderr; empty if it contains a word of stdout, which may be the token. */
function lastLine(stderr: string, stdout: string): string {
  const line = /.*$/.exec(stderr.trim())![0].trim();
  const secrets = stdout.split(/\s+/).filter((word) => word.length >= 4);
  return secrets.some((word) => line.includes(word)) ? '' : line.slice(0, 300);
}
