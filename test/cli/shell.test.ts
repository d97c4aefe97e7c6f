import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { shellWord } from '../../src/cli/shell.js';

test.each([
  ['companies.csv', 'companies.csv'],
  ['urn:profiles:job:default/712b5eea-1', 'urn:profiles:job:default/712b5eea-1'],
  ['my companies.csv', "'my companies.csv'"],
  ["it's.csv", "'it'\\''s.csv'"],
  ['a$(b)`c`;d&e|f>g*h?[i]~j\\k"l\n', "'a$(b)`c`;d&e|f>g*h?[i]~j\\k\"l\n'"],
  ['~/c.csv', "'~/c.csv'"],
  ['Łódź.csv', "'Łódź.csv'"],
  ['', "''"],
  ["a\u001b[2J%s\\ it's.csv", `"$(printf -- 'a\\033[2J%%s\\\\ it'\\''s.csv')"`],
  ['-Acme\u200b\nLtd', `"$(printf -- '-Acme\\342\\200\\213\\012Ltd')"`],
])('%j is %s, and a shell reads it back', (text, word) => {
  expect(shellWord(text)).toBe(word);
  expect(execFileSync('sh', ['-c', `printf %s ${word}`], { encoding: 'utf8' })).toBe(text);
});
