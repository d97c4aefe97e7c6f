/** The scripts in the shells themselves. A shell that is not installed is skipped, and the report says so. */
import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cli, scratch } from '../../../support/cli.js';
import { openShell, type Shell } from './pty.js';

const installed = (shell: string): boolean => spawnSync(shell, ['--version']).status === 0;

/** What is typed before a Tab, and the line that it makes. Each shell adds a space after a whole word. */
const LINES: [what: string, typed: string, completed: string][] = [
  ['a command', 'profiles doc', 'profiles doctor '],
  ['a subcommand', 'profiles config un', 'profiles config unset '],
  ['a flag', 'profiles import --chunk-s', 'profiles import --chunk-size '],
  ['a global flag', 'profiles jobs --lookup-b', 'profiles jobs --lookup-base-url '],
  ['the value of a flag', 'profiles jobs --region san', 'profiles jobs --region sandbox '],
  ['the value of a flag behind =', 'profiles jobs --region=san', 'profiles jobs --region=sandbox '],
  ['a lookup list', 'profiles lookups check', 'profiles lookups checklists '],
  ['a file name', 'profiles import compa', 'profiles import companies.csv '],
];

let cwd = '';
let env: NodeJS.ProcessEnv = {};
beforeAll(async () => {
  cwd = scratch({ 'companies.csv': '' });
  const bin = join(cwd, 'bin');
  mkdirSync(bin);
  const program = resolve(import.meta.dirname, '../../../../bin/profiles.js');
  if (!existsSync(resolve(program, '../../dist/main.cjs')))
    throw new Error('the program is not built: npm run build');
  writeFileSync(join(bin, 'profiles'), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`);
  chmodSync(join(bin, 'profiles'), 0o755);
  env = {
    PATH: `${bin}:${process.env.PATH}`,
    HOME: cwd,
    XDG_CONFIG_HOME: join(cwd, '.config'),
    PROFILES_STATE_DIR: join(cwd, '.state'),
    TERM: 'xterm',
    LC_ALL: 'C.UTF-8',
  };
  for (const shell of ['bash', 'zsh', 'fish']) {
    writeFileSync(join(cwd, `completion.${shell}`), (await cli(['completion', shell])).stdout);
  }
});

describe.skipIf(!installed('bash'))('bash', () => {
  let shell: Shell;
  beforeAll(async () => {
    shell = await openShell(
      'bash --norc --noprofile -i',
      [
        'PS1=',
        'bind "set bell-style none"',
        // Twice, as a start file that is read again does.
        '. ./completion.bash; . ./completion.bash',
        `bind -x '"\\C-t": printf %s "$READLINE_LINE" > line.new; mv line.new line'`,
        'echo rea""dy',
      ],
      cwd,
      env,
    );
  });
  afterAll(() => shell.close());

  it.each(LINES)('%s', async (_, typed, completed) => {
    expect(await shell.press(typed)).toBe(completed);
  });
  it('the beginning of a value, behind an input whose name has a space', async () => {
    expect(await shell.press('profiles import "odd name.csv" -o chunk_b')).toBe(
      'profiles import "odd name.csv" -o chunk_bytes=',
    );
  });
  it('runs nothing of what is being typed', async () => {
    const line = 'profiles import $(touch evaluated) --kind';
    expect(await shell.press(line.slice(0, -2))).toBe(`${line} `);
    expect(existsSync(join(cwd, 'evaluated'))).toBe(false);
  });
});

describe.skipIf(!installed('zsh'))('zsh', () => {
  let shell: Shell;
  beforeAll(async () => {
    shell = await openShell(
      'zsh -f -i',
      [
        'PS1= RPS1=; unsetopt beep prompt_cr prompt_sp; unset zle_bracketed_paste',
        'autoload -Uz compinit && compinit -u -d ./zcompdump',
        '. ./completion.zsh; . ./completion.zsh',
        'report() { print -rn -- "$BUFFER" > line.new; mv line.new line }; zle -N report; bindkey "^T" report',
        'echo rea""dy',
      ],
      cwd,
      env,
    );
  });
  afterAll(() => shell.close());

  it.each(LINES)('%s', async (_, typed, completed) => {
    expect(await shell.press(typed)).toBe(completed);
  });
});

describe.skipIf(!installed('fish'))('fish', () => {
  /** fish can be asked without a terminal. It gives values, with a tab and their description. */
  const ask = async (typed: string): Promise<string[]> => {
    const { stdout } = await promisify(execFile)(
      'fish',
      ['--no-config', '-c', 'source completion.fish; complete --do-complete $argv[1]', typed],
      { cwd, env },
    );
    return stdout.split('\n').flatMap((line) => (line === '' ? [] : [line.split('\t')[0]!]));
  };
  it.each(LINES)('%s', async (_, typed, completed) => {
    expect(await ask(typed)).toEqual([completed.trimEnd().split(' ').at(-1)]);
  });
});

it('what the shells load is what the program prints', async () => {
  const { stdout } = await cli(['completion', 'bash']);
  expect(readFileSync(join(cwd, 'completion.bash'), 'utf8')).toBe(stdout);
});
