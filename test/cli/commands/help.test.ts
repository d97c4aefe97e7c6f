import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../../src/cli/commands/index.js';
import { Exit } from '../../../src/engine/errors.js';
import { cli } from '../../support/cli.js';

describe('help about a command', () => {
  it.each(COMMANDS.filter(({ name }) => name !== 'config').map(({ name }) => name))(
    '%s is what --help prints',
    async (name) => {
      const [help, flag] = [await cli(['help', name]), await cli([name, '--help'])];
      expect(help).toEqual({ code: 0, stdout: flag.stdout, stderr: '' });
      expect(help.stdout).toMatch(/\nExamples:\n {2}\$ profiles .*\n {2}\$ profiles /);
    },
  );
  it('of a subcommand', async () => {
    const [help, flag] = [await cli(['help', 'config', 'set']), await cli(['config', 'set', '--help'])];
    expect(help).toEqual({ code: 0, stdout: flag.stdout, stderr: '' });
    expect(help.stdout).toContain('Usage: profiles config set');
  });
  it('without a word, the root', async () => {
    const [help, flag] = [await cli(['help']), await cli(['--help'])];
    expect(help).toEqual({ code: 0, stdout: flag.stdout, stderr: '' });
  });
  it('of the program has at most 80 columns, and of a command as many as the terminal', async () => {
    const widest = async (argv: string[], columns: number): Promise<number> => {
      const { stdout } = await cli(argv, { columns });
      return Math.max(...stdout.split('\n').map((line) => line.length));
    };
    expect(await widest(['--help'], 70)).toBeLessThanOrEqual(70);
    expect(await cli(['--help'], { columns: 200 })).toEqual(await cli(['--help']));
    expect(await widest(['import', '--help'], 200)).toBeGreaterThan(80);
  });
});

describe('help about a topic', () => {
  it('exit-codes: every code', async () => {
    const { code, stdout, stderr } = await cli(['help', 'exit-codes']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const codes = [...stdout.matchAll(/^ {2}(\d+) +\S/gm)].map(([, digits]) => Number(digits));
    expect(codes).toEqual(Object.values(Exit));
  });
  it('environment: every variable of the contract', async () => {
    const { stdout } = await cli(['help', 'environment']);
    for (const name of [
      'TOKEN',
      'REGION',
      'BASE_URL',
      'LOOKUP_BASE_URL',
      'ACCOUNT',
      'CONFIG',
      'STATE_DIR',
      'PROGRESS',
      'ALLOW_HTTP',
    ]) {
      expect(stdout).toMatch(new RegExp(`^  PROFILES_${name} `, 'm'));
    }
    for (const name of ['STEP_SUMMARY', 'WORKSPACE']) {
      expect(stdout).toMatch(new RegExp(`^  GITHUB_${name} `, 'm'));
    }
  });
  it('config: every key', async () => {
    const { stdout } = await cli(['help', 'config']);
    for (const key of [
      'token',
      'region',
      'account',
      'regions.<name>.base_url',
      'import.chunk_size',
      'accounts.<name>.<key>',
    ]) {
      expect(stdout).toContain(`\n  ${key} `);
    }
  });
  it.each(['exit-codes', 'environment', 'config', 'formats'])(
    '%s fits 80 columns, at any width',
    async (topic) => {
      const piped = await cli(['help', topic]);
      expect(piped.stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
      expect((await cli(['help', topic], { columns: 40 })).stdout).toBe(piped.stdout);
      expect(JSON.parse((await cli(['help', topic, '--json'])).stdout)).toEqual({
        help: piped.stdout.trimEnd(),
      });
    },
  );
});

it.each([
  ['exitcodes', 'no help for "exitcodes"\n  did you mean "profiles help exit-codes"?'],
  ['imprt', 'no help for "imprt"\n  did you mean "profiles help import"?'],
  ['config lst', 'no help for "config lst"\n  did you mean "profiles help config list"?'],
  ['doctor now', 'no help for "doctor now"\n  see profiles help doctor'],
])('%s is not known', async (words, message) => {
  const { code, stdout, stderr } = await cli(['help', ...words.split(' ')]);
  expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: `profiles: ${message}\n` });
});

it('lists each name once if no name is like the word', async () => {
  const { code, stderr } = await cli(['help', 'foo']);
  const names = /available: (.*)/.exec(stderr)![1]!.split(', ');
  expect(code).toBe(2);
  expect(names).toContain('config');
  expect(names).toEqual([...new Set(names)]);
});
