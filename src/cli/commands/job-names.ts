/** The jobs that a command line means (by id, URL, or a start or end of an id), and the service of each. */

import { AuthError, ConfigError, ServiceError, StateError } from '../../engine/errors.js';
import type { ServiceClient } from '../../engine/service/client.js';
import type { Job } from '../../engine/service/contract.js';
import { hasEnded } from '../../engine/service/names.js';
import { sameScope } from '../../engine/state/scopes.js';
import type { KnownJob, Scope } from '../../engine/state/state.js';
import { hinted } from '../advice/hint.js';
import { LIST_JOBS } from '../advice/words.js';
import type { Context } from '../context.js';
import { usage } from '../options/index.js';
import { stopOnSignal } from '../output/display.js';
import { contextOf, idsLike, namedAccount, saveJobs, severalFit } from './recorded.js';

/** A job named on the command line; `host` is set if it was a URL. */
export interface JobName {
  id: string;
  host: string | null;
}

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
  const id = encoded === undefined ? word : decoded(encoded, word);
  if (id === '' || id === '.' || id === '..') throw withJobs(`"${word}" is not a job id`);
  return { id, host: encoded === undefined ? null : new URL(word).host };
}

function decoded(encoded: string, word: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    throw usage(`"${word}" is not a valid URL`, 'pass only the job id');
  }
}

const withJobs = (message: string) => hinted(usage(message), LIST_JOBS);

/** Where a flag says that jobs are. */
const isPlaced = ({ flags: { region, account, baseUrl } }: Context): boolean =>
  region !== undefined || account !== undefined || baseUrl !== undefined;

/** Jobs that this state knows, and that have not ended. @throws UsageError without `--watch` */
export async function unfinished(watch: boolean, context: Context): Promise<JobName[]> {
  if (!watch) throw withJobs('job needs a job id, or --watch for all unfinished jobs');
  const here = isPlaced(context) ? await context.scope() : null;
  const known = await knownJobs(context);
  const open = known.filter((job) => !hasEnded(job) && (here === null || sameScope(job.scope, here)));
  return [...new Set(open.map(({ job_id }) => job_id))].map((id) => ({ id, host: null }));
}

/**
 * The jobs that are meant: a start or end that only one known job has stands for it, unless the service has a job of
 * exactly that id.
 * @throws UsageError if several known jobs fit
 */
export async function meant(named: readonly JobName[], context: Context): Promise<JobName[]> {
  const known = [...new Set((await knownJobs(context)).map(({ job_id }) => job_id))];
  const found = new Map<string, JobName>();
  for (const name of named) {
    const like = name.host === null ? idsLike(name.id, known) : [];
    const isShort = like.length > 0 && like[0] !== name.id && !(await isThere(name.id, context));
    if (isShort && like.length > 1) throw severalFit(name.id, like);
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
    if (error instanceof ServiceError && error.status === 404) return false;
    if (error instanceof ConfigError || error instanceof AuthError) return false;
    throw error;
  }
}

/** Jobs in the state. If it cannot be read, there is only a warning: jobs can still be shown. */
export async function knownJobs(context: Context): Promise<KnownJob[]> {
  try {
    return await (await context.state()).jobs.all();
  } catch (error) {
    if (!(error instanceof StateError)) throw error;
    context.warn(error.message);
    return [];
  }
}

export interface Services extends Pick<ServiceClient, 'job'> {
  /** Saves the job, if the state knows it. */
  save(job: Job): Promise<void>;
}

/**
 * The service of each job: the recorded one if the state knows the job, otherwise the one in use.
 * @throws UsageError for the URL of a job at another host
 */
export async function servicesOf(
  jobs: readonly JobName[],
  watch: boolean,
  context: Context,
): Promise<Services> {
  const places = new Map<string, { context: Context; client: ServiceClient; scope: Scope | null }>();
  const known = isPlaced(context) ? [] : await knownJobs(context);
  for (const { id, host } of jobs) {
    const scope = await recordedScope(
      known.filter((job) => job.job_id === id),
      context,
    );
    const words = ['job', id, ...(watch ? ['--watch'] : [])];
    const recorded = scope && { what: `job ${id}`, scope, account: namedAccount(scope), words };
    const there = recorded ? await contextOf(recorded, context) : context;
    const client = await there.client();
    places.set(id, { context: there, client, scope });
    const ours = new URL(client.baseUrl).host;
    if (host !== null && host !== ours) {
      const hint = 'choose its --region or --account, or pass only the job id';
      throw usage(`that job is on ${host}, but the host in use is ${ours}`, hint);
    }
  }
  return {
    job: (id, signal) => places.get(id)!.client.job(id, signal),
    save: async (job) => {
      // The record may have another id than the one that was requested.
      const place = places.get(job.job_id) ?? [...places.values()][0]!;
      await saveJobs(place.context, [job], place.scope);
    },
  };
}

/** Where a known job was submitted; the service in use is preferred. Null if the state does not know the job. */
async function recordedScope(known: readonly KnownJob[], context: Context): Promise<Scope | null> {
  if (known.length < 2) return known[0]?.scope ?? null;
  const here = await context.scope().catch(() => null);
  return (known.find((job) => here && sameScope(job.scope, here)) ?? known[0]!).scope;
}
