/** For screen readers and dumb terminals: all commands in a real terminal, and not one control sequence. */
import { rmSync } from 'node:fs';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scratch } from '../support/cli.js';
import { missing, recordTerminal } from '../support/pty.js';
import { INVOCATIONS } from './invocations.js';

const at = (path: string): string => new URL(path, import.meta.url).pathname;
// Below node_modules, so that the bundle finds the SQLite binding there.
const program = at(`../../node_modules/.cache/profiles-test/everything-${process.pid}.mjs`);

beforeAll(async () => {
  await build({
    entryPoints: [at('programs/everything.ts')],
    outfile: program,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.20',
    external: ['@photostructure/sqlite'],
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
  });
});
afterAll(() => rmSync(program));

/** What each invocation showed, and the code it ended with. */
async function everything(
  env: Record<string, string>,
): Promise<{ line: string; shown: string; code: number }[]> {
  const { code, output } = await recordTerminal([process.execPath, program], {
    columns: 80,
    env,
    cwd: scratch(),
  });
  expect({ code, output }).toEqual({ code: 0, output: expect.any(String) });
  const parts = output
    .replaceAll('\r\n', '\n')
    .split(/^\$ profiles /m)
    .slice(1);
  return parts.map((part) => {
    const [, line = '', shown = '', ended] = /^(.*)\n([\s\S]*?)\[(\d+)\]\n*$/.exec(part) ?? [];
    return { line, shown, code: Number(ended) };
  });
}

// biome-ignore lint/complexity/useRegexLiterals: escapes in a string can be read
const CONTROL = new RegExp('[\\u0000-\\u0009\\u000b-\\u001f\\u007f-\\u009f]');
const expected = INVOCATIONS.map(({ line, ends }) => ({ line, code: ends }));

describe.skipIf(missing.length > 0)('all commands in a terminal of 80 columns', () => {
  it.each([{ TERM: 'dumb' }, { PROFILES_PROGRESS: 'plain' }])(
    '%j: no control sequence at all',
    async (env) => {
      const all = await everything(env);
      expect(all.map(({ line, code }) => ({ line, code }))).toEqual(expected);
      for (const { line, shown } of all) {
        expect({ line, shown }).toEqual({ line, shown: expect.not.stringMatching(CONTROL) });
        expect({ line, shown }).toEqual({ line, shown: expect.stringMatching(/\S/) });
      }
    },
  );

  it('otherwise there are some, and each that hides the cursor shows it again', async () => {
    const all = await everything({});
    expect(all.map(({ line, code }) => ({ line, code }))).toEqual(expected);
    const hidden = all.filter(({ shown }) => shown.includes('\u001b[?25l'));
    expect(hidden.length).toBeGreaterThan(10);
    for (const { line, shown } of hidden) {
      expect([line, shown.lastIndexOf('\u001b[?25h')]).toEqual([line, expect.any(Number)]);
      expect(shown.lastIndexOf('\u001b[?25h')).toBeGreaterThan(shown.lastIndexOf('\u001b[?25l'));
    }
  });
});
