/** Guided imports line by line, in process: what is asked, what is not, and the commands that are printed. */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type CliResult, cli, scratch } from '../../support/cli.js';
import { onOneLine, printedCommands } from '../../support/printed.js';
import { shellWords } from '../../support/shell-words.js';
import { atTerminal, type Turn } from '../commands/terminal.js';

const COMPANIES = 'Record ID,Size,Since\n1,"1,200,000",2024-01-02 10:00\n2,-,2024-01-03 11:00\n';
const USERS = 'Email,Score\nA@b.example,3\nc@d.example,n/a\n';

/** The items that the embedded service of a state has. */
async function held(cwd: string, state: string): Promise<unknown[]> {
  const env = { PROFILES_STATE_DIR: join(cwd, state) };
  const listed: unknown[] = [];
  for (const kind of ['companies', 'users']) {
    const { stdout } = await cli(['sandbox', 'list', kind, '--json'], { cwd, env });
    listed.push(JSON.parse(stdout));
  }
  return listed;
}

/** Runs printed commands without a terminal, in another state. */
async function paste(commands: readonly string[], cwd: string): Promise<CliResult[]> {
  const ended: CliResult[] = [];
  for (const command of commands) {
    const [, ...words] = shellWords(onOneLine(command).replace(/ --state \S+/, ''));
    ended.push(await cli(words, { cwd, env: { PROFILES_STATE_DIR: join(cwd, '.again') } }));
  }
  return ended;
}

/** What follows the sentence on the screen. */
const below = (sentence: string, screen: string): string[] =>
  printedCommands(screen.slice(screen.lastIndexOf(sentence)));

const number = (type = ''): Turn => ({ at: 'Number [1]: ', type: `${type}\n` });
const all: Turn = { at: '[all]: ', type: '\n' };
const sandbox = (...words: string[]): string[] => ['import', ...words, '--region', 'sandbox'];

describe('the commands at the end', () => {
  const TWO = sandbox('c.csv', 'u.csv', '--limit', '9', '--outcomes', 'outcomes.csv');
  const turns = (send: string): Turn[] => [
    number(),
    number(),
    number(),
    ...[all, all],
    { at: ']: ', type: 'UTC\n' },
    all,
    { at: 'embedded? [Y/n]: ', type: `${send}\n` },
    { at: 'profiles.mapping.json? [Y/n]: ', type: 'n\n' },
  ];

  it('are one for each kind, if answers for two kinds were not saved', async () => {
    const cwd = scratch({ 'c.csv': COMPANIES, 'u.csv': USERS });
    const { code, screen } = await atTerminal(TWO, turns('y'), { cwd });
    expect(code, screen).toBe(0);
    const commands = below('The same import without questions', screen);
    expect(commands.map((command) => command.slice(0, 21))).toEqual([
      'profiles import c.csv',
      'profiles import u.csv',
    ]);
    for (const { code, stderr } of await paste(commands, cwd)) expect(code, stderr).toBe(0);
    const sent = await held(cwd, '.state');
    expect(sent).toMatchObject([
      [{ company_id: '1', size: 1_200_000 }, { company_id: '2' }],
      [{ user_id: 'a@b.example', score: 3 }, { user_id: 'c@d.example' }],
    ]);
    expect(await held(cwd, '.again')).toEqual(sent);
  });

  it('stand below the error, if nothing was sent', async () => {
    const cwd = scratch({ 'c.csv': COMPANIES, 'u.csv': USERS });
    const { code, screen } = await atTerminal(TWO, turns('n'), { cwd });
    expect(code).toBe(130);
    const commands = below('profiles: nothing was sent\n  to send it:\n', screen);
    for (const { code, stderr } of await paste(commands, cwd)) expect(code, stderr).toBe(0);
    expect(await held(cwd, '.again')).toMatchObject([{ length: 2 }, { length: 2 }]);
  });

  it('is one for several inputs of a kind', async () => {
    const cwd = scratch({
      'in/a.csv': 'Record ID,Size\n1,"1,200,000"\n',
      'in/b.csv': 'Record ID,Size\n2,"3,400,000"\n',
    });
    const turns: Turn[] = [number(), number(), number(), all, all, { at: '[Y/n]: ', type: 'y\n' }];
    const { screen } = await atTerminal(sandbox('in'), [...turns, { at: '[Y/n]: ', type: 'n\n' }], { cwd });
    const commands = below('The same import without questions', screen);
    expect(commands).toEqual([expect.stringMatching(/^profiles import in /)]);
    expect(await paste(commands, cwd)).toMatchObject([{ code: 0 }]);
    expect(await held(cwd, '.again')).toEqual(await held(cwd, '.state'));
  });
});

describe('a mapping file without a time zone', () => {
  const mapping = JSON.stringify({
    kind: 'companies',
    id: 'Record ID',
    type: { Size: 'number:1,234.56', Since: 'datetime:iso@<zone>' },
    null: ['-'],
  });
  const argv = sandbox('c.csv', '-m', 'm.json');

  it('is asked about that, and only that', async () => {
    const cwd = scratch({ 'c.csv': COMPANIES, 'm.json': mapping });
    const asked = 'm.json: in which time zone are the times of Since? [';
    const { code, screen } = await atTerminal(argv, [{ at: ']: ', type: 'Asia/Tokyo\n' }], { cwd });
    expect(screen.startsWith(asked), screen).toBe(true);
    expect(code, screen).toBe(0);
    const sent = await held(cwd, '.state');
    expect(sent[0]).toMatchObject([{ Size: 1_200_000, Since: '2024-01-02T10:00:00+09:00' }, {}]);
    const commands = below('The same import without questions', screen);
    expect(await paste(commands, cwd)).toMatchObject([{ code: 0 }]);
    expect(await held(cwd, '.again')).toEqual(sent);
  });

  it('without a terminal, is an error that names the column and the flag', async () => {
    const cwd = scratch({ 'c.csv': COMPANIES, 'm.json': mapping });
    const { code, stderr } = await cli(argv, { cwd });
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('profiles: m.json: name the time zone in place of <zone>: Since\n'),
    ]);
    expect(await paste(printedCommands(stderr), cwd)).toMatchObject([{ code: 0 }]);
  });

  it('may be beside the input', async () => {
    const cwd = scratch({ 'c.csv': COMPANIES, 'c.mapping.json': mapping });
    const turns: Turn[] = [
      { at: 'c.mapping.json? [Y/n]: ', type: '\n' },
      { at: ']: ', type: 'UTC\n' },
    ];
    const { code, screen } = await atTerminal(sandbox('c.csv'), turns, { cwd });
    expect(code, screen).toBe(0);
    const [command = ''] = below('The same import without questions', screen);
    expect(onOneLine(command)).toContain('--mapping c.mapping.json --zone UTC');
  });
});

describe('files that this program wrote', () => {
  it('rejects files are not asked about, although a mapping file is beside them', async () => {
    const cwd = scratch({ 'a.csv': 'company_id,n\n,1\na,1\n', 'b.csv': 'company_id,n\n,1\nb,1\n' });
    await cli(sandbox('a.csv', 'b.csv', '--skip-invalid'), { cwd });
    for (const name of ['a', 'b']) expect(readdirSync(cwd)).toContain(`${name}.rejects.csv`);
    writeFileSync(join(cwd, 'profiles.mapping.json'), '{"kind":"users","id":"n"}');
    const { screen } = await atTerminal(sandbox('a.rejects.csv', 'b.rejects.csv'), [], { cwd });
    expect(screen).not.toContain('? [');
    expect(screen).toContain('2 rejected');
  });

  it('a plan and a mapping file are no inputs', async () => {
    const cwd = scratch({ 'a.csv': 'company_id,n\na,1\n', 'a.mapping.json': '{"kind":"companies"}' });
    await cli(sandbox('a.csv', '--save-plan', 'p.json'), { cwd });
    const plan = await atTerminal(sandbox('p.json'), [], { cwd });
    expect([plan.code, plan.screen]).toEqual([
      2,
      expect.stringMatching(
        /^profiles: p\.json: is a saved plan, .*\n {2}to send it:\n {4}profiles apply p\.json/,
      ),
    ]);
    expect(await atTerminal(sandbox('a.mapping.json'), [], { cwd })).toMatchObject({
      code: 2,
      screen: expect.stringMatching(
        /^profiles: a\.mapping\.json: is a mapping file, .*\n {2}name it with --mapping/,
      ),
    });
  });
});

it('without a terminal, the error names a mapping file beside the input and its flag', async () => {
  const mapping = '{"kind":"companies","id":"Record ID"}';
  const cwd = scratch({ 'c.csv': COMPANIES, 'c.mapping.json': mapping });
  const { code, stderr } = await cli(sandbox('c.csv'), { cwd });
  expect(code).toBe(2);
  expect(stderr).toMatch(
    /^profiles: c\.csv: no column user_id or company_id among .*\n {2}if c\.mapping\.json is for it:\n/,
  );
  const [withMapping = ''] = printedCommands(stderr);
  expect(withMapping).toContain('--mapping c.mapping.json');
  expect(await paste([withMapping], cwd)).toMatchObject([{ code: 0 }]);
});

it('a point that may be for thousands is asked about, and is text unless somebody knows', async () => {
  const items: unknown[] = [];
  for (const choice of ['', '1', '2']) {
    const cwd = scratch({ 'c.csv': 'company_id,n\na,841\nb,3.456\n' });
    const turns = [
      { at: 'Number [3]: ', type: `${choice}\n` },
      { at: 'embedded? [Y/n]: ', type: '\n' },
      { at: 'c.mapping.json? [Y/n]: ', type: 'n\n' },
    ];
    const { screen } = await atTerminal(sandbox('c.csv'), turns, { cwd });
    const sent = await held(cwd, '.state');
    items.push(sent[0]);
    await paste(below('The same import without questions', screen), cwd);
    expect(await held(cwd, '.again')).toEqual(sent);
  }
  expect(items).toEqual([
    [
      { company_id: 'a', n: '841' },
      { company_id: 'b', n: '3.456' },
    ],
    [
      { company_id: 'a', n: 841 },
      { company_id: 'b', n: 3.456 },
    ],
    [
      { company_id: 'a', n: 841 },
      { company_id: 'b', n: 3456 },
    ],
  ]);
});

it('what else was found is shown before it is sent', async () => {
  const cwd = scratch({ 'c.csv': 'Record ID,Size,\n1,"1,200,000",x\n2,"3,400,000",y\n' });
  const turns = [
    number(),
    number(),
    all,
    all,
    { at: '[Y/n]: ', type: 'n\n' },
    { at: '[Y/n]: ', type: 'n\n' },
  ];
  const { screen } = await atTerminal(sandbox('c.csv'), turns, { cwd });
  const warning = 'warning: c.csv: column 3 has no name and is left out, with 2 values in it';
  expect(screen).toContain(`${warning}\n2 rows: 2 to send`);
});

it('inspect shows the questions to other programs', async () => {
  const cwd = scratch({ 'c.csv': COMPANIES });
  const { stdout } = await cli(['inspect', 'c.csv', '--json'], { cwd });
  const { questions } = JSON.parse(stdout);
  expect(questions).toMatchObject([
    {
      ask: 'identity',
      path: 'c.csv',
      choices: [{ kind: 'companies', column: 'Record ID' }, { kind: 'users' }],
    },
    { ask: 'keys' },
    { ask: 'columns', choices: [{ column: 'Size' }, { column: 'Since' }] },
    { ask: 'types', choices: [{ column: 'Size', markers: ['-'] }, { type: 'datetime:iso@<zone>' }] },
    { ask: 'zone' },
    { ask: 'markers', choices: [{ text: '-', cells: 1 }] },
  ]);
});
