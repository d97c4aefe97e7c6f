/** `token_command`: gets the token from a program, such as a password manager (contract §2 "Keys"). */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, isAbsolute, resolve } from 'node:path';
import { AuthError, InterruptedError } from '../../engine/errors.js';
import { readToken, type Secret } from './secret.js';
import type { CommandWorld, Settings } from './sources.js';

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
 * @throws AuthError if the program cannot be started, fails, prints nothing, or takes longer than 60 s;
 * InterruptedError
 */
export async function runTokenCommand(
  { tokenCommand, configPath }: Pick<Settings, 'tokenCommand' | 'configPath'>,
  { env, clock, stop }: CommandWorld,
): Promise<Secret> {
  const { words, origin } = tokenCommand!;
  const [given = '', ...args] = words;
  const folder = dirname(configPath);
  // A relative path starts from the config file, so that the current folder does not decide which program
  // runs.
  const program = /[/\\]/.test(given) && !isAbsolute(given) ? resolve(folder, given) : given;
  const fail = (what: string, hint = `run it by hand: ${given}`): AuthError =>
    new AuthError(`${origin}: ${given} ${what}`, { hint });

  const child = await start(program, args, env).catch((error: NodeJS.ErrnoException) => {
    throw fail(startTrouble(error.code));
  });
  const out = collect(child.stdout);
  const err = collect(child.stderr);
  const over = new AbortController();
  try {
    const ended = new Promise<number | string>((done, failed) => {
      child.once('error', failed);
      child.once('close', (code, signal) => done(code ?? signal ?? 'unknown'));
      child.once('exit', (code, signal) =>
        clock.sleep(LINGER_MS, over.signal).then(
          () => done(code ?? signal ?? 'unknown'),
          () => {},
        ),
      );
    });
    const late = clock.sleep(PATIENCE_S * 1_000, over.signal).then(
      () => 'late' as const,
      () => 'late' as const,
    );
    const full = new Promise<'full'>((done) => child.stdout.once('full', () => done('full')));
    const stopped = new Promise<'stopped'>((done) => {
      if (stop.aborted) done('stopped');
      stop.addEventListener('abort', () => done('stopped'), { once: true, signal: over.signal });
    });
    const end = await Promise.race([ended, late, full, stopped]);
    if (end === 'stopped') throw InterruptedError.of(stop);
    if (end === 'late') throw fail(`did not end within ${PATIENCE_S}s`);
    if (end === 'full') throw fail('printed more than a token: its first line must be the token');
    if (end !== 0) {
      const said = lastLine(err.text(), out.text());
      throw fail(
        typeof end === 'number' ? `ended with exit code ${end}` : `was ended by ${end}`,
        said === '' ? undefined : `it says: ${said}`,
      );
    }
    const token = readToken(out.text().split(/\r\n|\n|\r/, 1)[0]!, origin);
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

/**
 * Starts the program, and waits until it runs. Some errors are thrown by `spawn`; others are events of the
 * child, which may not have streams then.
 */
async function start(program: string, args: readonly string[], env: CommandWorld['env']) {
  const child = spawn(program, args, {
    env: { ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    windowsHide: true,
  });
  await once(child, 'spawn');
  return child;
}

/** Collects the output of a stream. Beyond `MOST_BYTES`, it emits `full` instead. */
function collect(stream: NodeJS.ReadableStream & { emit(name: string): boolean }): { text(): string } {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) stream.emit('full');
    else chunks.push(chunk);
  });
  return { text: () => Buffer.concat(chunks).toString('utf8') };
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
