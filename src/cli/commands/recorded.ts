/** What the state has recorded: where it is, its runs and jobs by their ids, and the service that each was sent to. */

import { existsSync } from 'node:fs';
import { ConfigError, StateError, UsageError } from '../../engine/errors.js';
import type { RequestRecord } from '../../engine/model/requests.js';
import { RunRequests } from '../../engine/model/run-requests.js';
import { rejectsFrom } from '../../engine/run/rejects-form.js';
import { failedOf, withJobs } from '../../engine/run/summary.js';
import type { Job } from '../../engine/service/contract.js';
import { sameService } from '../../engine/state/access.js';
import { databaseFile } from '../../engine/state/folder.js';
import type { StoredRun } from '../../engine/state/runs.js';
import type { Scope, State } from '../../engine/state/state.js';
import { didYouMean } from '../../engine/util/nearest.js';
import type { Commands } from '../advice/commands.js';
import { hinted, inOneLine } from '../advice/hint.js';
import { errorWords, LIST_RUNS } from '../advice/words.js';
import type { Context } from '../context.js';
import { type Facts, factsOf } from '../facts/index.js';
import { usage } from '../options/index.js';
import { resolveSettings, type Settings, stateName } from '../settings/index.js';

/**
 * Finds the state without creating it. `name`: the folder, or the URL without its password. `database`: the file, or the
 * same URL. `exists`: always true for PostgreSQL, where opening the state creates it.
 */
export async function statePlace(context: Context) {
  const settings = await context.settings();
  const [name, origin] = [stateName(settings), settings.origins.state!];
  const isFolder = settings.state.kind === 'sqlite';
  const database = isFolder ? databaseFile(name) : name;
  return { name, origin, database, exists: !isFolder || existsSync(database), isFolder };
}

/** @throws UsageError if there is no state yet */
export async function requireState(context: Context): ReturnType<typeof statePlace> {
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
export function findRun(runs: readonly StoredRun[], word: string): StoredRun {
  const ids = runs.map(({ run }) => run);
  const [id, ...others] = idsLike(word, ids);
  if (id === undefined) throw unknownRun(runs, word);
  if (others.length > 0) throw severalFit(word, [id, ...others]);
  return runs.find(({ run }) => run === id)!;
}

/** The first three of them. */
export const someOf = (ids: readonly string[]): string =>
  `${ids.slice(0, 3).join(', ')}${ids.length > 3 ? ', …' : ''}`;

export const severalFit = (word: string, ids: readonly string[]): UsageError =>
  usage(`${ids.length} ids begin or end with "${word}"`, `name one of them: ${someOf(ids)}`);

export function unknownRun(runs: readonly StoredRun[], id: string): UsageError {
  const ids = runs.map(({ run }) => run);
  return hinted(usage(`run "${id}" not found`), didYouMean(id, ids, LIST_RUNS));
}

/** The configured account in a scope; null if it has no name. */
const namedAccount = ({ account, region }: Scope): string | null =>
  account.startsWith('token:') || region === 'sandbox' ? null : account;

/**
 * The context for the service that something was sent to: its region and account, unless flags choose others.
 * @param what its name in errors: `run 20261120-101500-x7k2` @param words of the command that needs it, which the hint
 * repeats with flags that work @param account its configured name; for jobs, the state has only the scope
 * @throws UsageError if another host is configured now; ConfigError if the account or region is no longer
 * configured
 */
export async function contextAt(
  what: string,
  scope: Scope,
  words: readonly string[],
  context: Context,
  account: string | null = namedAccount(scope),
): Promise<Context> {
  const { flags } = context;
  const settings = await context.settings();
  const { region } = scope;
  const isElsewhere = flags.region === undefined && settings.region !== region;
  const isOthers = flags.account === undefined && account !== null && settings.account !== account;
  const changes = { ...(isElsewhere && { region }), ...(isOthers && { account }) };
  const there = isElsewhere || isOthers ? context.withFlags(changes) : context;
  const here = await there.settings().then(hostsIn, (error: unknown) => {
    if (!(error instanceof UsageError || error instanceof ConfigError)) throw error;
    const where = account === null ? '' : ` of account "${account}"`;
    const message = `${what} is in region "${region}"${where}: ${error.message}`;
    throw new ConfigError(message, { hint: error.hint, cause: error });
  });
  if (sameService(here, scope)) return there;
  const now = here.base_url === '' ? 'no host is set there now' : `not to ${here.base_url} (${here.region})`;
  const at = { region, ...(region !== 'sandbox' && { baseUrl: scope.base_url }) };
  const hint = { do: 'name its region and host', run: words, at };
  throw hinted(usage(`${what} went to ${scope.base_url} (region ${region}), ${now}`), hint);
}

/** Commands for a run that work from here, even if its host is no longer configured. */
export async function commandsFor(run: StoredRun, context: Context): Promise<Commands> {
  const { scope, named_account: account } = run;
  const { baseUrl, ...others } = context.flags;
  const own = { region: scope.region, ...(account === null ? {} : { account }) };
  const used = await context.settings();
  const isUsed = used.region === scope.region && baseUrl === undefined;
  const chosen = isUsed && (account === null || used.account === account) ? {} : own;
  const settings = await resolveSettings(context, { ...others, ...chosen }).catch(() => null);
  const isSame = settings && sameService(hostsIn(settings), scope);
  return context.commands.at(isSame ? chosen : { ...own, baseUrl: scope.base_url }, settings);
}

const hostsIn = ({ embedded, region, baseUrl }: Settings): Scope => {
  return { account: '', region, base_url: embedded ? 'embedded' : (baseUrl ?? '') };
};

/** Ways in which a session ends before its jobs have. */
const ENDED_EARLY = new Set<StoredRun['status']>(['crashed', 'stopped', 'timed_out', 'interrupted']);

/** Whether there is nothing to continue. */
export const isOver = ({ finished, status }: StoredRun): boolean => finished && !ENDED_EARLY.has(status);

/** The command that continues a run; null if there is nothing to continue. */
export const resumeOf = (run: StoredRun, { command }: Commands): string | null =>
  run.status === 'running' || isOver(run) ? null : command('resume', run.run);

/** Read once for all parts of the output, because a continued run could change in between. */
export type Loaded = Awaited<ReturnType<typeof loaded>>;

/** @param recorded a run; with the summary of a session that has ended, and rejects files as this folder sees them */
export async function loaded(recorded: StoredRun, state: State, context: Context) {
  const commands = await commandsFor(recorded, context);
  const { status, finished } = recorded;
  const isBefore = (status === 'crashed' || status === 'running') && !finished;
  const summary = isBefore ? null : recorded.summary;
  // The rejects file comes from the state, because a session that was resumed may have written it before. If its rows have
  // been sent since, it is no longer that of the run.
  const inputs = rejectsFrom(context.cwd, recorded.inputs).map((input, at) => {
    return summary?.files[at]?.rows.rejected === 0 ? { ...input, rejects_file: null } : input;
  });
  const run = { ...recorded, inputs, summary };
  const requests = await state.requests.of(run.run);
  const facts = factsOfRun(run, requests, commands);
  const resume = resumeOf(run, commands);
  const unfinished = resume === null ? [] : [{ what: 'continue with', command: resume, shared: resume }];
  // How to continue an unfinished run, or the steps of the summary of a finished one.
  const next = resume === null && finished ? (facts?.next ?? []) : unfinished;
  return { run, requests, commands, facts, next };
}

function factsOfRun(run: StoredRun, requests: readonly RequestRecord[], commands: Commands): Facts | null {
  const { summary, inputs, status } = run;
  if (summary === null) return null;
  const files = summary.files.map((file, at) => ({
    ...file,
    rejects_file: inputs[at]?.rejects_file ?? null,
  }));
  const all = new RunRequests(requests);
  const failed = status === 'superseded' ? [] : failedOf(all);
  return factsOf(withJobs({ ...summary, files }, all, inputs), { commands, failed }, { requests });
}

/** Saves what a command learns about a job. If the state cannot be written, it only warns: its record is still printed. */
export async function saveJob(context: Context, job: Job, recorded: Scope | null) {
  try {
    const state = await context.state();
    await state.refuseMoved();
    await state.jobs.update(recorded ?? (await context.scope()), job);
  } catch (error) {
    if (!(error instanceof StateError || error instanceof UsageError)) throw error;
    context.warn(error.message);
  }
}
