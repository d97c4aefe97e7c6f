/** What the state has recorded: where it is, its runs and jobs by their ids, and the service that each was sent to. */
import { existsSync } from 'node:fs';
import { ConfigError, StateError, UsageError } from '../../engine/errors.js';
import type { Job } from '../../engine/service/contract.js';
import { databaseFile } from '../../engine/state/folder.js';
import type { StoredRun } from '../../engine/state/runs.js';
import { sameService } from '../../engine/state/scopes.js';
import type { Scope, State } from '../../engine/state/state.js';
import { nearest } from '../../engine/util/nearest.js';
import type { Commands } from '../advice/commands.js';
import { type Advice, hinted, inOneLine } from '../advice/hint.js';
import { errorWords, LIST_RUNS } from '../advice/words.js';
import type { Context } from '../context.js';
import { usage } from '../options/index.js';
import { resolveSettings, type Settings, stateName } from '../settings/index.js';

export interface StatePlace {
  /** The folder, or the URL without its password. */
  name: string;
  /** The flag, variable, or key that names it, or `default`. */
  origin: string;
  /** The path of the database file, or the URL without its password. */
  database: string;
  /** Whether the folder has a database. Always true for PostgreSQL, where opening the state creates it. */
  exists: boolean;
  isFolder: boolean;
}

/** Finds the state without creating it. */
export async function statePlace(context: Context): Promise<StatePlace> {
  const settings = await context.settings();
  const [name, origin] = [stateName(settings), settings.origins.state!];
  const isFolder = settings.state.kind === 'sqlite';
  const database = isFolder ? databaseFile(name) : name;
  return { name, origin, database, exists: !isFolder || existsSync(database), isFolder };
}

/** @throws UsageError if there is no state yet */
export async function requireState(context: Context): Promise<StatePlace> {
  const place = await statePlace(context);
  if (place.exists) return place;
  const hint = 'choose its folder with --state, or import something first';
  throw usage(`no state found in ${place.name} (${place.origin})`, hint);
}

/** Opens the state for a command that only reads it. Warns if it has moved, because its records may be outdated. */
export async function stateToRead(context: Context): Promise<State> {
  const state = await context.state();
  await state.refuseMoved().catch((error: unknown) => {
    if (!(error instanceof UsageError)) throw error;
    const { message, hint } = errorWords(error, context.commands);
    context.warn(hint === undefined ? message : `${message}; ${inOneLine(hint)}`);
  });
  return state;
}

/** The ids that a word means: the one that is equal, or those that begin or end with it. */
export function idsLike(word: string, ids: readonly string[]): string[] {
  if (ids.includes(word)) return [word];
  return word === '' ? [] : ids.filter((id) => id.startsWith(word) || id.endsWith(word));
}

/** Finds a run by its id, or by a start or end that only one has. @throws UsageError for any other word */
export function findRun(runs: readonly StoredRun[], id: string): StoredRun {
  const ids = runs.map(({ run }) => run);
  const like = idsLike(id, ids);
  if (like.length > 1) throw severalFit(id, like);
  return runs.find(({ run }) => run === like[0]) ?? unknownRun(runs, id);
}

/** The first three of them. */
export const someOf = (ids: readonly string[]): string =>
  `${ids.slice(0, 3).join(', ')}${ids.length > 3 ? ', …' : ''}`;

export const severalFit = (word: string, ids: readonly string[]): UsageError =>
  usage(`${ids.length} ids begin or end with "${word}"`, `name one of them: ${someOf(ids)}`);

/** @throws UsageError */
export function unknownRun(runs: readonly StoredRun[], id: string): never {
  const ids = runs.map(({ run }) => run);
  const like = nearest(id, ids);
  const hint: Advice = like ? `did you mean ${like}?` : LIST_RUNS;
  throw hinted(usage(`run "${id}" not found`), hint);
}

export interface Recorded {
  /** The name in errors: `run 20261120-101500-x7k2`. */
  what: string;
  scope: Scope;
  /** The configured name of the account, or null. */
  account: string | null;
  /** The words of the command that needs it. The hint repeats them with flags that work. */
  words: readonly string[];
}

/** The configured account in a scope; null if it has no name. For jobs, the state has only the scope. */
export const namedAccount = ({ account, region }: Scope): string | null =>
  account.startsWith('token:') || region === 'sandbox' ? null : account;

/**
 * The context for the service that it was sent to. Flags that were given stay.
 * @throws UsageError if another host is configured now; ConfigError if the account or region is no longer
 * configured
 */
export async function contextOf(recorded: Recorded, context: Context): Promise<Context> {
  const there = await chosen(recorded, context);
  const here = await hostsOf(there);
  const { what, scope, words } = recorded;
  if (sameService(here, scope)) return there;
  const now = here.base_url === '' ? 'no host is set there now' : `not to ${here.base_url} (${here.region})`;
  const at = { region: scope.region, ...(scope.region !== 'sandbox' && { baseUrl: scope.base_url }) };
  throw hinted(usage(`${what} went to ${scope.base_url} (region ${scope.region}), ${now}`), {
    ...{ do: 'name its region and host', run: words, at },
  });
}

/** Commands for this run or job that work from here, even if its host is no longer configured. */
export async function commandsAt(
  { scope, account }: Pick<Recorded, 'scope' | 'account'>,
  context: Context,
): Promise<Commands> {
  const { flags, commands } = context;
  const { baseUrl: _, ...others } = flags;
  const own = { region: scope.region, ...(account === null ? {} : { account }) };
  const known = (await context.settings()).region === scope.region && flags.baseUrl === undefined;
  const chosen = known && (account === null || (await context.settings()).account === account) ? {} : own;
  const settings = await resolveSettings(context, { ...others, ...chosen }).catch(() => null);
  if (settings && sameService(hostsIn(settings), scope)) return commands.at(chosen, settings);
  return commands.at({ ...own, baseUrl: scope.base_url }, settings);
}

const hostsOf = async (context: Context): Promise<Scope> => hostsIn(await context.settings());

function hostsIn({ embedded, region, baseUrl }: Settings): Scope {
  return { account: '', region, base_url: embedded ? 'embedded' : (baseUrl ?? '') };
}

/** Chooses the recorded region and account, unless flags chose others. */
async function chosen({ what, scope, account }: Recorded, context: Context): Promise<Context> {
  const { flags } = context;
  const settings = await context.settings();
  const changes = {
    ...(flags.region === undefined && settings.region !== scope.region ? { region: scope.region } : {}),
    ...(flags.account === undefined && account !== null && settings.account !== account ? { account } : {}),
  };
  if (Object.keys(changes).length === 0) return context;
  const there = context.withFlags(changes);
  try {
    await there.settings();
    return there;
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof ConfigError)) throw error;
    const where = account === null ? '' : ` of account "${account}"`;
    throw new ConfigError(`${what} is in region "${scope.region}"${where}: ${error.message}`, {
      hint: error.hint,
      cause: error,
    });
  }
}

/** Saves what a command learns about jobs. If the state cannot be written, it only warns: the records are still printed. */
export async function saveJobs(
  context: Context,
  jobs: readonly Job[],
  recorded: Scope | null,
): Promise<void> {
  try {
    const state = await context.state();
    await state.refuseMoved();
    const scope = recorded ?? (await context.scope());
    for (const job of jobs) await state.jobs.update(scope, job);
  } catch (error) {
    if (!(error instanceof StateError || error instanceof UsageError)) throw error;
    context.warn(error.message);
  }
}
