import { describe, expect, it } from 'vitest';
import { splitLine } from '../../../src/cli/commands/completion.js';
import { cli } from '../../support/cli.js';

describe('scripts', () => {
  it.each(['bash', 'zsh', 'fish', 'powershell'])('%s', async (shell) => {
    const { code, stdout, stderr } = await cli(['completion', shell]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('profiles completion complete');
    expect(stdout.endsWith('\n')).toBe(true);
    const json = await cli(['completion', shell, '--json']);
    expect(JSON.parse(json.stdout)).toEqual({ shell, script: stdout.replace(/\n$/, '') });
  });
});

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
