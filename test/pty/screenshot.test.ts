/**
 * The pictures of an import, docs/import.svg, and of a guided one, docs/guided.svg, held against what the built command
 * draws in a real terminal. `npm run screenshots -- terminal` writes the files. The service is the sandbox, with its clock in this test's hand, so the same
 * moments are met every time. What is another one each time (durations, rates, ids, port) is left out or replaced.
 */
import { copyFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect } from 'vitest';
import { BIN, built } from '../support/child.js';
import { scratch } from '../support/cli.js';
import { missing, openTerminal } from '../support/pty.js';
import { environmentOf, ManualClock, test } from '../support/sandbox.js';
import { type Frame, terminalSvg } from './terminal-svg.js';

const DOCS = resolve(import.meta.dirname, '../../docs');
const PICTURES = ['import.svg', 'guided.svg'] as const;
/** Of the terminal: wide enough for a rate in the head line, which is not in the picture. */
const TERMINAL_COLUMNS = 120;
const PICTURE_COLUMNS = 104;
/** Of the sandbox's clock, between two looks of the command at its jobs. */
const STEP_MS = 500;

interface Scene {
  command: string;
  /** What is kept: after so much time of the sandbox, as soon as the screen shows the text. */
  moments: readonly [ms: number, text: string][];
  /** Of the result. */
  rows: string;
  /** Stands for the time that it took. */
  took: string;
}

const SCENES: readonly Scene[] = [
  {
    command: 'import companies.csv users.csv',
    moments: [
      [0, '0 of 5,000 rows'],
      [3_000, '2,857 of 5,000 rows'],
      [2_000, '0 of 2,200 rows'],
      [1_500, '1,514 of 2,200 rows'],
    ],
    rows: '9,600 read = 9,600 submitted (9,600 completed)',
    took: '10.2s',
  },
  {
    command: 'import companies.csv users.csv --changed-only',
    moments: [],
    rows: '9,600 read = 9,597 unchanged + 3 submitted (3 completed)',
    took: '820ms',
  },
];
/** The questions of a guided import: Enter answers each of them. */
const QUESTIONS = [
  'crm-companies.csv: what are its rows?',
  'How are the columns named at the service?',
  'Which columns to send?',
  'Which values to convert?',
  'In which time zone are the times of Create Date?',
  'Which of these mean that a cell is empty?',
  '1 row cannot be sent.',
  'Send to region sandbox',
  'Save the answers as crm-companies.mapping.json?',
];
const GUIDE_ROWS = 32;
const QUESTION_S = 1.6;
const MOMENT_S = 0.7;
const RESULT_S = 1.2;

const csv = (rows: number, header: string, row: (n: number) => string): string =>
  `${[header, ...Array.from({ length: rows }, (_, n) => row(n))].join('\n')}\n`;

/** Three companies have the plan, the others another one. */
const companies = (plan: string): string =>
  csv(7_200, 'company_id,name,plan', (n) => `c-${n},Company ${n},${n < 3 ? plan : 'starter'}`);

const SGR = String.raw`(?:\u001b\[[\d;]*m)*`;
const DURATION = String.raw`\d[\d.]*m?s`;

function masked(line: string, took: string): string {
  return line
    .replace(new RegExp(`(after) ${DURATION}`), `$1 ${took}`)
    .replace(new RegExp(`  ${SGR}[\\d,]+ rows/s(?=\u001b|$)`), '')
    .replace(new RegExp(`  ${SGR}[\\w. ]+ left(?=\u001b|$)`), '')
    .replace(new RegExp(`  ${SGR}${DURATION}(?=\u001b|$)`), '')
    .replace(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/, '⠹')
    .replace(/127\.0\.0\.1:\d+/, '127.0.0.1:4100')
    .replace(/(job:default\/)[0-9a-f]{8}/, '$1712b5eea');
}

describe.skipIf(missing.length > 0)('the picture', () => {
  beforeAll(built);

  test('shows what the command draws: else `npm run screenshots -- terminal`', async ({ start }) => {
    const clock = new ManualClock();
    const sandbox = await start({ clock, limits: { rowsPerSecond: 1_000 } });
    const cwd = scratch();
    writeFileSync(join(cwd, 'companies.csv'), companies('starter'));
    writeFileSync(
      join(cwd, 'users.csv'),
      csv(2_400, 'user_id,company_id', (n) => `u-${n},c-${n}`),
    );

    const frames: Frame[] = [];
    const above: string[] = [];
    for (const { command, moments, rows, took } of SCENES) {
      above.push(`\u001b[0;2m$\u001b[0m \u001b[1mprofiles ${command}\u001b[0m`);
      frames.push({ lines: [...above], seconds: MOMENT_S });
      const terminal = await openTerminal([process.execPath, BIN, ...command.split(' ')], {
        columns: TERMINAL_COLUMNS,
        cwd,
        env: { ...environmentOf(sandbox), HOME: cwd },
      });
      const screen = async (): Promise<string[]> =>
        (await terminal.colored()).map((line) => masked(line, took));
      try {
        for (const [ms, text] of moments) {
          clock.advance(ms);
          await terminal.until(text, (lines) => lines.some((line) => line.includes(text)));
          frames.push({ lines: [...above, ...(await screen())], seconds: MOMENT_S });
        }
        const time = setInterval(() => clock.advance(STEP_MS), 20);
        const code = await terminal.exitCode().finally(() => clearInterval(time));
        expect(code).toBe(0);
        expect(await terminal.screen()).toContain(`  rows      ${rows}`);
        above.push(...(await screen()));
      } finally {
        await terminal.close();
      }
      frames.push({ lines: [...above], seconds: RESULT_S });
      above.push('');
      writeFileSync(join(cwd, 'companies.csv'), companies('growth'));
    }

    const picture = terminalSvg({
      title: 'Two imports at a terminal',
      description:
        'profiles import companies.csv users.csv: 9,600 rows are planned, sent in 3 requests and followed until all are completed. The same again with --changed-only: 9,597 rows are unchanged, 3 are sent.',
      frames,
      columns: PICTURE_COLUMNS,
    });
    await expect(picture).toMatchFileSnapshot(join(DOCS, PICTURES[0]));
  });

  test('shows the questions of a guided import', async () => {
    const cwd = scratch();
    copyFileSync(join(DOCS, '../fixtures/guide/crm-companies.csv'), join(cwd, 'crm-companies.csv'));
    const words = ['import', 'crm-companies.csv', '--region', 'sandbox'];
    const prompt = `\u001b[0;2m$\u001b[0m \u001b[1mprofiles ${words.join(' ')}\u001b[0m`;
    const frames: Frame[] = [{ lines: [prompt], seconds: MOMENT_S }];
    const terminal = await openTerminal([process.execPath, BIN, ...words], {
      columns: PICTURE_COLUMNS,
      rows: GUIDE_ROWS,
      cwd,
      env: { HOME: cwd, TZ: 'America/New_York' },
    });
    try {
      for (const question of QUESTIONS) {
        await terminal.until(question, (lines) => lines.some((line) => line.startsWith(`◆  ${question}`)));
        frames.push({ lines: await terminal.colored(), seconds: QUESTION_S });
        await terminal.press('Enter');
      }
      expect(await terminal.exitCode()).toBe(5);
      const lines = (await terminal.colored()).map((line) => masked(line, '1.2s'));
      frames.push({ lines, seconds: RESULT_S });
    } finally {
      await terminal.close();
    }
    const picture = terminalSvg({
      title: 'A guided import at a terminal',
      description:
        'profiles import crm-companies.csv asks what identifies the rows, how columns are named, which to send, what to convert, the time zone, and what means empty. It shows the first item and the plan, asks what to do with 1 invalid row, sends, saves the answers, and prints the same import as a command.',
      frames,
      columns: PICTURE_COLUMNS,
    });
    await expect(picture).toMatchFileSnapshot(join(DOCS, PICTURES[1]));
  });
});

test.for(PICTURES)('the picture %s is small, well-formed, and runs nothing', (name) => {
  const file = join(DOCS, name);
  const svg = readFileSync(file, 'utf8');
  expect(statSync(file).size).toBeLessThan(60_000);
  expect(svg).not.toMatch(/<script|\bon\w+=|href|url\(|<image|<foreignObject/i);
  const open: string[] = [];
  for (const [, end, name, , closed] of svg.matchAll(/<(\/?)(\w+)((?: [\w:-]+="[^"<&]*")*)(\/?)>/g)) {
    if (end) expect(open.pop()).toBe(name);
    else if (!closed) open.push(name!);
  }
  expect(open).toEqual([]);
  expect(svg.replace(/<\/?\w+(?: [\w:-]+="[^"<&]*")*\/?>/g, '')).not.toMatch(/[<>]|&(?!amp;|lt;|gt;)/);
});
