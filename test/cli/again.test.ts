/** Commands to paste: the command line that was typed, with other flags. */
import { expect, test } from 'vitest';
import { type Changes, commandsOf } from '../../src/cli/advice/commands.js';

const typed = (line: string, env = {}) =>
  commandsOf({ argv: line.split(' '), world: { env, platform: 'linux', cwd: '/' } });

test.each<[string, Changes, string]>([
  ['import a.csv --skip-invalid', { plus: ['--skip-invalid'] }, 'import a.csv --skip-invalid'],
  ['import a.csv --canary=5', { plus: ['--canary', '9'] }, 'import a.csv --canary 9'],
  ['import a.csv --set x=1', { plus: ['--set', 'y=2'] }, 'import a.csv --set x=1 --set y=2'],
  ['apply p.json --region eu', { plus: ['--region', 'mine'] }, 'apply p.json --region mine'],
  ['apply p.json --region eu', { without: ['--region'] }, 'apply p.json'],
])('%s with %j', (line, changes, command) => {
  expect(typed(line).again(changes)).toBe(`profiles ${command}`);
});

test('a flag that is removed does not come back from the environment', () => {
  const { again } = typed('apply p.json', { PROFILES_ACCOUNT: 'prod', PROFILES_REGION: 'eu' });
  expect(again({ without: ['--account'] })).toBe('profiles apply p.json --region eu');
});
