import { describe, expect, it } from 'vitest';
import type { Spec } from '../../../src/cli/commands/command.js';
import COMMAND_TEXTS from '../../../src/cli/commands/commands.json' with { type: 'json' };
import TEXTS from '../../../src/cli/commands/topics.json' with { type: 'json' };
import { COMMANDS, VERSION } from '../../../src/cli/main.js';
import { OPTIONS, optionsOf } from '../../../src/cli/options/index.js';
import OPTION_TEXTS from '../../../src/cli/options/texts.json' with { type: 'json' };
import { Exit } from '../../../src/engine/errors.js';
import { cli } from '../../support/cli.js';

describe('help about a command', () => {
  it.each(COMMANDS.filter(({ name }) => name !== 'config').map(({ name }) => name))(
    '%s is what --help prints',
    async (name) => {
      const [help, flag] = [await cli(['help', name]), await cli([name, '--help'])];
      expect(help).toEqual({ code: 0, stdout: flag.stdout, stderr: '' });
      expect(help.stdout).toMatch(/\nExamples\n {2}\$ profiles .*\n {2}\$ profiles /);
    },
  );
  it.each(['', 'config set'])('of the root, and of a subcommand: "%s"', async (name) => {
    const words = name.split(' ').filter(Boolean);
    const [help, flag] = [await cli(['help', ...words]), await cli([...words, '--help'])];
    expect(help).toEqual({ code: 0, stdout: flag.stdout, stderr: '' });
    expect(help.stdout).toContain(`Usage: profiles ${name}`);
  });
  it('a page has at most 80 columns, and in a narrow terminal no more than that', async () => {
    const widest = ({ stdout }: { stdout: string }): number =>
      Math.max(...stdout.split('\n').map((line) => line.length));
    const names = 'import,inspect,sandbox,apply,resume,job,lookups,runs,config init'.split(',');
    for (const argv of [[], ...names.map((name) => name.split(' '))]) {
      const page = await cli([...argv, '--help']);
      expect([argv, widest(page)]).toEqual([argv, expect.toSatisfy((width: number) => width <= 80)]);
      expect(await cli([...argv, '--help'], { columns: 200 })).toEqual(page);
    }
    const further = 'import reading,import all,inspect all,apply all,sandbox all,state migrate'.split(',');
    for (const name of [...further, ...Object.keys(TEXTS.topics)]) {
      expect([name, widest(await cli(['help', ...name.split(' ')])) <= 80]).toEqual([name, true]);
    }
    expect(widest(await cli(['--help'], { columns: 70 }))).toBeLessThanOrEqual(70);
  });
  it.each(['', 'import', 'inspect', 'sandbox', 'apply', 'resume', 'import reading', 'import sending'])(
    'the page of "%s" fits 50 lines',
    async (name) => {
      const { stdout } = await cli(['help', ...name.split(' ').filter(Boolean)]);
      expect(stdout.trimEnd().split('\n').length).toBeLessThanOrEqual(50);
    },
  );
  it('-h is the same page', async () => {
    expect(await cli(['import', '-h'])).toEqual(await cli(['import', '--help']));
  });
});

describe('further pages', () => {
  const linesOf = async (...words: string[]): Promise<string> => (await cli(['help', ...words])).stdout;

  it('the first page has no option of a further one, and all has each', async () => {
    const [first, reading, all] = [
      await linesOf('import'),
      await linesOf('import', 'reading'),
      await linesOf('import', 'all'),
    ];
    for (const { typed, tier, flag } of optionsOf('import')) {
      const term = new RegExp(`^ {2}(?:-\\w, |.{4})?${typed}\\b`, 'm');
      expect([typed, term.test(first) || typed === '--ndjson']).toEqual([
        typed,
        tier !== 2 && flag !== false,
      ]);
      expect([typed, term.test(all) || typed === '--ndjson']).toEqual([typed, true]);
    }
    expect(reading).toContain('--delimiter <text>');
    expect(reading).toContain('-o max_cell=<size>');
    expect(reading).not.toContain('--kind');
  });
  it('settings: every key, and where it may stand', async () => {
    const page = await linesOf('settings');
    for (const { key } of OPTIONS) if (key !== null) expect(page).toContain(`\n  ${key}=`);
    const placesOf = (key: string): string | undefined =>
      new RegExp(`^  ${key}=\\S+ +([FCMT]+) `, 'm').exec(page)?.[1];
    expect(['chunk_size', 'sheet', 'zone', 'retries'].map(placesOf)).toEqual(['FC', 'FT', 'FCM', 'C']);
    for (const { key, config, flag } of OPTIONS) {
      if (key === null) continue;
      const places = placesOf(key) ?? '';
      expect([key, places.includes('C'), places.includes('F')]).toEqual([key, !!config, flag !== false]);
    }
    for (const { long, commands, flag } of OPTIONS)
      if (commands.includes('*') && flag !== false) expect(page).toContain(long);
  });
  it('only commands that have --no-wait show it, and only those that send rows have a section for that', async () => {
    const pages = await Promise.all(
      ['import', 'apply', 'resume', 'inspect', 'job'].map(
        async (name) => [name, await linesOf(name)] as const,
      ),
    );
    const having = (text: RegExp): string[] =>
      pages.flatMap(([name, page]) => (text.test(page) ? [name] : []));
    expect(having(/--no-wait: now/)).toEqual(['import', 'apply', 'resume']);
    expect(having(/^Sending$/m)).toEqual(['import', 'apply', 'resume']);
  });
  it('one that does not exist is an error', async () => {
    const { code, stderr } = await cli(['help', 'import', 'readin']);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('did you mean "profiles help import reading"?'),
    ]);
  });
});

describe('texts', () => {
  it('every option has one, and every one an option', () => {
    expect(OPTIONS.filter(({ summary }) => !summary).map(({ name }) => name)).toEqual([]);
    const used = new Set([...OPTIONS, ...optionsOf('resume')].map(({ summary }) => summary));
    expect(Object.values(OPTION_TEXTS).filter((text) => !used.has(text))).toEqual([]);
  });
  it('every command has one, and every one a command', async () => {
    const all: string[] = [];
    const add = ({ commands = {} }: Spec, path: string): void => {
      all.push(path);
      for (const [name, child] of Object.entries(commands)) add(child, `${path} ${name}`);
    };
    for (const { name, load } of COMMANDS) add((await load()).command, name);
    expect(Object.keys(COMMAND_TEXTS).sort()).toEqual(all.sort());
  });
});

describe('help about a topic', () => {
  it('exit-codes: every code', async () => {
    const { code, stdout, stderr } = await cli(['help', 'exit-codes']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const codes = [...stdout.matchAll(/^ {2}(\d+) +\S/gm)].map(([, digits]) => Number(digits));
    expect(codes).toEqual(Object.values(Exit));
  });
  it.each([
    [
      'environment',
      'PROFILES_',
      'TOKEN REGION BASE_URL LOOKUP_BASE_URL ACCOUNT CONFIG STATE_DIR PROGRESS ALLOW_HTTP',
    ],
    ['environment', 'GITHUB_', 'STEP_SUMMARY WORKSPACE'],
    ['config', '', 'token region account regions.<name>.base_url import.<key> accounts.<name>.<key>'],
  ])('%s: each of %s%s', async (topic, prefix, names) => {
    const { stdout } = await cli(['help', topic]);
    for (const name of names.split(' ')) expect(stdout).toContain(`\n  ${prefix}${name} `);
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

describe('habits from other programs lead to the right command', () => {
  it('every hint names an existing command', () => {
    const known = COMMANDS.map(({ name }) => name);
    for (const [word, hint] of Object.entries(TEXTS.commands)) {
      expect(known).not.toContain(word);
      for (const [, command] of hint.matchAll(/profiles (\w+)/g)) expect(known).toContain(command);
    }
  });
  it.each(['-v', '-V', 'version', '--version'])('%s prints the version', async (word) => {
    expect(await cli([word])).toEqual({ code: 0, stdout: `${VERSION}\n`, stderr: '' });
  });
});
