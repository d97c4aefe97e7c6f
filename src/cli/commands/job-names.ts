/** The jobs that a command line means: by id, URL, or a start or end of an id, or all that are unfinished. */
import { AuthError, ConfigError, ServiceError, StateError, UsageError } from '../../engine/errors.js';
import { hasEnded } from '../../engine/service/names.js';
import { sameScope } from '../../engine/state/scopes.js';
import type { KnownJob } from '../../engine/state/state.js';
import { hinted, toRun } from '../advice/hint.js';
import type { Context } from '../context.js';
import { stopOnSignal } from '../output/waiting.js';
import { idsLike, severalFit } from './recorded-service.js';

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
  if (id === '' || id === '.' || id === '..') {
    throw hinted(new UsageError(`"${word}" is not a job id`), ({ command }) =>
      toRun('to list the known jobs', command('jobs')),
    );
  }
  return { id, host: encoded === undefined ? null : new URL(word).host };
}

function decoded(encoded: string, word: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    throw new UsageError(`"${word}" is not a valid URL`, { hint: 'pass only the job id' });
  }
}

/** Jobs that this state knows, and that have not ended. @throws UsageError without `--watch` */
export async function unfinished(watch: boolean, context: Context): Promise<JobName[]> {
  if (!watch) {
    throw hinted(new UsageError('job needs a job id, or --watch for all unfinished jobs'), ({ command }) =>
      toRun('to list the known jobs', command('jobs')),
    );
  }
  const { region, account, baseUrl } = context.flags;
  const isAnywhere = region === undefined && account === undefined && baseUrl === undefined;
  const here = isAnywhere ? null : await context.scope();
  const open = (await knownJobs(context)).filter(
    (job) => !hasEnded(job) && (here === null || sameScope(job.scope, here)),
  );
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
    return (await context.state()).jobs.all();
  } catch (error) {
    if (!(error instanceof StateError)) throw error;
    context.warn(error.message);
    return [];
  }
}
