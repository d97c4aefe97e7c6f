/**
 * What a program calls that is refused before anything is sent. `$ runImport({ files, … })` and so on are evaluated, with the
 * rest of a request to a sandbox; what is thrown is printed, of an import by its events as by its result.
 */
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import * as library from '../../../src/engine/index.js';
import { startSandbox } from '../../../src/sandbox/index.js';
import { page } from '../../support/page.js';
import { requestTo } from '../../support/sandbox.js';

const told = (error: unknown): string => {
  if (!(error instanceof library.ProfilesError)) throw error;
  const { name, message, problem, hint, exit } = error;
  const more = [problem && JSON.stringify(problem), hint].filter(Boolean).map((line) => `  ${line}\n`);
  return `${name}: ${message}\n${more.join('')}[${exit}]\n`;
};

page(join(import.meta.dirname, 'refused.md'), async () => {
  const sandbox = await startSandbox();
  const { cwd, ...service } = requestTo(sandbox, {}, 1);
  const whole = (given: object | null | undefined) =>
    (typeof given === 'object' && given !== null ? { cwd, ...service, ...given } : given) as never;
  const scope = {
    ...library,
    files: ['companies.csv'],
    acme: { company_id: 'c1' },
    client: { job: () => expect.unreachable('it was asked') },
    runImport: async (given: object) => {
      const run = library.runImport(whole(given));
      const events = async (): Promise<void> => {
        for await (const _ of run);
      };
      const error = await events().catch((thrown: unknown) => thrown);
      await expect(run.result()).rejects.toBe(error);
      throw error;
    },
    planImport: (given: object) => library.planImport(whole(given)),
    watchJob: (...given: Parameters<typeof library.watchJob>) => library.watchJob(...given).next(),
  };
  /** The files, but the state's own, and their sizes. */
  const inFolder = (): string[] =>
    readdirSync(cwd, { recursive: true, encoding: 'utf8' })
      .filter((name) => !/^\.state(\/(state\.db.*|spool))?$/.test(name))
      .map((name) => `${name} ${statSync(join(cwd, name)).size}`);
  return {
    write: ({ file, text }) => writeFileSync(join(cwd, file), text),
    async type(line) {
      const before = inFolder();
      const call = new Function(...Object.keys(scope), `return (async () => ${line})()`);
      const error = await call(...Object.values(scope)).then(() => 'nothing\n', told);
      expect(inFolder()).toEqual(before);
      expect(sandbox.ledger()).toEqual([]);
      return error.replaceAll(cwd, '~');
    },
    stop: () => sandbox.stop(),
  };
});
