/** The live region in a real terminal, event by event: no frame is being drawn while the window changes. */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { scratch } from '../support/cli.js';
import { missing, openTerminal, type Terminal } from '../support/pty.js';

const program = join(scratch(), 'import.mjs');
beforeAll(async () => {
  await build({
    entryPoints: [fileURLToPath(new URL('programs/import.ts', import.meta.url))],
    outfile: program,
    bundle: true,
    format: 'esm',
    platform: 'node',
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
  });
});

/** Opens the program in a terminal, below so many lines, and lets this many of its events happen. */
async function shown(columns: number, prelude: number, events: number): Promise<Terminal> {
  const file = join(scratch(), 'shown');
  const settings = [`SHOWN=${file}`, `PRELUDE=${prelude}`];
  const terminal = await openTerminal(['env', ...settings, process.execPath, program], { columns });
  onTestFinished(() => terminal.close());
  for (let count = 0; ; count++) {
    await terminal.until(
      `event ${count}`,
      () => existsSync(file) && readFileSync(file, 'utf8') === `${count}`,
    );
    if (count === events) return terminal;
    await terminal.signal('SIGUSR2');
  }
}

describe.skipIf(missing.length > 0)('the live region', () => {
  test('a window that becomes narrower and wider again leaves no ruins', async () => {
    const terminal = await shown(120, 15, 5);
    await terminal.until('both jobs', (lines) => lines.length === 19);
    for (const [columns, head] of [
      [40, /^. sending {2}1,000 of 50,000 rows {2}2%$/],
      [23, /^. sending {2}2%$/],
      [100, /^. sending companies {2}─+ {2}1,000 of 50,000 rows completed {2}2%$/],
      [60, /^. sending companies {2}1,000 of 50,000 rows completed {2}2%$/],
    ] as const) {
      await terminal.resize(columns);
      // tmux tells a program of its new size with a delay; until then it paints for the old one.
      await terminal.until(`the region at ${columns} columns`, (lines) => head.test(lines.at(-3) ?? ''));
      // Once more than a frame (100 ms, in another process) later: what stays is not a passing state.
      await new Promise((resolve) => setTimeout(resolve, 150));
      // In the middle of a frame there may be less of it.
      await expect
        .poll(() => terminal.scrollback(), { interval: 50 })
        .toEqual([
          ...Array.from({ length: 15 }, (_, i) => `line ${i + 1}`),
          '✓ 50,000 rows: 50,000 to send in 10 requests (4 MiB)',
          expect.stringMatching(head),
          expect.stringMatching(/^ {2}株式会.*processing/),
          expect.stringMatching(/^ {2}株式会.*queued/),
        ]);
    }
  });
});
