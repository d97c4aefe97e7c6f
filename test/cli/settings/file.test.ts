import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { errorWords } from '../../../src/cli/advice/words.js';
import { readConfig, writeConfig } from '../../../src/cli/settings/file.js';
import { requireBaseUrl, requireLookupBaseUrl } from '../../../src/cli/settings/hosts.js';
import type { ProfilesError } from '../../../src/engine/errors.js';
import { scratch } from '../../support/cli.js';
import { type Given, refusal, settle } from './world.js';

const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe('a file that cannot be used says where and what to do', () => {
  const rows: [string, Given, string, string | undefined][] = [
    [
      'not JSON',
      { file: '{\n  "region": eu\n}\n' },
      '~/.config/profiles/config.json:2:13: invalid JSON: invalid symbol',
      'fix it, or move the file away and run:\n  profiles config init',
    ],
    [
      'empty',
      { file: '' },
      '~/.config/profiles/config.json:1:1: invalid JSON: value expected',
      'fix it, or move the file away and run:\n  profiles config init',
    ],
    [
      'a comma too many',
      { file: '{\n  "region": "eu",\n}\n' },
      '~/.config/profiles/config.json:3:1: invalid JSON: property name expected',
      'fix it, or move the file away and run:\n  profiles config init',
    ],
    [
      'not an object',
      { file: '[]' },
      '~/.config/profiles/config.json: expected object, received array',
      'profiles help config lists the keys and their values',
    ],
    [
      'an unknown key',
      { file: { regoin: 'eu' } },
      '~/.config/profiles/config.json: unknown key "regoin"',
      'did you mean "region"?',
    ],
    [
      'an unknown import key',
      { file: { import: { chunk_sise: 1 } } },
      '~/.config/profiles/config.json: unknown key "import.chunk_sise"',
      'did you mean "import.chunk_size"?',
    ],
    [
      'an unknown key of an account',
      { file: { accounts: { prod: { regions: { eu: { base_ur: 'x' } } } } } },
      '~/.config/profiles/config.json: unknown key "accounts.prod.regions.eu.base_ur"',
      'did you mean "accounts.prod.regions.eu.base_url"?',
    ],
    [
      'an unknown key that is like nothing',
      { file: { wibble: 1 } },
      '~/.config/profiles/config.json: unknown key "wibble"',
      'profiles help config lists the keys',
    ],
    [
      'a dash for an underscore',
      { file: { import: { 'chunk-size': 1 } } },
      '~/.config/profiles/config.json: unknown key "import.chunk-size"',
      'did you mean "import.chunk_size"?',
    ],
    [
      'a value of the wrong type',
      { file: { import: { chunk_size: '100' } } },
      '~/.config/profiles/config.json: "import.chunk_size": must be a whole number',
      'profiles help config lists the keys and their values',
    ],
    [
      'a duration without unit',
      { file: { import: { retry_delay: '5' } } },
      '~/.config/profiles/config.json: "import.retry_delay": a duration is written like 500ms, 30s, 5m or 2h',
      'profiles help config lists the keys and their values',
    ],
    [
      'a share beyond all rows',
      { file: { import: { max_invalid: '150%' } } },
      '~/.config/profiles/config.json: "import.max_invalid": must be a number of rows or a percentage, like 10 or 2%',
      'profiles help config lists the keys and their values',
    ],
    [
      'a size of nothing',
      { file: { import: { chunk_bytes: '0' } } },
      '~/.config/profiles/config.json: "import.chunk_bytes": must be greater than zero',
      'profiles help config lists the keys and their values',
    ],
    [
      'a cell of nothing',
      { file: { import: { max_cell: '0KiB' } } },
      '~/.config/profiles/config.json: "import.max_cell": must be greater than zero',
      'profiles help config lists the keys and their values',
    ],
    [
      'a delimiter with a line end',
      { file: { import: { delimiter: ';\n' } } },
      '~/.config/profiles/config.json: "import.delimiter": must be one character or several, without quotes and line ends',
      'profiles help config lists the keys and their values',
    ],
    [
      'the quote as delimiter',
      { file: { import: { delimiter: '"' } } },
      '~/.config/profiles/config.json: "import.delimiter": must be one character or several, without quotes and line ends',
      'profiles help config lists the keys and their values',
    ],
    [
      'polls without a pause',
      { file: { interval: '0.0s' } },
      '~/.config/profiles/config.json: "interval": must be greater than zero',
      'profiles help config lists the keys and their values',
    ],
    [
      'hosts for the sandbox',
      { file: { regions: { sandbox: { base_url: 'https://a.example.com' } } } },
      '~/.config/profiles/config.json: "regions.sandbox": the sandbox is embedded and has no hosts to set',
      'profiles help config lists the keys and their values',
    ],
    [
      'a name with a dot',
      { file: { accounts: { 'a.b': {} } } },
      '~/.config/profiles/config.json: "accounts.a.b": a name consists of letters, digits, "-" and "_", and starts with a letter or digit',
      'profiles help config lists the keys and their values',
    ],
    [
      'the name of a prototype',
      { file: '{"accounts":{"__proto__":{"token":"x"}}}' },
      '~/.config/profiles/config.json: "__proto__" cannot be a name',
      undefined,
    ],
    [
      'a bad host in use',
      { file: { region: 'eu', regions: { eu: { base_url: 'eu example' } } } },
      '~/.config/profiles/config.json: regions.eu.base_url: "eu example" is not a URL',
      'write it like https://api.example.com',
    ],
    [
      'a token in a file that others can read',
      { file: { token: 'token-of-the-top-0000' }, mode: 0o644 },
      '~/.config/profiles/config.json contains a token, but other users can read it (mode 0644)',
      'chmod 600 ~/.config/profiles/config.json',
    ],
    [
      'a token of an account in such a file',
      { file: { accounts: { a: { token: 'token-of-a-0000' } } }, mode: 0o660 },
      '~/.config/profiles/config.json contains a token, but other users can read it (mode 0660)',
      'chmod 600 ~/.config/profiles/config.json',
    ],
    [
      'a token of a region in such a file',
      { file: { regions: { eu: { token: 'token-of-eu-0000' } } }, mode: 0o640 },
      '~/.config/profiles/config.json contains a token, but other users can read it (mode 0640)',
      'chmod 600 ~/.config/profiles/config.json',
    ],
    [
      'a program to run, named in a file that others can change',
      { file: { accounts: { a: { token_command: ['pass'] } } }, mode: 0o664 },
      '~/.config/profiles/config.json names a program to run (token_command), but other users can change it (mode 0664)',
      'chmod 600 ~/.config/profiles/config.json',
    ],
    [
      'a program that is one text',
      { file: { token_command: 'pass show profiles' } },
      '~/.config/profiles/config.json: "token_command": must be an array of a program and its arguments, like ["pass","show","profiles"]',
      'profiles help config lists the keys and their values',
    ],
    [
      'a program without a name',
      { file: { token_command: [] } },
      '~/.config/profiles/config.json: "token_command": must be an array of a program and its arguments, like ["pass","show","profiles"]',
      'profiles help config lists the keys and their values',
    ],
    [
      'a token, and a program that prints another',
      { file: { accounts: { a: { token: 'token-of-a-0000', token_command: ['pass'] } }, account: 'a' } },
      '~/.config/profiles/config.json: accounts.a.token and accounts.a.token_command are both set',
      'keep one of them; remove the other:\n  profiles config unset accounts.a.token\n  profiles config unset accounts.a.token_command',
    ],
    [
      'a host at the top, which belongs to no region',
      { file: { base_url: 'https://a.example.com' } },
      '~/.config/profiles/config.json: unknown key "base_url"',
      expect.any(String) as unknown as string,
    ],
    [
      'a file that a flag names and that is not there',
      { flags: { config: 'nowhere.json' } },
      '~/nowhere.json: no such file (from flag --config)',
      'create it with:\n  profiles config init',
    ],
    ['a folder', { flags: { config: '.' } }, '~: this is a folder, not a file', undefined],
  ];
  it.each(rows)('%s', async (_, given, message, hint) => {
    expect(await refusal(given)).toEqual({ name: 'ConfigError', message, hint });
  });
  it('an error in the text does not repeat the text, which may be a token', async () => {
    const error = await refusal({ file: '{"token": "token-of-the-top-0000"x}' });
    expect(JSON.stringify(error)).not.toContain('token-of-the-top');
  });
});

describe('what is accepted', () => {
  it('a file that others can read, if it has no token', async () => {
    expect((await settle({ file: { region: 'eu' }, mode: 0o644 })).region).toBe('eu');
  });
  it('modes are ignored on Windows', async () => {
    const path = join(scratch(), 'config.json');
    writeFileSync(path, '{"token":"token-of-the-top-0000"}');
    chmodSync(path, 0o644);
    expect((await readConfig(path, { platform: 'win32' })).content.token).toBe('token-of-the-top-0000');
  });
  it('a byte order mark and $schema', async () => {
    expect((await settle({ file: `\uFEFF${JSON.stringify({ $schema: 'x', region: 'eu' })}` })).region).toBe(
      'eu',
    );
  });
  it.each([
    { max_invalid: '100%' },
    { max_invalid: '0.5%' },
    { max_invalid: 0 },
    { chunk_bytes: '4MiB' },
    { chunk_bytes: '512 k' },
    { max_cell: '1048576' },
    { delimiter: ';' },
    { delimiter: ' ' },
    { delimiter: '\t' },
    { delimiter: '\\t' },
    { delimiter: 'tab' },
    { delimiter: '||' },
    { delimiter: '\\x01' },
    { on_failure: 'isolate' },
    { wait: '0s' },
  ])('import.* %j', async (values) => {
    const { importDefaults } = await settle({ file: { import: values } });
    expect(Object.values(importDefaults)).toEqual(Object.values(values));
  });
  it('a bad host of a region that is not in use', async () => {
    expect((await settle({ file: { regions: { eu: { base_url: 'wrong' } } } })).region).toBe('default');
  });
});

describe('writing', () => {
  it('makes a complete, private file in a private folder, and leaves no other file', async () => {
    const path = join(scratch(), 'a', 'b', 'config.json');
    await writeConfig(path, { region: 'eu' });
    expect([mode(path), mode(dirname(path)), mode(dirname(dirname(path)))]).toEqual(['600', '700', '700']);
    expect(readFileSync(path, 'utf8')).toBe('{\n  "region": "eu"\n}\n');
    expect(readdirSync(dirname(path))).toEqual(['config.json']);
  });
  it('makes a readable file private again', async () => {
    const path = join(scratch(), 'config.json');
    writeFileSync(path, '{}');
    chmodSync(path, 0o644);
    await writeConfig(path, { region: 'eu' });
    expect(mode(path)).toBe('600');
  });
  it('replaces the file in one step: a reader that opened the old one reads it to its end', async () => {
    const path = join(scratch(), 'config.json');
    await writeConfig(path, { region: 'eu' });
    const before = statSync(path).ino;
    await writeConfig(path, { region: 'default' });
    expect(statSync(path).ino).not.toBe(before);
  });
  it('follows a link, as folders of dotfiles have them', async () => {
    const folder = scratch();
    const real = join(folder, 'real.json');
    const link = join(folder, 'link.json');
    writeFileSync(real, '{}');
    symlinkSync(real, link);
    await writeConfig(link, { region: 'eu' });
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect((await readConfig(real, { platform: 'linux' })).content).toEqual({ region: 'eu' });
  });
  it('a failure leaves the old file and no other', async () => {
    const folder = scratch();
    mkdirSync(join(folder, 'config.json'));
    await expect(writeConfig(join(folder, 'config.json'), {})).rejects.toThrow(
      /config\.json: cannot be written: this is a folder/,
    );
    expect(readdirSync(folder)).toEqual(['config.json']);
    await expect(writeConfig(join(folder, 'config.json', 'x\0y'), {})).rejects.toThrow(/cannot be written/);
    writeFileSync(join(folder, 'file'), '');
    await expect(writeConfig(join(folder, 'file', 'config.json'), {})).rejects.toThrow(
      /part of this path is a file, not a folder/,
    );
    expect(existsSync(join(folder, 'file', 'config.json'))).toBe(false);
  });
});

it('a region without hosts shows the two lines to type', () => {
  const bare = { region: 'eu', baseUrl: null, lookupBaseUrl: null, otherRegions: [] };
  for (const [require, what] of [
    [requireBaseUrl, 'host'],
    [requireLookupBaseUrl, 'lookup host'],
  ] as const) {
    try {
      require(bare);
    } catch (error) {
      expect(error).toMatchObject({ exit: 2, message: `region "eu" has no ${what}, and none is built in` });
      const lines = errorWords(error as ProfilesError).hint!.split('\n');
      expect(lines).toContain('  profiles config set regions.eu.base_url https://…');
      expect(lines).toContain('  profiles config set regions.eu.lookup_base_url https://…');
    }
  }
  expect.assertions(6);
});
