/** What was mistyped is named, and so is what was meant: commands, flags, words, fields, keys. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/commands/index.js';
import { WORDS } from '../../src/cli/commands/usage.js';
import { VERSION } from '../../src/cli/main.js';
import { cli, scratch } from '../support/cli.js';

const words = (line: string): string[] => line.split(' ').filter(Boolean);

it.each([
  ['config set region eu west', 'config set takes 2 arguments, but 3 were given'],
  ['config path x', 'config path takes no arguments, but "x" was given'],
  ['identify user u-1 c-1', 'identify user takes 1 argument, but 2 were given'],
  ['sandbox show company a b', 'sandbox show takes 2 arguments, but 3 were given'],
  ['state info x', 'state info takes no arguments, but "x" was given'],
  ['history company a b', 'history company takes 1 argument, but 2 were given'],
])('`%s`: a word too many is refused, not ignored', async (line, message) => {
  const { code, stdout, stderr } = await cli(words(line), { cwd: scratch() });
  expect({ code, stdout, first: stderr.split('\n')[0] }).toEqual({
    code: 2,
    stdout: '',
    first: `profiles: ${message}`,
  });
});

describe('a word that is nearly right gets a suggestion', () => {
  it.each([
    ['imprt companies.csv', 'unknown command "imprt"', 'did you mean "profiles import"?'],
    ['Lookup embeds', 'unknown command "Lookup"', 'did you mean "profiles lookups"?'],
    ['config lst', 'unknown command "config lst"', 'did you mean "profiles config list"?'],
    ['identify compny c-1', 'unknown command "identify compny"', 'did you mean "profiles identify company"?'],
    ['sandbox shw', 'unknown command "sandbox shw"', 'did you mean "profiles sandbox show"?'],
    ['help exitcodes', 'no help for "exitcodes"', 'did you mean "profiles help exit-codes"?'],
    ['--regoin eu', 'unknown option --regoin', 'did you mean --region?'],
    ['import --dry-rnu companies.csv', 'unknown option --dry-rnu', 'did you mean --dry-run?'],
    ['lookups embeds --colums id', 'unknown option --colums', 'did you mean --columns?'],
    ['identify user u-1 --compny c-1', 'unknown option --compny', 'did you mean --company?'],
    ['config get region --jsn', 'unknown option --jsn', 'did you mean --json?'],
    ['lookups embds', 'unknown list "embds"', 'did you mean "profiles lookups embeds"?'],
    [
      'lookups user_propertys',
      'unknown list "user_propertys"',
      'did you mean "profiles lookups user-properties"?',
    ],
    ['config list --columns key,orgin', '--columns: unknown field "orgin"', 'did you mean "origin"?'],
    ['lookups embeds --sort -titel', '--sort: unknown field "titel"', 'did you mean "title"?'],
    ['lookups embeds --filter tpye=card', '--filter: unknown field "tpye"', 'did you mean "type"?'],
    ['config get regoin', 'unknown key "regoin"', 'did you mean "region"?'],
    ['config set import.chunksize 10', 'unknown key "import.chunksize"', 'did you mean "import.chunk_size"?'],
    ['config unset tokn', 'unknown key "tokn"', 'did you mean "token"?'],
    ['jobs --refresh --region sandbx', 'unknown region "sandbx" (flag --region)', 'did you mean "sandbox"?'],
    ['completion bsh', 'unknown shell "bsh"', 'did you mean "bash"?'],
    [
      'import companies.csv --map nme=title',
      '--map: companies.csv has no column "nme"',
      'did you mean "name"?',
    ],
    [
      'import companies.csv --format cvs',
      '--format: "cvs" is not one of csv, tsv, json, ndjson, xlsx, parquet',
      'did you mean csv?',
    ],
    [
      'import companies.csv --kind user',
      '--kind: "user" is not one of companies, users',
      'did you mean users?',
    ],
  ])('%s', async (line, message, hint) => {
    const cwd = scratch();
    writeFileSync(join(cwd, 'companies.csv'), 'company_id,name\nc-1,A\n');
    // Commands that ask the service or look at files need to get as far as that.
    const env = { PROFILES_REGION: 'sandbox' };
    const { code, stdout, stderr } = await cli(words(line), { cwd, env });
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: '',
      stderr: `profiles: ${message}\n  ${hint}\n`,
    });
  });
});

describe('habits from other programs lead to the right command', () => {
  it.each([
    ['login', 'profiles config set token'],
    ['init', 'profiles config init'],
    ['upload companies.csv', 'profiles import companies.csv'],
    ['status', 'profiles runs'],
    ['import -v companies.csv', '--debug'],
    ['import companies.csv --verbose', '--debug'],
  ])('%s', async (line, hint) => {
    const { code, stdout, stderr } = await cli(words(line));
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^profiles: unknown (command|option) .*\n {2}/);
    expect(stderr.split('\n')[1]).toContain(hint);
  });
  it('every hint names an existing command', () => {
    const known = COMMANDS.map(({ name }) => name);
    for (const [word, hint] of Object.entries(WORDS)) {
      expect(known).not.toContain(word);
      for (const [, command] of hint.matchAll(/profiles (\w+)/g)) expect(known).toContain(command);
    }
  });
  it.each(['-v', '-V', 'version', '--version'])('%s prints the version', async (word) => {
    expect(await cli([word])).toEqual({ code: 0, stdout: `${VERSION}\n`, stderr: '' });
  });
});

describe('a path is needed', () => {
  it.each([
    [
      'import companies.csv --mapping https://me:hunter2@example.com/m.json',
      '--mapping: this is an address (https://…)',
    ],
    ['import companies.csv --rejects s3://bucket/rejects.csv', '--rejects: this is an address (s3://…)'],
    ['import companies.csv --mapping *.json', '--mapping: "*.json" is a pattern'],
    ['config path --config https://example.com/c.json', '--config: this is an address (https://…)'],
  ])('%s', async (line, message) => {
    const { code, stderr } = await cli(words(line));
    expect(code).toBe(2);
    expect(stderr).toContain(`profiles: ${message}, but `);
    expect(stderr).not.toContain('hunter2');
  });
  it('a file:// URL is a path', async () => {
    const cwd = scratch();
    const { code, stdout } = await cli(
      ['config', 'path', '--config', pathToFileURL(join(cwd, 'a b.json')).href],
      { cwd },
    );
    expect([code, stdout]).toEqual([0, `${join(cwd, 'a b.json')}\n`]);
  });
});

describe('profiles alone', () => {
  it('shows five lines with first steps at a terminal if nothing is set up', async () => {
    const { code, stdout, stderr } = await cli([], { columns: 100 });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.match(/\n/g)).toHaveLength(5);
    for (const text of ['--dry-run', '--region sandbox', 'profiles config init', 'profiles --help']) {
      expect(stdout).toContain(text);
    }
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
  });
  it('shows help if there is a config or an environment, or no terminal', async () => {
    const cwd = scratch();
    await cli(['config', 'set', 'region', 'sandbox'], { cwd });
    const results = [
      await cli([], { cwd, columns: 100 }),
      await cli([], { columns: 100, env: { PROFILES_REGION: 'sandbox' } }),
      await cli([]),
    ];
    for (const { code, stdout } of results)
      expect([code, stdout]).toEqual([0, expect.stringContaining('\nUsage: profiles <command>')]);
  });
});

describe('missing and excess arguments are named, with the correct form', () => {
  it.each([
    [
      'import',
      'missing required argument "input"',
      'profiles import <input...>: a file, folder, quoted pattern, zip:member, https:// URL, or - (stdin)',
    ],
    [
      'lookups',
      'missing required argument "list"',
      'profiles lookups <list>: user-properties, embeds, checklists',
    ],
    ['identify company', 'missing required argument "id"', 'profiles identify company <id>: company_id'],
    [
      'completion',
      'missing required argument "shell"',
      'profiles completion <shell>: bash, zsh, fish, powershell',
    ],
    [
      'sandbox show company',
      'missing required argument "id"',
      'profiles sandbox show <kind> <id>: its identifier',
    ],
    ['identify', 'identify needs a subcommand', 'available subcommands: company, user'],
    ['config', 'config needs a subcommand', 'available subcommands: init, list, get, set, unset, path'],
    ['doctor now', 'doctor takes no arguments, but "now" was given', 'see profiles doctor --help'],
    ['resume a b', 'resume takes 1 argument, but 2 were given', 'profiles resume [run]'],
    ['import --region', 'option --region <name> needs a value', 'see profiles --help'],
    ['import --colour x', 'unknown option --colour', 'see profiles import --help'],
    ['--zzz', 'unknown option --zzz', 'see profiles --help'],
  ])('%s', async (line, message, hint) => {
    const { code, stdout, stderr } = await cli(words(line));
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: '',
      stderr: `profiles: ${message}\n  ${hint}\n`,
    });
  });
});

it.each([['-h'], ['--region', 'sandbox'], ['import', '-h']])('%s %s shows help', async (...argv) => {
  const { code, stdout, stderr } = await cli(argv);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^Usage: profiles/m);
});
