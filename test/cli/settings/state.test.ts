/** Where the state is, and that a password in its URL is never shown. */
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { cli, scratch } from '../../support/cli.js';
import { type Given, refusal, settle } from './world.js';

const URL = 'postgres://loader@db.test/crm?schema=profiles';
const SECRET = 'postgres://loader:Hush/99@db.test/crm';

async function seen(given: Given): Promise<[state: string, origin: string | undefined]> {
  const { state, origins, configPath } = await settle(given);
  const home = configPath.replace(/\/\.config.*$/, '');
  const value = state.kind === 'sqlite' ? `folder ${state.folder}` : state.url.reveal();
  return [value.replace(home, '~'), origins.state?.replace(/^.*config\.json/, 'file')];
}

describe('the location of the state', () => {
  const accounts = { prod: { state: 'postgres://loader@prod.test/crm' }, bare: {} };
  const rows: [string, Given, state: string, origin: string][] = [
    ['in the state folder', {}, 'folder ~/.local/state/profiles', 'default'],
    ['by the flag', { flags: { state: URL }, env: { PROFILES_STATE: '/x' } }, URL, 'flag --state'],
    [
      'by the variable',
      { env: { PROFILES_STATE: SECRET }, file: { state: '/x' } },
      SECRET,
      'environment PROFILES_STATE',
    ],
    ['by the file', { file: { state: SECRET } }, SECRET, 'file (state)'],
    [
      'by the account',
      { file: { state: '/x', accounts, account: 'prod' } },
      'postgres://loader@prod.test/crm',
      'file (accounts.prod.state)',
    ],
    [
      'by the top for an account without one',
      { file: { state: '/x', accounts, account: 'bare' } },
      'folder /x',
      'file (state)',
    ],
    ['as a path', { env: { PROFILES_STATE: 'a b' } }, 'folder ~/a b', 'environment PROFILES_STATE'],
    [
      'as a folder of SQLite',
      { env: { PROFILES_STATE: 'sqlite:data' } },
      'folder ~/data',
      'environment PROFILES_STATE',
    ],
    [
      'as a folder of SQLite with slashes',
      { env: { PROFILES_STATE: 'sqlite:///data' } },
      'folder /data',
      'environment PROFILES_STATE',
    ],
  ];
  it.each(rows)('%s', async (_, given, state, origin) => {
    expect(await seen(given)).toEqual([state, origin]);
  });

  it.each([
    ['beside a database, the machine has its own folder', { flags: { state: URL } }, '/own'],
    ['a folder of the flag holds everything', { flags: { state: '/all' } }, '/all'],
    ['so does one of the file', { file: { state: '/all' } }, '/all'],
  ] as [string, Given, string][])('%s', async (_, given, folder) => {
    const env = { PROFILES_STATE_DIR: '/own' };
    expect((await settle({ ...given, env })).stateDir).toBe(folder);
  });

  it.each([
    [
      'a flag with a password',
      { flags: { state: SECRET } },
      'UsageError',
      '--state: a password on the command line',
    ],
    [
      'a flag with a password as a parameter',
      { flags: { state: 'postgresql://h/d?password=Hush' } },
      'UsageError',
      '--state: a password',
    ],
    [
      'another database',
      { env: { PROFILES_STATE: 'mysql://u:Hush@h/d' } },
      'ConfigError',
      'PROFILES_STATE: mysql is not',
    ],
    ['no directory', { flags: { state: 'sqlite:' } }, 'UsageError', '--state: the directory is missing'],
    [
      'a file that others can read, with a password',
      { file: { state: SECRET }, mode: 0o644 },
      'ConfigError',
      'contains a password, but other users can read it (mode 0644)',
    ],
  ] as [string, Given, string, string][])('refused: %s', async (_, given, name, message) => {
    const found = await refusal(given);
    expect([found.name, found.message]).toEqual([name, expect.stringContaining(message)]);
    expect(JSON.stringify(found)).not.toContain('Hush');
  });

  it('a file without a password may be read by others', async () => {
    expect((await seen({ file: { state: URL }, mode: 0o644 }))[0]).toBe(URL);
  });

  it('settings that are printed do not show it', async () => {
    const settings = await settle({ env: { PROFILES_STATE: SECRET } });
    expect(inspect(settings, { depth: 9 }) + JSON.stringify(settings)).not.toContain('Hush');
  });
});

describe('commands', () => {
  const env = { PROFILES_STATE: SECRET };

  it('config list shows the URL without it', async () => {
    const { stdout } = await cli(['config', 'list', '--json'], { env });
    expect(JSON.parse(stdout)).toContainEqual({
      key: 'state',
      value: 'postgres://loader:…@db.test/crm',
      origin: 'environment PROFILES_STATE',
    });
  });

  it('config set refuses one, and keeps a URL without', async () => {
    const cwd = scratch();
    const refused = await cli(['config', 'set', 'state', SECRET], { cwd });
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('PGPASSWORD')]);
    expect(refused.stderr).not.toContain('Hush');
    expect((await cli(['config', 'set', 'state', URL], { cwd })).code).toBe(0);
    expect((await cli(['config', 'get', 'state'], { cwd })).stdout).toBe(`${URL}\n`);
  });
});
