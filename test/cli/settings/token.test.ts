import { execFileSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { errorWords } from '../../../src/cli/advice/words.js';
import { readToken, Secret } from '../../../src/cli/settings/sources.js';
import { readTokenFile, requireToken } from '../../../src/cli/settings/token.js';
import type { AuthError } from '../../../src/engine/errors.js';
import { systemClock } from '../../../src/engine/util/clock.js';
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

describe('a file with the token', () => {
  const at = (path: string, origin = 'environment PROFILES_TOKEN_FILE') =>
    readTokenFile({ path, origin }, { platform: 'linux', stop: new AbortController().signal });
  const holding = (content: string, mode = 0o600): string => {
    const path = join(home().world.cwd, 'token');
    writeFileSync(path, content);
    chmodSync(path, mode);
    return path;
  };

  it('is trimmed', async () => {
    expect((await at(holding('token-of-a-file\n'))).reveal()).toBe('token-of-a-file');
  });
  it.each([0o644, 0o640, 0o604, 0o666])('is refused with mode %o', async (mode) => {
    await expect(at(holding('token-of-a-file', mode))).rejects.toThrow(
      /contains a token, but other users can read it/,
    );
  });
  it('is refused if it is empty, missing, or a folder', async () => {
    await expect(at(holding(' \n'))).rejects.toThrow(
      'the file is empty (from environment PROFILES_TOKEN_FILE)',
    );
    await expect(at('/nowhere/token')).rejects.toThrow('/nowhere/token: no such file (from environment');
    await expect(at('/')).rejects.toThrow('/: this is a folder, not a file (from environment');
  });
  it.skipIf(process.platform === 'win32')('may be a pipe with any mode', async () => {
    const pipe = join(home().world.cwd, 'pipe');
    execFileSync('mkfifo', ['-m', '644', pipe]);
    const writing = import('node:fs/promises').then(({ writeFile }) => writeFile(pipe, 'token-of-a-pipe\n'));
    expect((await at(pipe)).reveal()).toBe('token-of-a-pipe');
    await writing;
  });

  const file = { token_file: 'secret', accounts: { prod: { token_file: '/run/prod' } } };
  it('is named by the file, from whose folder it starts, or by the variable', async () => {
    const inFile = await settle({ file });
    expect(inFile.tokenFile?.path).toBe(join(dirname(inFile.configPath), 'secret'));
    expect(inFile.origins.token).toMatch(/config\.json \(token_file\)$/);
    const env = { PROFILES_TOKEN_FILE: '/run/secret' };
    expect(await settle({ file, env })).toMatchObject({
      token: null,
      tokenFile: { path: '/run/secret', origin: 'environment PROFILES_TOKEN_FILE' },
    });
  });
  it('is refused beside another token', async () => {
    const both = { PROFILES_TOKEN: 'token-of-the-environment', PROFILES_TOKEN_FILE: '/run/secret' };
    expect(await refusal({ env: both })).toMatchObject({
      name: 'ConfigError',
      message: 'PROFILES_TOKEN and PROFILES_TOKEN_FILE are both set',
    });
    expect(await refusal({ file: { token: 'a-token-of-the-file', token_file: 'x' } })).toMatchObject({
      message: expect.stringMatching(/token and token_file are both set$/),
    });
  });
  it('an account that a flag chooses makes both variables be ignored, with warnings', async () => {
    const env = { PROFILES_TOKEN: 'token-of-the-environment', PROFILES_TOKEN_FILE: '/run/secret' };
    const settings = await settle({ file, env, flags: { account: 'prod' } });
    expect(settings.tokenFile?.path).toBe('/run/prod');
    expect(settings.warnings).toEqual([
      'PROFILES_TOKEN is ignored: --account prod brings its own token',
      'PROFILES_TOKEN_FILE is ignored: --account prod brings its own token',
    ]);
  });
});

it('the error for a missing token names the command that sets it for the account in use', async () => {
  const world = {
    env: {},
    platform: 'linux',
    clock: systemClock,
    stop: new AbortController().signal,
  } as const;
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
