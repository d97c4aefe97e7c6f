/**
 * Runs the built command in a process of its own: for signals, kills, locks, and what Node reads at its
 * start.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect } from 'vitest';
import { expireLeases, onPostgres, stateEnv } from './state.js';

const ROOT = resolve(import.meta.dirname, '../..');
const { href } = new URL('../../scripts/printed-json.mjs', import.meta.url);
/** Resolves with the JSON document that a stream begins with, as soon as it is whole. */
export const { printedJson } = (await import(href)) as { printedJson(stream: unknown): Promise<unknown> };

/** The file of the command, which npm links. */
export const BIN = join(ROOT, 'bin/profiles.js');

export interface Ended {
  /** Null if a signal ended it. */
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface Child {
  process: ChildProcess;
  kill(signal: NodeJS.Signals): void;
  /** Resolves when stderr contains this text; rejects if the process ends first. */
  says(text: string | RegExp): Promise<void>;
  /** Resolves when this path exists below the working directory, or the process has ended. */
  has(path: string): Promise<void>;
  ended: Promise<Ended>;
}

export interface ChildOptions {
  cwd: string;
  env?: Record<string, string>;
  /** The text for stdin. Null keeps stdin open, for the test to write to. Default: empty. */
  stdin?: string | null;
  /** Size limit of the files that it writes, in KiB. */
  fileKib?: number;
  /** Another user to run as, if this user may do that. */
  uid?: number;
  /** A command in front of this one, which runs it in another environment, such as `nsenter`. */
  within?: readonly string[];
}

/** The state directory that a command line chooses, or otherwise an environment. */
export function stateDirOf(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
): string | undefined {
  const at = argv.indexOf('--state');
  return (at >= 0 ? argv[at + 1] : undefined) ?? env.PROFILES_STATE_DIR;
}

/** Starts the built command. State and config are below `cwd`, unless `env` says otherwise. */
export function profiles(argv: readonly string[], options: ChildOptions): Child {
  return node([BIN, ...argv], options);
}

/** Starts a script with the Node of this process. */
export function node(
  argv: readonly string[],
  { uid, fileKib, within = [], ...options }: ChildOptions,
): Child {
  // It starts as root and then becomes that user, who may not be able to read the file of this Node.
  const become = `process.setgroups([]); process.setgid(${uid}); process.setuid(${uid})`;
  const first = uid === undefined ? [] : ['--import', `data:text/javascript,${become}`];
  const command = [process.execPath, ...first, ...argv];
  if (fileKib !== undefined) command.unshift('bash', '-c', `ulimit -f ${fileKib}; exec "$0" "$@"`);
  return program([...within, ...command], options);
}

/** Starts any program, with the environment of the command. */
export function program(
  command: readonly string[],
  { cwd, env, stdin }: Pick<ChildOptions, 'cwd' | 'env' | 'stdin'>,
): Child {
  const stateDir = resolve(cwd, stateDirOf(command, env) ?? '.state');
  const child = spawn(command[0]!, command.slice(1), {
    cwd,
    env: {
      PATH: process.env.PATH,
      HOME: cwd,
      PROFILES_STATE_DIR: join(cwd, '.state'),
      ...stateEnv(stateDir),
      ...env,
    },
  });
  const texts = { stdout: '', stderr: '' };
  child.stdin.on('error', () => {});
  if (stdin !== null) child.stdin.end(stdin ?? '');
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text;
    });
  }
  const ended = new Promise<Ended>((settle, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      // The operating system releases the lock of a state on this machine; a lease in PostgreSQL takes a
      // while to expire.
      if (onPostgres && signal === 'SIGKILL') expireLeases(stateDir);
      settle({ code, signal, ...texts });
    });
  });
  return {
    process: child,
    kill: (signal) => void child.kill(signal),
    ended,
    has: async (path) => {
      await expect.poll(() => existsSync(join(cwd, path)) || child.exitCode !== null).toBe(true);
    },
    says: (text) =>
      new Promise((settle, reject) => {
        const look = (): void => {
          if (typeof text === 'string' ? texts.stderr.includes(text) : text.test(texts.stderr)) settle();
        };
        child.stderr.on('data', look);
        void ended.then(() => reject(new Error(`it ended without saying ${text}:\n${texts.stderr}`)));
        look();
      }),
  };
}

/** Builds the command, unless the build is newer than its sources. For `beforeAll`. */
export function built(): void {
  const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' });
  const read = [...sources.map((name) => `src/${name}`), 'build.mjs', 'package.json'];
  const timeOf = (path: string): number =>
    statSync(join(ROOT, path), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  // It is written last.
  if (timeOf('dist/sandbox.d.ts') > Math.max(...read.map(timeOf))) return;
  execFileSync(process.execPath, ['build.mjs'], { cwd: ROOT, stdio: 'inherit' });
}

/** Makes `bin` in a folder, with the command as a PATH finds it. @returns its path */
export function binIn(folder: string): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const script = `#!/bin/sh\nexec '${process.execPath}' '${BIN}' "$@"\n`;
  writeFileSync(join(bin, 'profiles'), script, { mode: 0o755 });
  return bin;
}

/** Another user of the machine, whom only root can act for: `nobody`. Null if this user is not root. */
export const OTHER = process.geteuid?.() === 0 ? 65_534 : null;

/** The name of a test that needs another user. It says when the test is left out. */
export const asRoot = (name: string): string =>
  OTHER === null ? `${name} (left out: only root can make files of another user)` : name;

/**
 * Copies the built command and what it loads to a folder, where another user can read it: the checkout may be below a
 * folder that only root may enter.
 * @returns the file of the command
 */
export function copyOfCommand(folder: string): string {
  mkdirSync(folder, { mode: 0o755 });
  const native = ['@photostructure/sqlite', 'node-gyp-build'].map((name) => `node_modules/${name}`);
  for (const part of ['package.json', 'bin', 'dist', ...native]) {
    cpSync(join(ROOT, part), join(folder, part), {
      recursive: true,
      filter: (path) => !path.endsWith('.ts'),
    });
  }
  return join(folder, 'bin/profiles.js');
}

const HOOK = resolve(import.meta.dirname, '../loss/intercept.mjs');
/** One of this many points is tried; all of them with `PAUSES=all`. */
const STEP = 20;

/** The points to try out of `count`, from 1. */
export function pointsOf(count: number): number[] {
  const step = process.env.PAUSES === 'all' ? 1 : STEP;
  return Array.from({ length: Math.ceil(count / step) }, (_, index) => 1 + index * step);
}

export const canStandStill = process.platform === 'linux';

/**
 * Runs the built command so that it stops itself (SIGSTOP) at a point between two requests where time may pass.
 * Resolves when it has stopped, or has ended.
 * @param nth it stops between this request and the next one
 * @param point number of the point, from 1
 */
export async function standingStill(
  argv: readonly string[],
  { nth, point }: { nth: number; point: number },
  { cwd, env }: { cwd: string; env: Record<string, string> },
): Promise<
  Child & {
    /** False if it ended first. */
    stands: boolean;
    /** The number of points, after it has ended. */
    points(): number;
  }
> {
  const count = join(cwd, 'points');
  const child = node(['--import', HOOK, BIN, ...argv], {
    cwd,
    env: { ...env, STOP_AT: `${nth}:${point}`, STOP_COUNT: count },
  });
  const { process } = child;
  const isStill = (): boolean => /^\d+ \(.*\) T/.test(readFileSync(`/proc/${process.pid}/stat`, 'utf8'));
  const hasEnded = (): boolean => process.exitCode !== null;
  await expect.poll(() => hasEnded() || isStill(), { timeout: 60_000 }).toBe(true);
  return { ...child, stands: !hasEnded(), points: () => Number(readFileSync(count, 'utf8')) };
}
