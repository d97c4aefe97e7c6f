/** `profiles job <id...>` shows background jobs or follows them; `profiles jobs` lists those in the state (contract §5). */

import * as errors from '../../engine/errors.js';
import { readJobs, watchJobs } from '../../engine/send/follow.js';
import type { ServiceClient } from '../../engine/service/client.js';
import type { Job } from '../../engine/service/contract.js';
import { hasEnded, isFinal } from '../../engine/service/names.js';
import { sameScope } from '../../engine/state/access.js';
import type { KnownJob, Scope } from '../../engine/state/state.js';
import { count } from '../../engine/util/numbers.js';
import { hinted, toRun } from '../advice/hint.js';
import { LIST_JOBS } from '../advice/words.js';
import type { Context } from '../context.js';
import { toneOf } from '../facts/outcome.js';
import { engineValues, usage, WAITING, waitingIn } from '../options/index.js';
import { createDisplay, lineWidth, stopOnSignal, waiting } from '../output/display.js';
import { JobBoard } from '../output/progress.js';
import { fieldsOn, jobRecord, pick } from '../output/records.js';
import { colorOf, progressMode, safeHint, stylesOn, writeJson, writeOut } from '../output/terminal.js';
import { type Ended, print, type Spec, say } from './command.js';
import { list } from './list.js';
import * as recorded from './recorded.js';

export const job: Spec = {
  run: async ({ words, flags }, context): Promise<Ended> => {
    const { stdout, stderr, commands, platform } = context;
    const named = [...new Map(words.map(readJobName).map((name) => [name.id, name])).values()];
    const watch = flags.watch === true;
    const { waitTimeoutMs } = waitingIn(flags);
    const how = { ...engineValues({ interval: WAITING.interval }, flags), waitTimeoutMs };
    if (named.length === 0 && !watch)
      throw withJobs('job needs a job id, or --watch for all unfinished jobs');
    const known = await knownJobs(context);
    const jobs = await (named.length > 0 ? meant(named, known, context) : unfinished(known, context));
    if (jobs.length === 0) return flags.json ? writeJson(stdout, '[]') : say(context, 'no unfinished jobs');
    const services = await servicesOf(jobs, known, watch, context);
    const ids = jobs.map(({ id }) => id);
    /** One record, or nothing if the job was never seen. Several records are a JSON array, or one block each. */
    const show = async (records: readonly Job[]): Promise<void> => {
      // Several ids may name one job.
      const document = words.length > 1 || jobs.length > 1 ? records : records[0];
      if (document === undefined && flags.json) return;
      await print(context, document, fieldsOn(stdout, context, ...records.map(jobRecord)));
    };
    if (!watch) {
      const records = await waiting('reading', context, (signal) => readJobs(services, ids, signal));
      for (const record of records) await services.save(record);
      return show(records);
    }
    const ended = await follow(ids, how, services, show, context);
    const failed = ended.filter(({ status }) => status === 'failed');
    for (const { job_id } of failed) {
      const run = known.find((each) => each.job_id === job_id)?.run;
      const resume = run && commands.command('resume', run, '--failed', '--on-failure', 'isolate');
      const next = resume ? `\n${toRun('send its rows again', resume)}` : '';
      await writeOut(stderr, `profiles: ${safeHint(`job ${job_id} failed${next}`, platform)}\n`);
    }
    return failed.length > 0 ? errors.Exit.jobFailed : errors.Exit.done;
  },
};

/** Shows the jobs until all have ended. @returns their last records, in order */
async function follow(
  ids: readonly string[],
  { intervalMs, waitTimeoutMs }: Readonly<Record<'intervalMs' | 'waitTimeoutMs', number | null>>,
  services: Services,
  show: (records: readonly Job[]) => Promise<void>,
  context: Context,
): Promise<Job[]> {
  const { clock, stderr, env, flags, commands } = context;
  const board = new JobBoard(clock, stylesOn(stderr, env, flags));
  const display = createDisplay(board, { stream: stderr, mode: progressMode(stderr, env, flags), clock });
  const records = new Map<string, Job>();
  const inOrder = (): Job[] => ids.flatMap((id) => records.get(id) ?? []);
  const deadlineMs = waitTimeoutMs === null ? null : clock.monotonic() + waitTimeoutMs;
  const watching = async (signal: AbortSignal): Promise<void> => {
    for await (const seen of watchJobs(services, ids, { clock, signal, intervalMs, deadlineMs })) {
      if (seen.missing) continue; // without a grace period, a missing job is an error
      records.set(seen.job_id, seen.job);
      await services.save(seen.job);
      const ended = board.update(seen.job, lineWidth(stderr));
      if (ended !== undefined) display.finished(ended);
      // Records of the first round arrive one by one. A plain line about the first of them would say little,
      // and no other line would follow for 5 s.
      if (records.size === ids.length) await display.changed();
    }
  };
  try {
    const again = commands.command('job', ...ids, '--watch');
    await stopOnSignal(context, watching, toRun('the jobs continue; follow them with', again));
  } catch (error) {
    display.close();
    if (error instanceof errors.WaitTimeoutError) await show(inOrder());
    throw error;
  } finally {
    display.close();
  }
  await show(inOrder());
  return inOrder();
}

const FIELDS =
  'job_id kind status rows completed_rows account region base_url run submitted_at seen_at'.split(' ');

export const command = list(async ({ flags }, context) => {
  const isRefreshed = flags.refresh === true;
  const state = await (isRefreshed ? context.state() : recorded.stateToRead(context));
  if (isRefreshed) {
    await state.refuseMoved();
    await refresh(await state.jobs.all(), context);
  }
  const records = (await state.jobs.all()).map(({ record, scope, ...known }) => {
    return pick({ ...known, ...scope, completed_rows: record.completed_rows ?? null }, FIELDS);
  });
  return {
    ...{ records, fields: FIELDS, id: 'job_id', empty: 'no jobs yet' },
    tableFields: 'job_id status kind rows completed_rows region submitted_at'.split(' '),
    times: ['submitted_at', 'seen_at'],
    styles: { status: (status) => colorOf(toneOf(status)) },
  };
});

/** Errors that one account or region has, and not the others. */
const SETTINGS = [errors.ConfigError, errors.UsageError, errors.AuthError];

/** Polls unfinished jobs, each in its own region and account. A token is never sent to another host. */
async function refresh(known: readonly KnownJob[], context: Context): Promise<void> {
  const open = known.filter(({ status }) => !isFinal(status));
  const isFirst = ({ scope }: KnownJob, at: number) =>
    open.findIndex((one) => sameScope(one.scope, scope)) === at;
  const groups = open.filter(isFirst).map(({ scope }) => open.filter((one) => sameScope(one.scope, scope)));
  for (const group of groups) {
    try {
      await poll(group, context);
    } catch (error) {
      const isSetting = SETTINGS.some((kind) => error instanceof kind);
      // The other jobs can still be polled.
      if (!isSetting || groups.length === 1) throw error;
      context.warn(`${count(group.length, 'job')} not checked: ${(error as Error).message}`);
    }
  }
}

/** @param group jobs of one scope */
async function poll(group: readonly KnownJob[], context: Context): Promise<void> {
  const what = count(group.length, 'unfinished job');
  const { scope } = group[0]!;
  const there = await recorded.contextAt(what, scope, ['jobs', '--refresh'], context);
  const client = await there.client();
  if (!sameScope(await there.scope(), scope)) {
    context.warn(`${what} of another account (${scope.account}, ${scope.base_url}) not checked`);
    return;
  }
  await waiting(`checking ${count(group.length, 'job')}`, context, async (signal) => {
    for (const { job_id: id } of group) {
      const job = await client.job(id, signal).catch((error: unknown) => {
        if (error instanceof errors.ServiceError && error.status === 404) return null;
        throw error;
      });
      if (job) await recorded.saveJobs(there, [job], scope);
      else
        context.warn(`job ${id}: not found at the service; if its rows are missing there, import them again`);
    }
  });
}

/** A job named on the command line; `host` is set if it was a URL. */
type JobName = { id: string; host: string | null };

const JOB_URL = /^https?:[^?#]*?\/background_jobs\/([^?#]+?)\/?(?:[?#]|$)/i;

/**
 * Reads a job id, or a URL of a job: then the id is the part after `/background_jobs/`. An id may contain a
 * slash, and a pasted URL may show it unencoded. Any other text is an id, because ids may be URIs (spec:
 * Job).
 * @throws UsageError for an id that would lead to another path
 */
export function readJobName(word: string): JobName {
  // Uses the text, not a parsed path: a URL parser would resolve `..` before it can be refused.
  const encoded = URL.canParse(word) ? JOB_URL.exec(word)?.[1] : undefined;
  let id = word;
  try {
    if (encoded !== undefined) id = decodeURIComponent(encoded);
  } catch {
    throw usage(`"${word}" is not a valid URL`, 'pass only the job id');
  }
  if (['', '.', '..'].includes(id)) throw withJobs(`"${word}" is not a job id`);
  return { id, host: encoded === undefined ? null : new URL(word).host };
}

export const withJobs = (message: string) => hinted(usage(message), LIST_JOBS);

/** Jobs in the state. If it cannot be read, there is only a warning: jobs can still be shown. */
export async function knownJobs(context: Context): Promise<KnownJob[]> {
  try {
    return await (await context.state()).jobs.all();
  } catch (error) {
    if (!(error instanceof errors.StateError)) throw error;
    context.warn(error.message);
    return [];
  }
}

/** Whether a flag says where jobs are. */
const isPlaced = ({ flags: { region, account, baseUrl } }: Context): boolean =>
  (region ?? account ?? baseUrl) !== undefined;

/** Jobs that have not ended. */
export async function unfinished(known: readonly KnownJob[], context: Context): Promise<JobName[]> {
  const here = isPlaced(context) ? await context.scope() : null;
  const open = known.filter((one) => !hasEnded(one) && (here === null || sameScope(one.scope, here)));
  return [...new Set(open.map(({ job_id }) => job_id))].map((id) => ({ id, host: null }));
}

/**
 * The jobs that are meant: a start or end that only one known job has stands for it, unless the service has a job of
 * exactly that id.
 * @throws UsageError if several known jobs fit
 */
export async function meant(named: readonly JobName[], known: readonly KnownJob[], context: Context) {
  const ids = [...new Set(known.map(({ job_id }) => job_id))];
  const found = new Map<string, JobName>();
  for (const name of named) {
    const like = name.host === null ? recorded.idsLike(name.id, ids) : [];
    const isShort = like.length > 0 && like[0] !== name.id && !(await isThere(name.id, context));
    if (isShort && like.length > 1) throw recorded.severalFit(name.id, like);
    const id = isShort ? like[0]! : name.id;
    found.set(id, { ...name, id });
  }
  return [...found.values()];
}

/** Whether the service in use, if there is one, has a job of exactly this id. */
async function isThere(id: string, context: Context): Promise<boolean> {
  try {
    const client = await context.client();
    await stopOnSignal(context, (signal) => client.job(id, signal));
    return true;
  } catch (error) {
    const isMissing = error instanceof errors.ServiceError && error.status === 404;
    if (isMissing || error instanceof errors.ConfigError || error instanceof errors.AuthError) return false;
    throw error;
  }
}

export type Services = Awaited<ReturnType<typeof servicesOf>>;

/**
 * The service of each job: the recorded one if the state knows the job, otherwise the one in use.
 * @throws UsageError for the URL of a job at another host
 */
export async function servicesOf(
  jobs: readonly JobName[],
  known: readonly KnownJob[],
  watch: boolean,
  context: Context,
) {
  const places = new Map<string, { context: Context; client: ServiceClient; scope: Scope | null }>();
  for (const { id, host } of jobs) {
    const all = isPlaced(context) ? [] : known.filter(({ job_id }) => job_id === id);
    // Of several, the one at the service in use is preferred.
    const here = all.length > 1 ? await context.scope().catch(() => null) : null;
    const scope = (all.find((each) => here && sameScope(each.scope, here)) ?? all[0])?.scope ?? null;
    const words = ['job', id, ...(watch ? ['--watch'] : [])];
    const there = scope ? await recorded.contextAt(`job ${id}`, scope, words, context) : context;
    const client = await there.client();
    places.set(id, { context: there, client, scope });
    const ours = new URL(client.baseUrl).host;
    if (host === null || host === ours) continue;
    const hint = 'choose its --region or --account, or pass only the job id';
    throw usage(`that job is on ${host}, but the host in use is ${ours}`, hint);
  }
  return {
    job: (id: string, signal?: AbortSignal) => places.get(id)!.client.job(id, signal),
    /** Saves the job, if the state knows it. The record may have another id than the one that was requested. */
    save: async (one: Job): Promise<void> => {
      const place = places.get(one.job_id) ?? [...places.values()][0]!;
      await recorded.saveJobs(place.context, [one], place.scope);
    },
  };
}
