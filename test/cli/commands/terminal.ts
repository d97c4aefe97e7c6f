/** A person at a terminal, in process: what is typed is echoed unless raw mode is on, as a real one does. */
import { PassThrough } from 'node:stream';
import type { Input, World } from '../../../src/cli/context.js';
import { runCommand } from '../../../src/cli/main.js';
import type { TextStream } from '../../../src/cli/output/terminal.js';
import { systemClock } from '../../../src/engine/util/clock.js';
import { scratch } from '../../support/cli.js';

export interface Turn {
  /** Typed when the screen ends with this. */
  at: string;
  type: string;
}

export interface Session {
  code: number;
  stdout: string;
  /** Everything a person saw: what was written and what was echoed. */
  screen: string;
  /** Whether the terminal was left in raw mode. */
  raw: boolean;
}

export async function atTerminal(
  argv: string[],
  turns: readonly Turn[],
  options: { cwd?: string; env?: Record<string, string>; stop?: AbortController } = {},
): Promise<Session> {
  const cwd = options.cwd ?? scratch();
  let screen = '';
  let raw = false;
  const waiting = [...turns];
  const stdin = new PassThrough() as PassThrough & Input;
  stdin.isTTY = true;
  stdin.setRawMode = (on: boolean) => {
    raw = on;
    return stdin;
  };
  const stdout = new PassThrough();
  let printed = '';
  stdout.on('data', (chunk: Buffer) => {
    printed += chunk;
  });
  const stderr = new PassThrough() as PassThrough & TextStream;
  stderr.isTTY = true;
  stderr.columns = 100;
  stderr.on('data', (chunk: Buffer) => {
    screen += chunk;
    const turn = waiting[0];
    if (!turn || !screen.endsWith(turn.at)) return;
    waiting.shift();
    if (!raw) screen += turn.type;
    stdin.write(turn.type);
  });
  const stop = options.stop ?? new AbortController();
  const world: World = {
    env: { HOME: cwd, PROFILES_STATE_DIR: `${cwd}/.state`, PROFILES_PROMPTS: 'plain', ...options.env },
    platform: process.platform,
    cwd,
    stdin: () => stdin,
    stdout,
    stderr,
    clock: systemClock,
    nodeVersion: process.versions.node,
    cores: 1,
    stop: stop.signal,
    abort: new AbortController().signal,
  };
  const code = await runCommand(argv, world);
  await new Promise((resolve) => setImmediate(resolve));
  if (waiting.length > 0) throw new Error(`never asked: ${waiting[0]!.at}\n${screen}`);
  return { code, stdout: printed, screen, raw };
}
