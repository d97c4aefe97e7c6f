/**
 * The guided import in real terminals, key by key: the built program, the embedded service. What its printed command
 * sends is compared item by item. `npm test` builds before it tests.
 */

import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { BIN, built, profiles } from '../support/child.js';
import { scratch } from '../support/cli.js';
import { missing, openTerminal, type Terminal } from '../support/pty.js';

const sh = promisify(execFile);
const FIXTURES = resolve(import.meta.dirname, '../../fixtures');

const opened: Terminal[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((terminal) => terminal.close()));
});

interface Place {
  cwd: string;
  env: Record<string, string>;
}

/** A folder with state of its own, and a copy of these files. */
function place(files: Record<string, string | Uint8Array> = {}, fixtures: readonly string[] = []): Place {
  const cwd = scratch(files);
  for (const path of fixtures) copyFileSync(join(FIXTURES, path), join(cwd, path.split('/').at(-1)!));
  return { cwd, env: { HOME: cwd, PROFILES_STATE_DIR: join(cwd, '.state'), TZ: 'America/New_York' } };
}

async function guided(
  { cwd, env }: Place,
  words: readonly string[],
  { columns = 110, ...more }: { columns?: number; env?: Record<string, string> } = {},
): Promise<Terminal> {
  const command = [process.execPath, BIN, 'import', ...words, '--region', 'sandbox'];
  const terminal = await openTerminal(command, { columns, rows: 50, cwd, env: { ...env, ...more.env } });
  opened.push(terminal);
  return terminal;
}

const asks = (question: string) => (screen: string[]) =>
  screen.some((line) => line.startsWith(`◆  ${question}`));

/** Answers questions in turn, and returns the exit code and all that was shown. */
async function answer(
  terminal: Terminal,
  turns: readonly (readonly [question: string, ...keys: string[]])[],
): Promise<{ code: number; shown: string }> {
  for (const [question, ...keys] of turns) {
    await terminal.until(question, asks(question));
    await terminal.press(...keys);
  }
  const code = await terminal.exitCode();
  return { code, shown: (await terminal.scrollback()).join('\n') };
}

/** Runs the command that a guided import printed, in a pipe and in a new state, and returns what the service holds. */
async function pasted({ cwd }: Place, shown: string): Promise<unknown[]> {
  const [, command = ''] =
    /The same import without questions:\s+(profiles import [\s\S]+)$/.exec(shown) ?? [];
  const env = { PATH: process.env.PATH!, HOME: cwd, PROFILES_STATE_DIR: join(cwd, '.again'), CI: 'true' };
  const line = `profiles() { '${process.execPath}' '${BIN}' "$@"; }; ${command.trim().replace(/ --state(?:-dir)? \S+/, '')}; echo "exit $?"`;
  const { stdout, stderr } = await sh('sh', ['-c', line], { cwd, env: { ...env, TZ: 'Asia/Tokyo' } });
  expect(['exit 0\n', 'exit 5\n'], stderr).toContain(stdout);
  return held({ cwd, env });
}

async function held({ cwd, env }: Place): Promise<unknown[]> {
  const all: unknown[] = [];
  for (const kind of ['companies', 'users']) {
    const { stdout } = await profiles(['sandbox', 'list', kind, '--json'], { cwd, env }).ended;
    all.push(JSON.parse(stdout));
  }
  return all;
}

describe.skipIf(missing.length > 0)('a guided import', () => {
  beforeAll(built);

  const CRM = ['guide/crm-companies.csv', 'guide/crm-contacts.csv'];
  const ALL: [string, ...string[]][] = [
    ['crm-companies.csv: what are its rows?', 'Enter'],
    ['crm-contacts.csv: what are its rows?', 'Enter'],
    ['How are the columns named at the service?', 'Enter'],
    ['Which columns to send?', 'Enter'],
    ['Which values to convert?', 'Enter'],
    ['In which time zone are the times of companies: Create Date, users: Last Activity Date?', 'Enter'],
    ['Which of these mean that a cell is empty?', 'Enter'],
    ['3 rows cannot be sent. What about the others?', 'Enter'],
    ['Send to region sandbox', 'Enter'],
    ['Save the answers as profiles.mapping.json?', 'Enter'],
  ];

  test('two exports of a CRM in one command, saved and repeated', async () => {
    const here = place({}, CRM);
    const { code, shown } = await answer(await guided(here, ['crm-companies.csv', 'crm-contacts.csv']), ALL);
    expect(code, shown).toBe(5);
    expect(shown).toContain('31 submitted (31 completed)');
    expect(readdirSync(here.cwd).sort()).toEqual([
      '.state',
      'crm-companies.csv',
      'crm-companies.rejects.csv',
      'crm-companies.rejects.csv.json',
      'crm-contacts.csv',
      'crm-contacts.rejects.csv',
      'crm-contacts.rejects.csv.json',
      'profiles.mapping.json',
    ]);
    const mapping = JSON.parse(readFileSync(join(here.cwd, 'profiles.mapping.json'), 'utf8'));
    expect(mapping.companies.type['Create Date']).toBe('datetime:M/d/yyyy H:mm@America/New_York');
    expect(mapping.users.type['Last Activity Date']).toBe('datetime:iso@America/New_York');
    const items = await held(here);
    expect(await pasted(here, shown)).toEqual(items);
    expect(items[0]).toHaveLength(23);

    const again = await guided(here, ['crm-companies.csv', 'crm-contacts.csv', '--changed-only']);
    const second = await answer(again, [['Use the mapping in profiles.mapping.json?', 'Enter']]);
    expect([second.code, second.shown], second.shown).toEqual([5, expect.stringContaining('unchanged')]);
  });

  test.for([...ALL.map(([question]) => question), 'Use the mapping in profiles.mapping.json?'])(
    'Ctrl-C, Escape, Ctrl-D and a closed terminal at: %s',
    async (question) => {
      const at = ALL.findIndex(([asked]) => asked === question);
      const mapping = readFileSync(join(FIXTURES, 'guide/crm.json'));
      const here = place(at < 0 ? { 'profiles.mapping.json': mapping } : {}, CRM);
      const before = readdirSync(here.cwd);
      const ends = async (key: string): Promise<void> => {
        const ended = join(scratch(), 'ended');
        const command = `'${process.execPath}' '${BIN}' import crm-companies.csv crm-contacts.csv --region sandbox`;
        const line = ['sh', '-c', `trap : HUP; ${command}; code=$?; echo $code > ${ended}; exit $code`];
        const terminal = await openTerminal(line, { columns: 110, rows: 50, ...here });
        if (key !== 'closed') opened.push(terminal);
        for (const [asked, ...keys] of ALL.slice(0, Math.max(at, 0))) {
          await terminal.until(asked, asks(asked));
          await terminal.press(...keys);
        }
        await terminal.until(question, asks(question));
        if (key === 'closed') await terminal.close();
        else {
          await terminal.press(key);
          expect(await terminal.exitCode(), `${key}: ${await terminal.screen()}`).toBe(130);
          expect(await terminal.cursorShown()).toBe(true);
          await terminal.press('echoed');
          await terminal.until('what is typed', (lines) => lines.at(-1)?.includes('echoed') === true);
        }
        // A terminal that closes hangs up twice: the second time may find the process at its end, which is 129.
        const codes = key === 'closed' ? /^1(?:30|29)\n$/ : /^130\n$/;
        await expect.poll(() => existsSync(ended) && readFileSync(ended, 'utf8')).toMatch(codes);
      };
      await Promise.all(['C-c', 'Escape', 'C-d', 'closed'].map(ends));
      expect(readdirSync(here.cwd).filter((name) => name !== '.state')).toEqual(before);
      expect(await held(here)).toEqual([[], []]);
    },
  );

  test('without colors', async () => {
    const here = place({ 'k.csv': 'Record ID,Size\n1,"1,200,000"\n2,n/a\n' });
    const terminal = await guided(here, ['k.csv', '--dry-run'], { env: { NO_COLOR: '1' } });
    for (const question of ['k.csv: what', 'How are', 'Which columns', 'Which values', 'Which of these']) {
      await terminal.until(question, asks(question));
      // Dim and inverse are no colors.
      expect((await terminal.colored()).join('')).not.toMatch(/\u001b\[(?:\d+;)*[34]\dm/);
      await terminal.press('Enter');
    }
    await terminal.until('the mapping', asks('Save the answers'));
    await terminal.press('C-c');
    expect(await terminal.exitCode()).toBe(130);
  });

  test('a file that is clear is imported without a question', async () => {
    const here = place({ 'c.csv': 'company_id,tier\na,gold\nb,silver\n' });
    const { code, shown } = await answer(await guided(here, ['c.csv']), []);
    expect([code, shown.includes('◆')]).toEqual([0, false]);
  });

  test.for([60, 200])(
    'at %i columns, names in other scripts, escape sequences in cells, resized, a list longer than the screen',
    async (columns) => {
      const names = Array.from({ length: 60 }, (_, n) => `列 ${n} اسم 👍`);
      const rows = [1, 2, 3].map((n) => [n, ...names.map((name) => `\u001b[31m${name} ${n}`)].join(','));
      const here = place({ '表.csv': `编号 ID,${names.join(',')}\n${rows.join('\n')}\n` });
      const terminal = await guided(here, ['表.csv'], { columns });
      await terminal.until('the first question', asks('表.csv: what are its rows?'));
      await terminal.resize(columns === 60 ? 90 : 70);
      await terminal.resize(columns);
      await terminal.press('Enter');
      await terminal.until('the keys', asks('How are the columns named at the service?'));
      await terminal.press('Down', 'Enter');
      await terminal.until('the columns', asks('Which columns to send?'));
      for (let n = 0; n < 30; n++) await terminal.press('Down');
      await terminal.until('a later column', (screen) => screen.some((line) => line.includes('列 30')));
      await terminal.press('Space', 'Enter');
      const { code, shown } = await answer(terminal, [
        ['Send to region sandbox', 'Enter'],
        ['Save the answers as 表.mapping.json?', 'Enter'],
      ]);
      expect(code, shown).toBe(0);
      expect((await terminal.colored()).join('')).not.toContain('\u001b[31m列');
      const { exclude } = JSON.parse(readFileSync(join(here.cwd, '表.mapping.json'), 'utf8'));
      expect(exclude).toEqual(['列 30 اسم 👍']);
      expect(await pasted(here, shown)).toEqual(await held(here));
    },
  );

  test.for([{ TERM: 'dumb' }, { PROFILES_PROMPTS: 'plain' }])('line by line: %j', async (env) => {
    const here = place({ 'k.csv': 'Record ID,Size\n1,"1,200,000"\n2,n/a\n' });
    const terminal = await guided(here, ['k.csv'], { env });
    const turns = [
      ['Number [1]:', 'Enter'],
      ['Number [1]:', 'Enter'],
      ['0 for none [all]:', '9', 'Enter'],
      ['0 for none [all]:', 'Enter'],
      ['0 for none [all]:', 'Enter'],
      ['0 for none [all]:', 'Enter'],
      ['embedded? [Y/n]:', 'Enter'],
      ['k.mapping.json? [Y/n]:', 'n', 'Enter'],
    ] as const;
    for (const [at, [question, ...keys]] of turns.entries()) {
      // The same question may have been asked before: until the terminal shows what was typed, it stands there as open.
      const times = turns.slice(0, at + 1).filter(([asked]) => asked === question).length;
      const isAsked = (screen: string[]): boolean =>
        screen.at(-1)?.endsWith(question) === true &&
        screen.filter((line) => line.includes(question)).length === times;
      await terminal.until(`${question}, ${times}`, isAsked);
      await terminal.press(...keys);
    }
    const code = await terminal.exitCode();
    const shown = (await terminal.scrollback()).join('\n');
    expect(code, shown).toBe(0);
    expect(shown).toContain('Type numbers from 1 to 1, or 0 for none.');
    expect(shown).not.toContain('◆');
    expect(await held(here)).toEqual([[{ company_id: '1', size: 1200000 }, { company_id: '2' }], []]);
  });

  test('a file that changes during the questions is not sent, and the import is printed again', async () => {
    const here = place({ 'k.csv': 'company_id,Size\n1,"1,200,000"\n' });
    const terminal = await guided(here, ['k.csv']);
    await terminal.until('the first question', asks('Which values to convert?'));
    await terminal.press('Enter');
    await terminal.until('the last question', asks('Send to region sandbox'));
    writeFileSync(join(here.cwd, 'k.csv'), 'company_id,Size\n1,"1,200,000"\n2,5\n');
    const { code, shown } = await answer(terminal, [
      ['Send to region sandbox', 'Enter'],
      ['Save the answers', 'Enter'],
    ]);
    expect(code, shown).toBe(2);
    const said = shown.slice(shown.indexOf('profiles: k.csv'));
    expect(said).toMatch(
      /has changed since you were asked\n {2}import it again:\n.* --mapping k\.mapping\.json/,
    );
    expect(shown).not.toMatch(/without questions|--input|plan was made/);
    expect(await held(here)).toEqual([[], []]);
  });

  test('a nightly import runs while two people think, and both save their answers', async () => {
    const here = place({}, CRM);
    const first = await guided(here, ['crm-companies.csv']);
    const second = await guided(here, ['crm-companies.csv']);
    for (const terminal of [first, second])
      await terminal.until('a question', asks('crm-companies.csv: what'));
    writeFileSync(join(here.cwd, 'n.csv'), 'company_id\nn1\n');
    const nightly = profiles(['import', 'n.csv', '--region', 'sandbox', '--json'], here);
    expect(await nightly.ended).toMatchObject({ code: 0 });
    const turns = [
      ['crm-companies.csv: what', 'Enter'],
      ['How are', 'Enter'],
      ['Which columns', 'Enter'],
      ['Which values', 'Enter'],
      ['In which time zone', 'Enter'],
      ['Which of these', 'Enter'],
      ['1 row cannot', 'Enter'],
      ['Send to', 'Enter'],
    ] as const;
    for (const terminal of [first, second]) {
      for (const [question, ...keys] of turns) {
        await terminal.until(question, asks(question));
        await terminal.press(...keys);
      }
      await terminal.until('the last question', asks('Save the answers as crm-companies.mapping.json?'));
    }
    for (const [terminal, name] of [
      [first, 'crm-companies.mapping.json'],
      [second, 'crm-companies.mapping-2.json'],
    ] as const) {
      const { code, shown } = await answer(terminal, [['Save the answers', 'Enter']]);
      expect(code, shown).toBe(5);
      expect(shown).toContain(`--mapping ${name}`);
    }
    expect((await held(here))[0]).toHaveLength(24);
  });
});
