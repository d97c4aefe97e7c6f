/** Which jobs are meant by the words of a command, and which service has each of them. */
import * as errors from '../../engine/errors.js';
import type { ServiceClient } from '../../engine/service/client.js';
import type { Job } from '../../engine/service/contract.js';
import { hasEnded } from '../../engine/service/names.js';
import { sameScope } from '../../engine/state/access.js';
import type { KnownJob, Scope } from '../../engine/state/state.js';
import { hinted } from '../advice/hint.js';
import { LIST_JOBS } from '../advice/words.js';
import type { Context } from '../context.js';
import { usage } from '../options/index.js';
import { stopOnSignal } from '../output/display.js';
import * as recorded from './recorded.js';

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
      await recorded.saveJob(place.context, one, place.scope);
    },
  };
}
