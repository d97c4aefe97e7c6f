/** `docs/reference.md` is what the program says of itself; `npm run reference` writes it. */
import { describe, expect, it } from 'vitest';
import { descriptionOf, OPTIONS, optionsOf, pathOf } from '../../src/cli/options/index.js';
import { allCommands, referenceText } from './reference-text.js';

it('docs/reference.md is up to date (npm run reference writes it)', async () => {
  await expect(await referenceText()).toMatchFileSnapshot('../../docs/reference.md');
});

describe('the table of options', () => {
  it('has each key and variable once, and each flag once for each command', () => {
    const flags = OPTIONS.flatMap(({ long, commands }) => commands.map((command) => `${command} ${long}`));
    const keys = OPTIONS.flatMap(({ config = [] }) => config);
    const variables = OPTIONS.flatMap(({ env = [] }) => env);
    for (const names of [flags, keys, variables]) {
      expect(names.length).toBeGreaterThan(7);
      expect(names).toEqual([...new Set(names)]);
    }
  });

  it('names only existing commands', async () => {
    const paths = ['*', 'completion complete', ...(await allCommands()).map(pathOf)];
    for (const { long, commands } of OPTIONS) {
      expect(commands.length, long).toBeGreaterThan(0);
      for (const command of commands) expect(paths).toContain(command);
    }
  });

  it('has exactly the options that commands accept', async () => {
    for (const command of await allCommands()) {
      const path = pathOf(command);
      const declared = command.options.filter((option) => !option.hidden);
      const listed = optionsOf(path).filter(({ flag }) => flag !== false);
      expect(declared.map(({ flags, description }) => ({ path, flags, description }))).toEqual(
        listed.map((option) => ({ path, flags: option.flags, description: descriptionOf(option) })),
      );
    }
  });

  it('has the defaults and config keys of import only for commands that use them', () => {
    const of = (path: string, long: string) => {
      const { config, otherwise } = optionsOf(path).find((option) => option.long === long)!;
      return [config, otherwise];
    };
    expect(of('import', '--on-failure')).toEqual(['import.on_failure', undefined]);
    expect(of('apply', '--on-failure')).toEqual([undefined, 'as in the plan']);
    expect(of('resume', '--on-failure')).toEqual([undefined, 'as in the run']);
    expect(of('resume', '--wait')).toEqual(['import.wait', undefined]);
    expect(of('apply', '--wait')).toEqual([undefined, 'as in the plan']);
    for (const path of ['apply', 'resume']) expect(of(path, '--wait-for-lock')[1]).toBeUndefined();
    expect(of('job', '--wait')).toEqual([undefined, undefined]);
  });

  it('says what each option does in a phrase without a full stop', () => {
    for (const { long, summary } of OPTIONS)
      expect([long, summary]).toEqual([long, expect.stringMatching(/^\S.*[^.\s]$/)]);
  });

  it('names each word that an option takes', () => {
    const worded = OPTIONS.filter(({ type }) => type.words);
    expect(worded.length).toBeGreaterThan(7);
    for (const option of worded)
      for (const word of option.type.words!)
        expect([option.long, descriptionOf(option)]).toEqual([option.long, expect.stringContaining(word)]);
  });

  it('a default is a value of its own type', () => {
    const valued = OPTIONS.filter(
      ({ default: value }) => typeof value === 'number' || typeof value === 'string',
    );
    expect(valued.length).toBeGreaterThan(10);
    for (const { type, long, default: value } of valued)
      expect(type.read(type.write(value), long)).toBe(value);
  });
});
