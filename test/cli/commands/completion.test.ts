import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import TEXTS from '../../../src/cli/commands/commands.json' with { type: 'json' };
import { splitLine } from '../../../src/cli/commands/completion.js';
import { cli, scratch } from '../../support/cli.js';
import { knownMachine } from './completion/known.js';

interface Offer {
  values: string[];
  directive: number;
}

/** What is offered where these words end. */
async function offer(words: string[], cwd: string): Promise<Offer> {
  const { code, stdout, stderr } = await cli(['completion', 'complete', '--', ...words], { cwd });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const lines = stdout.trimEnd().split('\n');
  const directive = Number(lines.pop()!.slice(1));
  return { values: lines.map((line) => line.split('\t')[0]!), directive };
}

const NO_FILES = 4;

describe('what is offered', () => {
  const cwd = knownMachine();
  const APAC = ['base_url', 'lookup_base_url', 'token'].map((key) => `regions.apac.${key}`);
  const rows: [words: string[], values: string[], directive: number][] = [
    [['conf'], ['config'], NO_FILES],
    [['jo'], ['job', 'jobs'], NO_FILES],
    [['config', 'l'], ['list'], NO_FILES],
    [['lookups', ''], TEXTS.lookups.words['<list>'].split(', '), NO_FILES],
    [['lookups', 'emb'], ['embeds'], NO_FILES],
    [['lookups', 'embeds', ''], [], NO_FILES],
    [['lookups', 'embeds', '--cs'], ['--csv'], NO_FILES],
    [['--region', 'a'], ['apac'], NO_FILES],
    [['--region=sand'], ['sandbox'], NO_FILES],
    [['jobs', '--region', ''], ['default', 'eu', 'sandbox', 'apac'], NO_FILES],
    [['jobs', '--account', 'prod'], ['production'], NO_FILES],
    [['job', ''], [], NO_FILES],
    [['import', ''], [], 0],
    [['import', 'x.csv', ''], [], 0],
    [['import', '--mapping', ''], [], 0],
    [['import', '--mapping=m'], [], 0],
    [['import', '--chu'], ['--chunk-size'], NO_FILES],
    [['import', '--no-wa'], ['--no-wait'], NO_FILES],
    [['import', '--kind', ''], ['companies', 'users'], NO_FILES],
    [['import', '--json', '--kind=u'], ['users'], NO_FILES],
    [['import', 'companies.csv', '--id', ''], [], NO_FILES],
    [['import', '-o', 'chunk_b'], ['chunk_bytes='], NO_FILES + 2],
    [['import', '--', '--k'], [], 0],
    [['config', 'set', 'token_f'], ['token_file'], NO_FILES],
    [['config', 'set', 'regions.ap'], APAC, NO_FILES],
    [['completion', ''], ['bash', 'zsh', 'fish', 'powershell'], NO_FILES],
    [['help', 'e'], ['exit-codes', 'environment'], NO_FILES],
    [['no-such-command', ''], [], NO_FILES],
    [['--no-such-flag', 'doc'], ['doctor'], NO_FILES],
  ];
  it.each(rows)('%j', async (words, values, directive) => {
    expect(await offer(words, cwd)).toEqual({ values, directive });
  });

  it('every command, at an empty line, with what it does', async () => {
    const { stdout } = await cli(['completion', 'complete', '--', ''], { cwd });
    expect(stdout).toMatch(/^import\tplan, send/m);
    expect(stdout).not.toMatch(/^complete\t/m);
  });
  it('global flags behind a command, once each, and its own', async () => {
    const { values } = await offer(['import', '-'], cwd);
    expect(values).toEqual(expect.arrayContaining(['--chunk-size', '--region', '--json', '--help']));
    expect(new Set(values).size).toBe(values.length);
  });
  it('not the flags of the server behind a subcommand of the sandbox', async () => {
    const { values } = await offer(['sandbox', 'reset', '-'], cwd);
    expect(values).toEqual(expect.arrayContaining(['--data', '--json']));
    expect(values).not.toContain('--memory');
  });
  it('a whole line works like words', async () => {
    const line = 'profiles --region eu lookups emb';
    const { stdout } = await cli(['completion', 'complete', '--line', line], { cwd });
    expect(stdout).toMatch(/^embeds\t\n:4\n$/);
  });
  it('the config that the line names', async () => {
    const words = ['--config', join(cwd, '.config', 'profiles', 'config.json')];
    expect((await offer([...words, 'jobs', '--region', 'ap'], scratch())).values).toEqual(['apac']);
  });
});

it('a machine without config gets no suggestions, no messages, and no files', async () => {
  const cwd = scratch();
  expect(await offer(['jobs', '--account', ''], cwd)).toEqual({ values: [], directive: NO_FILES });
  expect(readdirSync(cwd)).toEqual([]);
});

describe('scripts', () => {
  it.each(['bash', 'zsh', 'fish', 'powershell'])('%s', async (shell) => {
    const { code, stdout, stderr } = await cli(['completion', shell]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('profiles completion complete');
    expect(stdout.endsWith('\n')).toBe(true);
    const json = await cli(['completion', shell, '--json']);
    expect(JSON.parse(json.stdout)).toEqual({ shell, script: stdout.replace(/\n$/, '') });
  });
  it('a shell that is not known names the nearest', async () => {
    const { code, stdout, stderr } = await cli(['completion', 'zhs']);
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: '',
      stderr: 'profiles: unknown shell "zhs"\n  did you mean "zsh"?\n',
    });
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
