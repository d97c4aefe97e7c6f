/** The API key is in nothing that any command prints or leaves behind; what rows hold is in no log and in no state. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cli, scratch } from '../support/cli.js';
import { atTerminal } from './commands/terminal.js';
import { INVOCATIONS, WRONG_TOKEN } from './invocations.js';
import { CANARY, makePlace, type Place, run, TOKEN, type TokenSource } from './place.js';
import { saidOf } from './said.js';

let place: Place;
beforeAll(async () => {
  place = await makePlace();
});
afterAll(() => place.stop());

/** Names of the files below a folder that hold the text, as bytes. */
function filesWith(text: string, folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => readFileSync(file).includes(text))
    .map((file) => relative(folder, file))
    .sort();
}

const KEEPS_TOKEN = ['.config/profiles/config.json', 'token.txt'];
/** What one rehearses with, and the stdin of a run that can be resumed. */
const KEEPS_ROWS = /^(sandbox\.db|spool\/)/;

const ways: [TokenSource, readonly string[]][] = [
  ['environment', ['--debug', '--json']],
  ['config', ['--debug']],
  ['file', ['--debug']],
];

describe.each(ways)('a token from the %s, %j', (token, flags) => {
  it.each(INVOCATIONS.map((invocation) => [`${invocation.line} -> ${invocation.ends}`, invocation] as const))(
    '%s',
    async (_, invocation) => {
      const { code, stdout, stderr, folder } = await run(place, invocation, { token, flags, inGitHub: true });
      expect({ code, stderr }).toEqual({ code: invocation.ends, stderr: saidOf(invocation) });
      expect(stdout + stderr).not.toContain(TOKEN);
      expect(stdout + stderr).not.toContain(WRONG_TOKEN);
      expect(filesWith(TOKEN, folder).filter((file) => !KEEPS_TOKEN.includes(file))).toEqual([]);
      expect(filesWith(WRONG_TOKEN, folder)).toEqual([]);

      const log = stderr.split('\n').filter((line) => line.startsWith('debug:'));
      expect(log.join('\n')).not.toContain(CANARY);
      const state = filesWith(CANARY, join(folder, '.state'));
      expect(state.filter((file) => !KEEPS_ROWS.test(file))).toEqual([]);
    },
  );
});

describe('a token typed at a prompt', () => {
  it.each([
    [['config', 'set', 'token'], [{ at: 'API key (hidden): ', type: `${TOKEN}\n` }]],
    [
      ['config', 'init', '--no-check', '--region', 'eu', '--base-url', 'https://api.example.com'],
      [
        { at: 'Host for lookup lists (https://…): ', type: 'https://lookups.example.com\n' },
        { at: 'API key, hidden as you type [none]: ', type: `${TOKEN}\n` },
      ],
    ],
  ])('%j', async (argv, turns) => {
    const cwd = scratch();
    const { code, stdout, screen } = await atTerminal([...argv, '--debug', '--json'], turns, { cwd });
    expect(code).toBe(0);
    expect(stdout + screen).not.toContain(TOKEN);
    expect(filesWith(TOKEN, cwd)).toEqual(['.config/profiles/config.json']);
    for (const line of [
      'config list',
      'config list --json',
      'config get token',
      'doctor -o request_timeout=10ms',
    ]) {
      const shown = await cli([...line.split(' '), '--debug'], { cwd });
      expect(shown.stdout).toContain(`…${TOKEN.slice(-4)}`);
      expect(shown.stdout + shown.stderr).not.toContain(TOKEN);
    }
  });
});

it('the test can find a secret: the token is in its file, and rows are in a rehearsal', () => {
  const folder = place.folder();
  expect(filesWith(TOKEN, folder)).toEqual(['token.txt']);
  expect(filesWith(CANARY, join(folder, '.state'))).toContainEqual(expect.stringMatching(KEEPS_ROWS));
});
