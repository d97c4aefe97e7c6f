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
import { requireBaseUrl, requireLookupBaseUrl } from '../../../src/cli/settings/index.js';
import type { ProfilesError } from '../../../src/engine/errors.js';
import { scratch } from '../../support/cli.js';
import { refusal, settle } from './world.js';

const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8);

const KEYS = 'profiles help config lists the keys and their values';
const INIT = 'fix it, or move the file away and run:\n  profiles config init';
const FORM = 'must be one character or several, without quotes and line ends';
const PROGRAM = 'must be an array of a program and its arguments, like ["pass","show","profiles"]';
const NAMED = 'a name consists of letters, digits, "-" and "_", and starts with a letter or digit';
const CHMOD = 'chmod 600 ~/.config/profiles/config.json';
const inImport = (name: string, value: unknown): string => JSON.stringify({ import: { [name]: value } });

describe('a file that cannot be used says where and what to do', () => {
  it.each<[text: string, message: string, hint?: string, mode?: number]>([
    ['{\n  "region": eu\n}\n', ':2:13: invalid JSON: invalid symbol', INIT],
    ['', ':1:1: invalid JSON: value expected', INIT],
    ['{\n  "region": "eu",\n}\n', ':3:1: invalid JSON: property name expected', INIT],
    ['[]', ': expected object, received array', KEYS],
    ['{"regoin":"eu"}', ': unknown key "regoin"', 'did you mean "region"?'],
    [inImport('chunk_sise', 1), ': unknown key "import.chunk_sise"', 'did you mean "import.chunk_size"?'],
    [
      '{"accounts":{"prod":{"regions":{"eu":{"base_ur":"x"}}}}}',
      ': unknown key "accounts.prod.regions.eu.base_ur"',
      'did you mean "accounts.prod.regions.eu.base_url"?',
    ],
    ['{"wibble":1}', ': unknown key "wibble"', 'profiles help config lists the keys'],
    [inImport('chunk-size', 1), ': unknown key "import.chunk-size"', 'did you mean "import.chunk_size"?'],
    [inImport('chunk_size', '100'), ': "import.chunk_size": must be a whole number', KEYS],
    [
      inImport('retry_delay', '5'),
      ': "import.retry_delay": a duration is written like 500ms, 30s, 5m or 2h',
      KEYS,
    ],
    [
      inImport('max_invalid', '150%'),
      ': "import.max_invalid": must be a number of rows or a percentage, like 10 or 2%',
      KEYS,
    ],
    [inImport('chunk_bytes', '0'), ': "import.chunk_bytes": must be greater than zero', KEYS],
    [inImport('max_cell', '0KiB'), ': "import.max_cell": must be greater than zero', KEYS],
    [inImport('delimiter', ';\n'), `: "import.delimiter": ${FORM}`, KEYS],
    [inImport('delimiter', '"'), `: "import.delimiter": ${FORM}`, KEYS],
    ['{"interval":"0.0s"}', ': "interval": must be greater than zero', KEYS],
    [
      '{"regions":{"sandbox":{"base_url":"https://a.example.com"}}}',
      ': "regions.sandbox": the sandbox is embedded and has no hosts to set',
      KEYS,
    ],
    ['{"accounts":{"a.b":{}}}', `: "accounts.a.b": ${NAMED}`, KEYS],
    ['{"accounts":{"__proto__":{"token":"x"}}}', ': "__proto__" cannot be a name'],
    [
      '{"region":"eu","regions":{"eu":{"base_url":"eu example"}}}',
      ': regions.eu.base_url: "eu example" is not a URL',
      'write it like https://api.example.com',
    ],
    [
      '{"token":"token-of-the-top-0000"}',
      ...([' contains a token, but other users can read it (mode 0644)', CHMOD, 0o644] as const),
    ],
    [
      '{"accounts":{"a":{"token":"token-of-a-0000"}}}',
      ...([' contains a token, but other users can read it (mode 0660)', CHMOD, 0o660] as const),
    ],
    [
      '{"regions":{"eu":{"token":"token-of-eu-0000"}}}',
      ...([' contains a token, but other users can read it (mode 0640)', CHMOD, 0o640] as const),
    ],
    [
      '{"accounts":{"a":{"token_command":["pass"]}}}',
      ' names a program to run (token_command), but other users can change it (mode 0664)',
      ...([CHMOD, 0o664] as const),
    ],
    ['{"token_command":"pass show profiles"}', `: "token_command": ${PROGRAM}`, KEYS],
    ['{"token_command":[]}', `: "token_command": ${PROGRAM}`, KEYS],
    [
      '{"account":"a","accounts":{"a":{"token":"token-of-a-0000","token_command":["pass"]}}}',
      ': accounts.a.token and accounts.a.token_command are both set',
      'keep one of them; remove the other:\n  profiles config unset accounts.a.token\n  profiles config unset accounts.a.token_command',
    ],
  ])('%j%s', async (file, message, hint, mode = 0o600) => {
    const name = 'ConfigError';
    expect(await refusal({ file, mode })).toEqual({
      ...{ name, message: `~/.config/profiles/config.json${message}`, hint },
    });
  });
  it('a host at the top, which belongs to no region', async () => {
    const { message } = await refusal({ file: { base_url: 'https://a.example.com' } });
    expect(message).toContain('unknown key "base_url"');
  });
  it('a file that a flag names and that is not there, or is a folder', async () => {
    const missing = '~/nowhere.json: no such file (from flag --config)';
    const hint = 'create it with:\n  profiles config init';
    expect(await refusal({ flags: { config: 'nowhere.json' } })).toMatchObject({ message: missing, hint });
    expect((await refusal({ flags: { config: '.' } })).message).toBe('~: this is a folder, not a file');
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
  it.each<[key: string, ...values: unknown[]]>([
    ['max_invalid', '100%', '0.5%', 0],
    ['chunk_bytes', '4MiB', '512 k'],
    ['max_cell', '1048576'],
    ['delimiter', ';', ' ', '\t', '\\t', 'tab', '||', '\\x01'],
    ['on_failure', 'isolate'],
    ['wait', '0s'],
  ])('import.%s', async (key, ...values) => {
    for (const value of values) {
      const { importDefaults } = await settle({ file: { import: { [key]: value } } });
      expect(Object.values(importDefaults)).toEqual([value]);
    }
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
