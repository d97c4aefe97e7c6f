/** Suggestions from this machine: from the config file, the state, and the input files on the line. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { readSmallFile } from '../../../engine/read-small-file.js';
import { LOOKUP_LISTS } from '../../../engine/service/names.js';
import type { State } from '../../../engine/state/state.js';
import type { Context } from '../../context.js';
import { BUILT_IN_REGIONS } from '../../settings/hosts.js';
import type { ConfigFile } from '../../settings/keys.js';
import { knownKeys } from '../../settings/keys.js';
import { configLocation } from '../../settings/sources.js';
import type { Sources, Suggestion } from './suggest.js';

/** The maximum number of jobs or runs: a longer list would not help. */
const MOST = 50;

export function machineSources(context: Context, topics: () => Promise<Suggestion[]>): Sources {
  return {
    regions: quietly(async () => {
      const { regions, accounts } = await config(context);
      const own = Object.values(accounts ?? {}).flatMap((account) => Object.keys(account.regions ?? {}));
      return named([...BUILT_IN_REGIONS, ...Object.keys(regions ?? {}), ...own]);
    }),
    accounts: quietly(async () => named(Object.keys((await config(context)).accounts ?? {}))),
    jobs: quietly(async () =>
      (await state(context, (opened) => opened.jobs.all())).map(({ job_id, kind, status, submitted_at }) => ({
        value: job_id,
        description: `${kind}, ${status}, ${submitted_at}`,
      })),
    ),
    runs: quietly(async (which) => {
      const runs = await state(context, (opened) =>
        opened.runs.all(which === 'all' ? {} : { finished: false }),
      );
      return runs.map(({ run, kinds, status, started_at }) => ({
        value: run,
        description: `${kinds.join(' and ')}, ${status}, ${started_at}`,
      }));
    }),
    columns: quietly(async (files) => {
      const path = files.find((file) => existsSync(resolve(context.cwd, file)));
      if (path === undefined) return [];
      const { columnsOf } = await import('../../../engine/read/index.js');
      return named(await columnsOf({ path, location: resolve(context.cwd, path) }, context.stop));
    }),
    lists: quietly(async () => named(LOOKUP_LISTS.map((list) => list.replaceAll('_', '-')))),
    keys: quietly(async () => {
      const { accounts, regions } = await config(context);
      const fill = (keys: string[], slot: string, names: readonly string[]): string[] =>
        keys.flatMap((key) => (key.includes(slot) ? names.map((name) => key.replace(slot, name)) : [key]));
      const places = ['default', 'eu', ...Object.keys(regions ?? {})];
      const inAccounts = fill(
        knownKeys(),
        'accounts.<name>',
        Object.keys(accounts ?? {}).map((name) => `accounts.${name}`),
      );
      return named(
        fill(
          inAccounts,
          'regions.<name>',
          places.map((name) => `regions.${name}`),
        ),
      );
    }),
    topics: quietly(topics),
  };
}

/** Suggests nothing if the look-up fails, because completion cannot show an error. */
function quietly<A extends unknown[]>(
  find: (...args: A) => Promise<Suggestion[]>,
): (...args: A) => Promise<Suggestion[]> {
  return async (...args) => {
    try {
      return await find(...args);
    } catch {
      return [];
    }
  };
}

const named = (names: readonly string[]): Suggestion[] =>
  [...new Set(names)].map((value) => ({ value, description: '' }));

/** Reads the config file without checking it: loading the schema would make completion slow. */
async function config(context: Context): Promise<ConfigFile> {
  const path = configLocation(context, context.flags).value;
  const text = await readSmallFile(path, context.stop).catch(() => '{}');
  return JSON.parse(text.toString()) as ConfigFile;
}

/** Reads the state without creating one. */
async function state<T>(context: Context, look: (opened: State) => Promise<T[]>): Promise<T[]> {
  const { statePlace } = await import('../state/state-place.js');
  if (!(await statePlace(context)).exists) return [];
  return (await look(await context.state())).slice(0, MOST);
}
