/** The live line in a real terminal, event by event: no frame is being drawn while the window changes. */

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

describe.skipIf(missing.length > 0)('the live line', () => {
  test('a window that becomes narrower and wider again leaves no ruins', async () => {
    const terminal = await shown(120, 15, 5);
    for (const [columns, line] of [
      [40, /^. sending companies 1,000 of 50,000 ro…$/],
      [23, /^. sending companies 1…$/],
      [100, /^. sending companies 1,000 of 50,000 rows completed, 0 of 2 jobs ended$/],
      [60, /^. sending companies 1,000 of 50,000 rows completed, 0 of 2…$/],
    ] as const) {
      await terminal.resize(columns);
      // tmux tells a program of its new size with a delay; until then it paints for the old one.
      await terminal.until(`the line at ${columns} columns`, (lines) => line.test(lines.at(-1) ?? ''));
      // Once more than a frame (100 ms, in another process) later: what stays is not a passing state.
      await new Promise((resolve) => setTimeout(resolve, 150));
      // In the middle of a frame there may be less of it.
      await expect
        .poll(() => terminal.scrollback(), { interval: 50 })
        .toEqual([
          ...Array.from({ length: 15 }, (_, i) => `line ${i + 1}`),
          '✓ 50,000 rows: 50,000 to send in 10 requests (4 MiB)',
          expect.stringMatching(line),
        ]);
    }
  });
});
