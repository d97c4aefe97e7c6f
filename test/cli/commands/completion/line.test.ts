import { expect, it } from 'vitest';
import { splitLine } from '../../../../src/cli/commands/completion.js';

it.each<[string, string[]]>([
  ['profiles', ['profiles']],
  ['profiles ', ['profiles', '']],
  ['profiles  job\tabc', ['profiles', 'job', 'abc']],
  ['profiles job abc ', ['profiles', 'job', 'abc', '']],
  [`profiles import "my file.csv" 'x y`, ['profiles', 'import', 'my file.csv', 'x y']],
  [`profiles import my\\ file.csv --k`, ['profiles', 'import', 'my file.csv', '--k']],
  [`profiles import "a\\"b" 'c\\'`, ['profiles', 'import', 'a"b', 'c\\']],
  [`profiles --config= ''`, ['profiles', '--config=', '']],
  ['profiles job $(touch x) `y`', ['profiles', 'job', '$(touch', 'x)', '`y`']],
  ['profiles job \\', ['profiles', 'job', '\\']],
])('%s', (line, words) => {
  expect(splitLine(line)).toEqual(words);
});
