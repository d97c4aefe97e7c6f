/** Whole commands in real terminals: the built program, the embedded service. `npm test` builds before it tests. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { widthOf } from '../../src/cli/output/width.js';
import { BIN } from '../support/child.js';
import { scratch } from '../support/cli.js';
import {
  missing,
  openTerminal,
  recordTerminal,
  type Terminal,
  type TerminalOptions,
} from '../support/pty.js';

const PROFILES = [process.execPath, BIN];

/** A folder with `公司.csv` of `rows` companies, and state of its own. */
function workplace(rows: number): string {
  const cwd = scratch();
  const lines = Array.from({ length: rows }, (_, i) => `c${i},株式会社 ${i} 👍`);
  writeFileSync(join(cwd, '公司.csv'), `company_id,name\n${lines.join('\n')}\n`);
  return cwd;
}

const opened: Terminal[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((terminal) => terminal.close()));
});

async function profiles(words: string, options: TerminalOptions): Promise<Terminal> {
  const terminal = await openTerminal([...PROFILES, ...words.split(' ')], options);
  opened.push(terminal);
  return terminal;
}

const region = (screen: string[]): string[] => screen.filter((line) => /^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] /.test(line));

describe.skipIf(missing.length > 0)('import', () => {
  test.for([120, 60, 40])('at %i columns: one region while it runs, then the summary', async (columns) => {
    const cwd = workplace(1_500);
    const terminal = await profiles('import 公司.csv --region sandbox --chunk-size 1000', { columns, cwd });
    const screen = await terminal.until('a job at work', (lines) => /processing/.test(lines.at(-1) ?? ''));
    expect(region(screen)).toHaveLength(1);
    expect(await terminal.cursorShown()).toBe(false);
    expect(await terminal.exitCode()).toBe(0);
    const end = await terminal.scrollback();
    expect(region(end)).toEqual([]);
    expect(end[0]).toMatch(/^✓ 1,500 rows: 1,500 to send/);
    expect(end).toContainEqual(expect.stringMatching(/^✓ completed after/));
    expect(end).toContain('  rows      1,500 read = 1,500 submitted (1,500 completed)');
    expect(await terminal.cursorShown()).toBe(true);
  });

  test('resized while it runs', async () => {
    const cwd = workplace(4_000);
    const terminal = await profiles('import 公司.csv --region sandbox', { columns: 120, cwd });
    await terminal.until('a job at work', (lines) => /processing/.test(lines.at(-1) ?? ''));
    for (const columns of [40, 100]) {
      await terminal.resize(columns);
      const fits = (lines: string[]): boolean =>
        region(lines).length === 1 && lines.slice(-2).every((line) => widthOf(line) < columns);
      await terminal.until(`one region at ${columns} columns`, fits);
    }
    expect(await terminal.exitCode()).toBe(0);
    expect(region(await terminal.screen())).toEqual([]);
  });

  test('Ctrl-C: says so, names the job and how to go on, shows the cursor', async () => {
    const cwd = workplace(30_000);
    const terminal = await profiles('import 公司.csv --region sandbox', { columns: 100, cwd });
    await terminal.until('a job at work', (lines) => /processing/.test(lines.at(-1) ?? ''));
    await terminal.press('C-c');
    expect(await terminal.exitCode()).toBe(130);
    expect(await terminal.cursorShown()).toBe(true);
    const screen = await terminal.screen();
    expect(region(screen)).toEqual([]);
    expect(screen).toContainEqual(expect.stringMatching(/^! interrupted after/));
    expect(screen).toContainEqual(
      expect.stringMatching(/^ {2}job {7}\S+ {2}\w+ {2}.*5,000 rows, lines 2-5001$/),
    );
    expect(screen).toContainEqual(expect.stringMatching(/^ +(?:continue with: )?profiles resume/));
  });

  test.for([
    ['TERM=dumb', 80, { TERM: 'dumb' }],
    ['PROFILES_PROGRESS=plain', 80, { PROFILES_PROGRESS: 'plain' }],
    ['no width', 0, { NO_COLOR: '1' }],
    ['CI=true and NO_COLOR', 80, { CI: 'true', NO_COLOR: '1' }],
  ] as const)('%s: no control sequence at all', async ([_name, columns, env]) => {
    const words = ['import', '公司.csv', '--region', 'sandbox'];
    const { code, output } = await recordTerminal([...PROFILES, ...words], {
      columns,
      env,
      cwd: workplace(3),
    });
    expect(code).toBe(0);
    expect(output).toContain('✓ completed after');
    expect(output.replaceAll('\r\n', '\n')).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  });
});

test.skipIf(missing.length > 0).for([
  ['NO_COLOR leaves the region its movements and takes its colors', { NO_COLOR: '1' }, false],
  ['without it, both are there', {}, true],
] as const)('%s', async ([_name, env, isColored]) => {
  const words = ['import', '公司.csv', '--region', 'sandbox'];
  const { output } = await recordTerminal([...PROFILES, ...words], { columns: 80, env, cwd: workplace(3) });
  expect(output).toContain('\u001b[?25l');
  expect(/\u001b\[[\d;]*m/.test(output)).toBe(isColored);
  expect(output.includes('\u001b[32m✓')).toBe(isColored);
});

describe.skipIf(missing.length > 0)('other commands', () => {
  test('a table keeps to a terminal of 40 columns', async () => {
    const terminal = await profiles('lookups embeds --region sandbox', { columns: 40 });
    expect(await terminal.exitCode()).toBe(0);
    const screen = await terminal.screen();
    expect(screen[0]).toMatch(/^┌─+┬─+┬─+┐$/);
    expect(screen.at(-1)).toMatch(/^└─+┴─+┴─+┘$/);
  });

  test('an error cannot steer the terminal', async () => {
    const { code, output } = await recordTerminal(
      [...PROFILES, 'job', '\u001b[2J\u009b2J', '--region', 'sandbox'],
      { columns: 80 },
    );
    expect(code).toBe(6);
    expect(output.replaceAll('\r\n', '\n')).not.toMatch(/\u001b\[2J|[\u007f-\u009f]/);
    expect(output).toContain(' not found: ');
  });
});
