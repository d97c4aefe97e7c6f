/** The live region as people see it, in real terminals. */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { test as base, beforeAll, describe, expect } from 'vitest';
import { widthOf } from '../../src/cli/output/width.js';
import { scratch } from '../support/cli.js';
import { missing, openTerminal, recordTerminal, type Terminal } from '../support/pty.js';

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

interface Fixtures {
  /** Opens the program in a terminal, ready for its first event. */
  open: (
    columns: number,
    rows?: number,
    prelude?: number,
  ) => Promise<Terminal & { events(n: number): Promise<void> }>;
}

const test = base.extend<Fixtures>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of the fixtures from the pattern
  open: async ({}, use) => {
    const opened: Terminal[] = [];
    await use(async (columns, rows = 24, prelude = 0) => {
      const shown = join(scratch(), 'shown');
      const settings = [`SHOWN=${shown}`, `PRELUDE=${prelude}`];
      const terminal = await openTerminal(['env', ...settings, process.execPath, program], { columns, rows });
      opened.push(terminal);
      let count = 0;
      const arrived = (): boolean => existsSync(shown) && readFileSync(shown, 'utf8') === String(count);
      await terminal.until('anything', arrived);
      return {
        ...terminal,
        events: async (n) => {
          for (const end = count + n; count < end; ) {
            count++;
            await terminal.signal('SIGUSR2');
            await terminal.until(`event ${count}`, arrived);
          }
        },
      };
    });
    await Promise.all(opened.map((terminal) => terminal.close()));
  },
});

const at = (line: string | undefined): string =>
  (line ?? '').replace(/^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/, '*').replace(/\d+(\.\d+)?m?s\b/g, '0s');

describe.skipIf(missing.length > 0)('the live region', () => {
  test.for([
    [120, '* sending companies  ────────────────────  1,000 of 50,000 rows completed  2%'],
    [60, '* sending companies  1,000 of 50,000 rows completed  2%'],
    [40, '* sending  1,000 of 50,000 rows  2%'],
  ] as const)('at %i columns', async ([columns, head], { open }) => {
    const terminal = await open(columns);
    await terminal.events(5);
    const screen = await terminal.until('both jobs', (lines) => lines.length === 4);
    expect(screen[0]).toMatch(/^✓ 50,000 rows: 50,000 to send/);
    expect(at(screen[1])).toBe(head);
    expect(at(screen[2])).toMatch(/^ {2}株式会社-👍🏽-1 {2}processing/);
    expect(at(screen[3])).toMatch(/^ {2}株式会社-👍🏽-2 {2}queued/);
    for (const line of screen) expect(widthOf(line)).toBeLessThanOrEqual(columns);
    expect(await terminal.cursorShown()).toBe(false);
  });

  test('what others say and what has ended stand above; the summary follows and nothing of the region is left', async ({
    open,
  }) => {
    const terminal = await open(80);
    await terminal.events(7);
    const screen = await terminal.until('the job ended', (lines) =>
      lines.some((line) => line.startsWith('✓ 株式会社')),
    );
    expect(screen.slice(0, 3)).toEqual([
      '✓ 50,000 rows: 50,000 to send in 10 requests (4 MiB)',
      'warning: column zip was an integer last time',
      expect.stringMatching(/^✓ 株式会社-👍🏽-1 {2}completed +5,000 rows/),
    ]);
    expect(screen).toHaveLength(5);
    await terminal.events(1);
    expect(await terminal.exitCode()).toBe(0);
    expect((await terminal.screen()).slice(3)).toEqual([
      '✓ completed after 1.9s',
      '  to        account production, region eu, https://api.test',
      '  rows      997 read = 997 submitted (997 completed)',
      '  requests  1',
      '  job       job-1  completed  997 rows, lines 2-1001',
    ]);
    expect(await terminal.cursorShown()).toBe(true);
  });

  test('a window that becomes narrower and wider again leaves no ruins', async ({ open }) => {
    const terminal = await open(120, 24, 15);
    await terminal.events(5);
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

  test('a window of few lines keeps to them', async ({ open }) => {
    const terminal = await open(60, 3);
    await terminal.events(5);
    const screen = await terminal.until('the head and one job', (lines) =>
      lines.some((line) => /2 more jobs|-1/.test(line)),
    );
    expect(screen.length).toBeLessThanOrEqual(3);
  });

  test('Ctrl-C shows the cursor again and leaves a clean screen', async ({ open }) => {
    const terminal = await open(80);
    await terminal.events(5);
    await terminal.until('both jobs', (lines) => lines.length === 4);
    await terminal.press('C-c');
    expect(await terminal.exitCode()).toBe(130);
    expect(await terminal.cursorShown()).toBe(true);
    expect(await terminal.screen()).toEqual(['✓ 50,000 rows: 50,000 to send in 10 requests (4 MiB)']);
  });
});

describe.skipIf(missing.length > 0)('without animation', () => {
  test.for([
    ['TERM=dumb', 80, { TERM: 'dumb' }],
    ['PROFILES_PROGRESS=plain', 80, { PROFILES_PROGRESS: 'plain' }],
    ['no width', 0, { NO_COLOR: '1' }],
    ['CI=true and NO_COLOR', 80, { CI: 'true', NO_COLOR: '1' }],
  ] as const)('%s: plain lines and no control sequence at all', async ([_name, columns, env]) => {
    const { code, output } = await recordTerminal([process.execPath, program], { columns, env });
    expect(code).toBe(0);
    expect(output).toMatch(/\d\d:\d\d:\d\d sending companies/);
    expect(output).toContain('✓ completed after 1.9s');
    expect(output.replaceAll('\r\n', '\n')).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  });

  test('NO_COLOR leaves the region its movements and takes its colors', async () => {
    const { output } = await recordTerminal([process.execPath, program], {
      columns: 80,
      env: { NO_COLOR: '1' },
    });
    expect(output).toContain('\u001b[?25l');
    expect(output).not.toMatch(/\u001b\[[\d;]*m/);
    const colored = await recordTerminal([process.execPath, program], { columns: 80 });
    expect(colored.output).toMatch(/\u001b\[32m✓/);
  });
});
