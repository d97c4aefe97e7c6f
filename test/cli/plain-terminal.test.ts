/** For screen readers and dumb terminals: all commands in a real terminal, and not one control sequence. */

import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scratch } from '../support/cli.js';
import { missing, recordTerminal } from '../support/pty.js';
import { INVOCATIONS } from './invocations.js';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
// Below node_modules, so that the bundle finds the SQLite binding there, and as deep as the helpers that name other files.
const program = at(`../../node_modules/.cache/everything-${process.pid}.mjs`);

beforeAll(async () => {
  await build({
    entryPoints: [at('programs/everything.ts')],
    outfile: program,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.20',
    mainFields: ['module', 'main'],
    external: ['@photostructure/sqlite'],
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
    },
  });
});
afterAll(() => rmSync(program));

const ENVIRONMENTS = [
  { TERM: 'dumb' },
  { TERM: 'xterm-256color', PROFILES_PROGRESS: 'plain' },
  { TERM: 'xterm-256color' },
];

/** What an invocation showed, and the code it ended with. */
interface Shown {
  line: string;
  shown: string;
  code: number;
}

/** By environment, in the table's order. */
const recorded = new Map<string, Shown[]>();

function parts(text: string): Shown[] {
  return text
    .split(/^\$ profiles /m)
    .slice(1)
    .map((part) => {
      const [, line = '', shown = '', ended] = /^(.*)\n([\s\S]*?)\[(\d+)\]\n*$/.exec(part) ?? [];
      return { line, shown, code: Number(ended) };
    });
}

// biome-ignore lint/complexity/useRegexLiterals: escapes in a string can be read
const CONTROL = new RegExp('[\\u0000-\\u0009\\u000b-\\u001f\\u007f-\\u009f]');

describe.skipIf(missing.length > 0)('all commands in a terminal of 80 columns', () => {
  beforeAll(async () => {
    const command = [process.execPath, program, JSON.stringify(ENVIRONMENTS)];
    const { code, output } = await recordTerminal(command, { columns: 80, cwd: scratch() });
    expect({ code, output }).toEqual({ code: 0, output: expect.any(String) });
    for (const round of output.replaceAll('\r\n', '\n').split(/^=== /m).slice(1)) {
      recorded.set(round.slice(0, round.indexOf('\n')), parts(round));
    }
  }, 600_000);

  const inEnvironment = (env: object): Shown[] => recorded.get(JSON.stringify(env)) ?? [];

  it.each(ENVIRONMENTS)('%j: each has the same exit code as elsewhere, and prints something', (env) => {
    const all = inEnvironment(env);
    expect(all.map(({ line, code }) => ({ line, code }))).toEqual(
      INVOCATIONS.map(({ line, ends }) => ({ line, code: ends })),
    );
    for (const { line, shown } of all) expect([line, shown]).toEqual([line, expect.stringMatching(/\S/)]);
  });

  it.each(ENVIRONMENTS.slice(0, 2))('%j: no control sequence at all', (env) => {
    for (const { line, shown } of inEnvironment(env)) {
      expect([line, shown]).toEqual([line, expect.not.stringMatching(CONTROL)]);
    }
  });

  it('otherwise, there are control sequences, and the cursor is always shown again', () => {
    const hiding = inEnvironment(ENVIRONMENTS[2]!).filter(({ shown }) => shown.includes('\u001b[?25l'));
    expect(hiding.length).toBeGreaterThan(10);
    for (const { line, shown } of hiding) {
      expect(line && shown.lastIndexOf('\u001b[?25h')).toBeGreaterThan(shown.lastIndexOf('\u001b[?25l'));
    }
  });
});
