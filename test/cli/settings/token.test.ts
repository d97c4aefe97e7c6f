import { execFileSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { errorWords } from '../../../src/cli/messages.js';
import { readToken, requireToken, resolveSettings, Secret } from '../../../src/cli/settings/index.js';
import { systemClock } from '../../../src/engine/clock.js';
import type { AuthError } from '../../../src/engine/errors.js';
import { home, refusal, settle } from './world.js';

describe('a token is one word', () => {
  it.each([
    ['abc-DEF_123.~+/=', 'abc-DEF_123.~+/='],
    ['  abc\r\n', 'abc'],
    ['\uFEFFabc\n', 'abc'],
  ])('%j is read', (text, expected) => {
    expect(readToken(text, 'here')?.reveal()).toBe(expected);
  });
  it.each(['', ' ', '\r\n', '\uFEFF'])('%j is not a token', (text) => {
    expect(readToken(text, 'here')).toBeNull();
  });
  it.each([
    'SEC RET',
    'SEC\tRET',
    'SEC\nRET',
    'SEC\r\nX-Other: RET',
    'SEC\u00a0RET',
    'SEC\u0000RET',
    'SEC\u001b[2JRET',
    'SECRÈT',
    'Token SECRET',
  ])('%j is refused without being printed', (text) => {
    expect(() => readToken(text, 'PROFILES_TOKEN')).toThrow(
      /^the token from PROFILES_TOKEN contains (white space|a control or non-ASCII character)$/,
    );
  });
});

it('a secret shows its last four characters wherever it is printed', () => {
  const secret = new Secret('0123456789abcdef');
  const printed = [
    String(secret),
    JSON.stringify({ secret }),
    inspect(secret),
    inspect({ deep: { secret } }),
    `${secret}`,
  ];
  for (const text of printed) {
    expect(text).toContain('…cdef');
    expect(text).not.toContain('9abcdef');
  }
  expect(String(new Secret('short'))).toBe('…');
});

describe('--token-file', () => {
  const given = async (content: string, mode = 0o600, env: Record<string, string> = {}) => {
    const { world } = home({ env });
    const path = join(world.cwd, 'token');
    writeFileSync(path, content);
    chmodSync(path, mode);
    return resolveSettings(world, { tokenFile: 'token' });
  };
  it('is read from the working directory, trimmed, and overrides the environment', async () => {
    const settings = await given('token-of-a-file\n', 0o600, { PROFILES_TOKEN: 'token-of-the-environment' });
    expect(settings.token?.reveal()).toBe('token-of-a-file');
    expect(settings.origins.token).toBe('flag --token-file');
  });
  it.each([0o644, 0o640, 0o604, 0o666])('is refused with mode %o', async (mode) => {
    await expect(given('token-of-a-file', mode)).rejects.toThrow(
      /contains a token, but other users can read it/,
    );
  });
  it('is refused if it is empty, missing, or a folder', async () => {
    await expect(given(' \n')).rejects.toThrow('--token-file token: the file is empty');
    const missing = await refusal({ flags: { tokenFile: 'nowhere' } });
    expect(missing).toMatchObject({
      name: 'UsageError',
      message: '--token-file nowhere: no such file',
    });
    const folder = await refusal({ flags: { tokenFile: '.' } });
    expect(folder).toMatchObject({
      name: 'UsageError',
      message: '--token-file .: this is a folder, not a file',
    });
  });
  it.skipIf(process.platform === 'win32')('may be a pipe with any mode', async () => {
    const { world } = home();
    const pipe = join(world.cwd, 'pipe');
    execFileSync('mkfifo', ['-m', '644', pipe]);
    const writing = import('node:fs/promises').then(({ writeFile }) => writeFile(pipe, 'token-of-a-pipe\n'));
    expect((await resolveSettings(world, { tokenFile: pipe })).token?.reveal()).toBe('token-of-a-pipe');
    await writing;
  });
});

it('the error for a missing token names the command that sets it for the account in use', async () => {
  const world = { env: {}, clock: systemClock, stop: new AbortController().signal };
  await expect(requireToken(await settle(), world)).rejects.toThrow(
    expect.objectContaining({ message: 'no token is set' }),
  );
  const settings = await settle({ file: { accounts: { prod: {} } }, flags: { account: 'prod' } });
  try {
    await requireToken(settings, world);
  } catch (error) {
    expect(error).toMatchObject({ exit: 4, message: 'no token is set for account "prod"' });
    const { hint } = errorWords(error as AuthError);
    expect(hint).toContain('profiles config set accounts.prod.token');
    // It would be ignored: the account was chosen by a flag.
    expect(hint).not.toContain('PROFILES_TOKEN');
  }
  expect.assertions(4);
});
