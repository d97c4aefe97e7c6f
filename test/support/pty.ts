/**
 * Runs programs in real terminals. `openTerminal` uses tmux, which keeps a screen: what a person would see,
 * at a size that can change, with keys and a cursor. `recordTerminal` uses `script`, which keeps every byte
 * that was written. Both run the program in an environment of its own, because the CI variables of the test
 * machine would change what it draws.
 */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { scratch } from './cli.js';

export interface TerminalOptions {
  columns: number;
  rows?: number;
  /** Added to PATH, HOME, a UTF-8 locale, and TERM. */
  env?: Record<string, string>;
  cwd?: string;
}

export interface Terminal {
  /** The lines of the screen, without spaces at their ends and empty lines at the end. */
  screen(): Promise<string[]>;
  /** The same with colors, as SGR sequences. */
  colored(): Promise<string[]>;
  /** The screen and everything that has scrolled off it. Lines that the terminal wrapped are joined. */
  scrollback(): Promise<string[]>;
  /**
   * Waits for the screen to be as expected, and returns it. If that takes too long, the error shows the last
   * screen.
   */
  until(what: string, found: (screen: string[]) => boolean): Promise<string[]>;
  /** tmux key names: `C-c`, `Enter`, `x`. */
  press(...keys: string[]): Promise<void>;
  resize(columns: number, rows?: number): Promise<void>;
  signal(signal: NodeJS.Signals): Promise<void>;
  cursorShown(): Promise<boolean>;
  /** Waits until the program has ended; more than 128 if a signal ended it. The screen stays as it is. */
  exitCode(): Promise<number>;
  close(): Promise<void>;
}

/** Programs that are not installed here: tests that need them are skipped, and the report says so. */
export const missing = ['tmux', 'script'].filter(
  (program) => spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0,
);

const run = promisify(execFile);
// `window-size manual` is not set: before the first window exists, it crashes tmux 3.3. `resize-window`
// implies it.
const CONFIG = 'set -g status off\n';
/** On a busy machine, a program may take many seconds to start. */
const PATIENCE_MS = 60_000;
const LOOK_EVERY_MS = 20;

/** Opens a terminal of this size, and runs the program in it. Needs tmux. */
export async function openTerminal(command: readonly string[], options: TerminalOptions): Promise<Terminal> {
  const { columns, rows = 24 } = options;
  const folder = scratch();
  const config = join(folder, 'tmux.conf');
  writeFileSync(config, CONFIG);
  const env = environment(folder, options);
  const tmux = async (...words: string[]): Promise<string> => {
    const socket = ['-S', join(folder, 'tmux.sock'), '-f', config, '-u'];
    return (await run('tmux', [...socket, ...words], { env })).stdout;
  };
  const place = ['-c', options.cwd ?? folder];
  // tmux sets TERM itself, so `env` sets ours for the program. A shell outlives the program, also after
  // Ctrl-C, because tmux hides the cursor of a pane when its process has ended.
  const [pid, status] = [join(folder, 'pid'), join(folder, 'status')];
  const program = ['env', `TERM=${env.TERM}`, ...command].map(quoted).join(' ');
  const line = `trap : INT; (sh -c 'echo $$ > ${pid}; exec "$@"' sh ${program}); echo $? > ${status}; exec cat`;
  await tmux('new-session', '-d', '-x', String(columns), '-y', String(rows), ...place, line);

  const ask = async (format: string): Promise<string> => (await tmux('display-message', '-p', format)).trim();
  const capture = async (...words: string[]): Promise<string[]> => {
    const lines = (await tmux('capture-pane', '-p', ...words)).split('\n').map((line) => line.trimEnd());
    while (lines.at(-1) === '') lines.pop();
    return lines;
  };
  const screen = (): Promise<string[]> => capture();
  const colored = (): Promise<string[]> => capture('-e');
  const until: Terminal['until'] = async (what, found) => {
    const end = performance.now() + PATIENCE_MS;
    for (;;) {
      const lines = await screen();
      if (found(lines)) return lines;
      if (performance.now() > end) throw new Error(`the screen never showed ${what}:\n${lines.join('\n')}`);
      await pause();
    }
  };
  return {
    screen,
    colored,
    scrollback: () => capture('-J', '-S', '-'),
    until,
    press: async (...keys) => void (await tmux('send-keys', ...keys)),
    resize: async (x, y = rows) => void (await tmux('resize-window', '-x', String(x), '-y', String(y))),
    signal: async (signal) => void process.kill(Number(readFileSync(pid, 'utf8')), signal),
    cursorShown: async () => (await ask('#{cursor_flag}')) === '1',
    exitCode: async () => {
      await until(
        'the program at its end',
        () => existsSync(status) && readFileSync(status, 'utf8').endsWith('\n'),
      );
      return Number(readFileSync(status, 'utf8'));
    },
    close: async () => void (await tmux('kill-server')),
  };
}

export interface Recording {
  code: number;
  /** Every byte that reached the terminal, from stdout and stderr in order. */
  output: string;
}

/**
 * Runs a program until it ends, in a terminal of this size (0 columns: unknown size). Needs `script` of
 * util-linux.
 */
export async function recordTerminal(
  command: readonly string[],
  options: TerminalOptions,
): Promise<Recording> {
  const folder = scratch();
  const line = `stty cols ${options.columns} rows ${options.rows ?? 24}; exec ${command.map(quoted).join(' ')}`;
  const child = spawn('script', ['--quiet', '--return', '--command', line, '/dev/null'], {
    env: environment(folder, options),
    cwd: options.cwd ?? folder,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  const code = await new Promise<number>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (status) => resolve(status ?? -1));
  });
  return { code, output: Buffer.concat(chunks).toString('utf8') };
}

function environment(home: string, { env }: TerminalOptions): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    HOME: home,
    LANG: 'C.UTF-8',
    TERM: 'xterm-256color',
    SHELL: '/bin/sh',
    ...env,
  };
}

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;
const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
