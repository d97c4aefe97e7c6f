/**
 * Runs a command line in this process, with streams and environment of its own, and returns stdout, stderr,
 * and exit code.
 */

import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { shellWord } from '../../src/cli/advice/shell.js';
import type { Input, World } from '../../src/cli/context.js';
import { runCommand } from '../../src/cli/main.js';
import type { TextStream } from '../../src/cli/output/terminal.js';
import { systemClock } from '../../src/engine/util/clock.js';
import { stateDirOf } from './child.js';
import { onOneLine, pasteAll } from './printed.js';
import { sink } from './sink.js';
import { stateEnv } from './state.js';

export interface CliResult {
  code: number;
  stdout: string;
  stderr: string;
}

export interface CliOptions {
  env?: Record<string, string | undefined>;
  cwd?: string;
  /** The input. A stream is passed on as it is. */
  stdin?: string | Buffer | Readable;
  /** Width of the terminal that stdout and stderr are. Without it, both are pipes. */
  columns?: number;
  /** Hears what is written to either stream, in order. */
  hear?: (text: string) => void;
  /** Streams to write to, such as those of a process. The result then contains no text. */
  streams?: { stdout: TextStream; stderr: TextStream };
  clock?: World['clock'];
  nodeVersion?: string;
  stop?: AbortSignal;
  abort?: AbortSignal;
  /** What runs it. Default: the source; a build has it too. */
  program?: { runCommand: typeof runCommand };
}

/** Makes a folder with these files for one test. It is deleted at the end of the run (`temporary.ts`). */
export function scratch(files: Readonly<Record<string, string | Uint8Array>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'profiles-test-'));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return folder;
}

/** Someone at a terminal who types this when asked. */
export const typing = (text: string): PassThrough => {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => stdin });
  stdin.write(text);
  return stdin;
};

/**
 * Runs a command line. State and config are below `cwd`, unless `env` says otherwise, so tests do not affect
 * each other.
 */
export async function cli(argv: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const cwd = options.cwd ?? scratch();
  const [stdout, stderr] = [sink(options), sink(options)];
  const stdin =
    options.stdin instanceof Readable
      ? options.stdin
      : Readable.from(options.stdin === undefined ? [] : [Buffer.from(options.stdin)]);
  const world: World = {
    env: {
      HOME: cwd,
      PROFILES_STATE_DIR: join(cwd, '.state'),
      PROFILES_PROMPTS: 'plain', // streams of a test are not a terminal that can draw
      ...stateEnv(resolve(cwd, stateDirOf(argv, options.env) ?? '.state')),
      ...options.env,
    },
    platform: process.platform,
    cwd,
    stdin: () => stdin as Input,
    stdout: options.streams?.stdout ?? stdout,
    stderr: options.streams?.stderr ?? stderr,
    clock: options.clock ?? systemClock,
    nodeVersion: options.nodeVersion ?? process.versions.node,
    cores: 1,
    stop: options.stop ?? new AbortController().signal,
    abort: options.abort ?? new AbortController().signal,
  };
  const code = await (options.program ?? { runCommand }).runCommand(argv, world);
  await new Promise((resolve) => setImmediate(resolve)); // let the captured streams drain
  await pasteAll(stderr.text(), world);
  // Printed commands name the state of this test (beside a database, the folder of this machine), and are longer than a
  // line. Both are undone here; `next.test.ts` has them as they are.
  const own = shellWord(join(cwd, '.state'));
  const said = (text: string): string =>
    options.env?.PROFILES_STATE_DIR
      ? text
      : text.replaceAll(` --state ${own}`, '').replaceAll(`PROFILES_STATE_DIR=${own} `, '');
  return { code, stdout: said(onOneLine(stdout.text())), stderr: said(onOneLine(stderr.text())) };
}
