import { execFileSync, spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { Commands } from '../../src/cli/advice/commands.js';
import { commandLines, powerShellWord, shellWord } from '../../src/cli/advice/shell.js';

test.each([
  ['companies.csv', 'companies.csv'],
  ['urn:profiles:job:default/712b5eea-1', 'urn:profiles:job:default/712b5eea-1'],
  ['my companies.csv', "'my companies.csv'"],
  ["it's.csv", "'it'\\''s.csv'"],
  ['a$(b)`c`;d&e|f>g*h?[i]~j\\k"l\n', "'a$(b)`c`;d&e|f>g*h?[i]~j\\k\"l\n'"],
  ['~/c.csv', "'~/c.csv'"],
  ['Łódź.csv', "'Łódź.csv'"],
  ['', "''"],
  ["a\u001b[2J%s\\ it's.csv", `"$(printf 'a\\033[2J%%s\\134 it'\\''s.csv')"`],
  ['-Acme\u200b\nLtd', `"$(printf '\\055Acme\\342\\200\\213\\012Ltd')"`],
])('%j is %s, and a shell reads it back', (text, word) => {
  expect(shellWord(text)).toBe(word);
  expect(execFileSync('sh', ['-c', `printf %s ${word}`], { encoding: 'utf8' })).toBe(text);
});

const SHELLS = (['bash', 'zsh', 'fish'] as const).filter(
  (shell) => spawnSync(shell, ['--version']).status === 0,
);

test.for(SHELLS)('%s reads a long command that breaks at its options, whatever its words are', (shell) => {
  const words = [
    ...[
      'import',
      "it's a folder/export 1.csv",
      '--type',
      'Annual Revenue=money',
      '--map',
      'a\\b=c\\',
      '--set',
    ],
    ...[
      'note=50% $HOME `id` !x "q" \\\\',
      '--where',
      '=x',
      '--type',
      '*=string',
      '--set',
      "tab=a\tb\\'c",
      '-o',
      'retries=3',
    ],
  ];
  const [program = '', print = ''] = [
    process.execPath,
    'console.log(JSON.stringify(process.argv.slice(1)))',
  ].map(shellWord);
  const lines = commandLines(`${program} -e ${print} -- ${words.map(shellWord).join(' ')}`, 'linux');
  expect(lines.length).toBeGreaterThan(3);
  for (const line of lines.slice(0, -1)) expect(line).toMatch(/ \\$/);
  for (const line of lines.slice(1)) expect(line).toMatch(/^ {2}-/);
  // Pasted with the indentation that it is printed with.
  const pasted = lines.map((line) => `    ${line}`).join('\n');
  expect(JSON.parse(execFileSync(shell, ['-c', pasted], { encoding: 'utf8' }))).toEqual(words);
});

describe('PowerShell', () => {
  // about_Parsing, about_Quoting_Rules: what is single-quoted is itself, and `''` is one quote.
  test.each([
    ['companies.csv', 'companies.csv'],
    ['C:\\exports\\companies.csv', 'C:\\exports\\companies.csv'],
    ['--dry-run', '--dry-run'],
    ['-o chunk_bytes=1.5MB', "'-o chunk_bytes=1.5MB'"],
    ['my companies.csv', "'my companies.csv'"],
    ["it's.csv", "'it''s.csv'"],
    ['it\u2019s.csv', "'it\u2019\u2019s.csv'"],
    ['a,b', "'a,b'"],
    ['@x', "'@x'"],
    ['$(id)', "'$(id)'"],
    ['%PATH%', "'%PATH%'"],
    ['a;b|c&d`e', "'a;b|c&d`e'"],
    ['', "''"],
    ['a\nb$c"', '"a$([char]10)b`$c`""'],
    ['\u{e0001}', '"$([char]56128)$([char]56321)"'],
  ])('%j is %s', (text, word) => {
    expect(powerShellWord(text)).toBe(word);
  });

  test('commands are quoted for PowerShell on Windows', () => {
    const env = { APPDATA: 'C:\\a', LOCALAPPDATA: 'C:\\l', PROFILES_ACCOUNT: 'prod', PROFILES_TOKEN: 'x' };
    const world = { env, platform: 'win32' as const, cwd: 'C:\\work' };
    const { command, again } = new Commands({ argv: ['import', "it's.csv", '--kind', 'users'], world });
    expect(again({})).toBe("$env:PROFILES_ACCOUNT='prod'; profiles import 'it''s.csv' --kind users");
    expect(command('help', 'exit-codes')).toBe('profiles help exit-codes');
  });
});
