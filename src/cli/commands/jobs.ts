/** `profiles job <id...>` shows background jobs or follows them; `profiles jobs` lists those in the state (contract §5). */
import {
  AuthError,
  ConfigError,
  Exit,
  ServiceError,
  UsageError,
  WaitTimeoutError,
} from '../../engine/errors.js';
import { readJobs, watchJobs } from '../../engine/send/watch.js';
import type { Job } from '../../engine/service/contract.js';
import { isFinal } from '../../engine/service/names.js';
import { sameScope } from '../../engine/state/scopes.js';
import type { KnownJob } from '../../engine/state/state.js';
import { count } from '../../engine/util/numbers.js';
import { hintLines, toRun } from '../advice/hint.js';
import type { Context } from '../context.js';
import { engineValues, WAITING } from '../options/index.js';
import { createDisplay, lineWidth, stopOnSignal, whileWaiting } from '../output/display.js';
import { recordText } from '../output/fields.js';
import { JobBoard } from '../output/job-board.js';
import type { ListRecord } from '../output/records.js';
import { safeLine } from '../output/safe.js';
import { progressMode, stylesOn } from '../output/terminal.js';
import { writeJson, writeOut } from '../output/write.js';
import { type Ended, type Flags, spec } from './command.js';
import { waitingIn } from './import-options.js';
import {
  type JobName,
  knownJobs,
  meant,
  readJobName,
  type Services,
  servicesOf,
  unfinished,
} from './job-names.js';
import { type Listing, listingOf, printList } from './list.js';
import { contextOf, namedAccount, saveJobs, stateToRead } from './recorded.js';

interface Options {
  jobs: JobName[];
  /** Whether several ids were given, even if they name one job: the result is then an array. */
  several: boolean;
  watch: boolean;
  intervalMs: number | null;
  waitTimeoutMs: number | null;
}

export const job = spec({
  words: {
    '[id...]':
      'job ids or job URLs, or a start or end that only one known job has (default with --watch: all unfinished jobs)',
  },
  examples: [
    'profiles job urn:profiles:job:default/712b5eea-1 --region sandbox',
    'profiles job urn:profiles:job:default/712b5eea-1 --watch --region sandbox',
    'profiles job --watch',
    'profiles job urn:profiles:job:default/712b5eea-1 --json --region sandbox',
  ],
  options: (words, flags): Options => ({
    jobs: [...new Map(words.map(readJobName).map((named) => [named.id, named])).values()],
    several: words.length > 1,
    watch: flags.watch === true,
    ...engineValues({ interval: WAITING.interval }, flags),
    waitTimeoutMs: waitingIn(flags).waitTimeoutMs,
  }),
  run: showJobs,
});

async function showJobs(options: Options, context: Context): Promise<Ended> {
  const { jobs: named, watch } = options;
  const { stdout, stderr, flags, clock } = context;
  const jobs = named.length > 0 ? await meant(named, context) : await unfinished(watch, context);
  const several = options.several || jobs.length > 1;
  if (jobs.length === 0) {
    if (flags.json) await writeJson(stdout, '[]');
    else if (!flags.quiet) await writeOut(stderr, 'no unfinished jobs\n');
    return;
  }
  const services = await servicesOf(jobs, watch, context);
  const ids = jobs.map(({ id }) => id);
  if (watch) return follow(ids, { ...options, several }, services, context);
  const records = await whileWaiting('reading', context, () =>
    stopOnSignal(context, (signal) => readJobs(services, ids, { clock, signal })),
  );
  for (const record of records) await services.save(record);
  await print(records, several, context);
}

async function follow(
  ids: readonly string[],
  { several, intervalMs, waitTimeoutMs }: Options,
  services: Services,
  context: Context,
): Promise<Ended> {
  const { clock, stderr, env, flags, commands, platform } = context;
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
    if (error instanceof WaitTimeoutError) await print(inOrder(), several, context);
    throw error;
  } finally {
    display.close();
  }
  await print(inOrder(), several, context);
  const failed = inOrder().filter(({ status }) => status === 'failed');
  if (failed.length === 0) return;
  const runs = new Map((await knownJobs(context)).map(({ job_id, run }) => [job_id, run]));
  for (const { job_id } of failed) {
    const run = runs.get(job_id);
    const resume = run && commands.command('resume', run, '--failed', '--on-failure', 'isolate');
    const next = resume ? hintLines(toRun('send its rows again', resume), platform) : [];
    await writeOut(stderr, `${[`profiles: job ${safeLine(job_id)} failed`, ...next].join('\n  ')}\n`);
  }
  return Exit.jobFailed;
}

/** One record, or nothing if the job was never seen. Several records are a JSON array, or one block each. */
async function print(jobs: readonly Job[], several: boolean, { stdout, env, flags }: Context): Promise<void> {
  const document = several ? jobs : jobs[0];
  const styles = stylesOn(stdout, env, flags);
  if (!flags.json) await writeOut(stdout, jobs.map((one) => recordText(one, styles)).join('\n'));
  else if (document) await writeJson(stdout, JSON.stringify(document, null, 2));
}

const LIST = {
  fields: 'job_id kind status rows completed_rows account region base_url run submitted_at seen_at'.split(
    ' ',
  ),
  tableFields: 'job_id status kind rows completed_rows region submitted_at'.split(' '),
  id: 'job_id',
  times: ['submitted_at', 'seen_at'],
  empty: 'no jobs yet',
  styles: {
    status: (status: string) => (status === 'completed' ? 'green' : status === 'failed' ? 'red' : 'yellow'),
  },
} as const;

export const command = spec({
  examples: [
    'profiles jobs',
    'profiles jobs --refresh --region sandbox',
    'profiles jobs --filter status=failed --columns job_id,run --json',
  ],
  options: (_, flags: Flags) => ({ refresh: flags.refresh === true, listing: listingOf(flags) }),
  run: async ({ refresh, listing }: { refresh: boolean; listing: Listing }, context) => {
    const state = await (refresh ? context.state() : stateToRead(context));
    if (refresh) {
      await state.refuseMoved();
      await look(await state.jobs.all(), context);
    }
    const records = (await state.jobs.all()).map(recordOf);
    await printList({ ...LIST, records }, listing, context);
  },
});

const recordOf = ({ job_id, kind, status, rows, record, scope, run, ...times }: KnownJob): ListRecord => ({
  ...{ job_id, kind, status, rows, completed_rows: record.completed_rows ?? null },
  ...{ account: scope.account, region: scope.region, base_url: scope.base_url },
  ...{ run, submitted_at: times.submitted_at, seen_at: times.seen_at },
});

/** Polls unfinished jobs, each in its own region and account. A token is never sent to another host. */
async function look(known: readonly KnownJob[], context: Context): Promise<void> {
  const open = known.filter(({ status }) => !isFinal(status));
  const groups: KnownJob[][] = [];
  for (const one of open) {
    const group = groups.find(([first]) => sameScope(first!.scope, one.scope));
    if (group) group.push(one);
    else groups.push([one]);
  }
  for (const group of groups) {
    try {
      await lookAt(group, context);
    } catch (error) {
      const here = error instanceof ConfigError || error instanceof UsageError || error instanceof AuthError;
      // The other jobs can still be polled.
      if (!here || groups.length === 1) throw error;
      context.warn(`${count(group.length, 'job')} not checked: ${error.message}`);
    }
  }
}

/** @param group jobs of one scope */
async function lookAt(group: readonly KnownJob[], context: Context): Promise<void> {
  const what = count(group.length, 'unfinished job');
  const { scope } = group[0]!;
  const recorded = { what, scope, account: namedAccount(scope), words: ['jobs', '--refresh'] };
  const there = await contextOf(recorded, context);
  const client = await there.client();
  if (!sameScope(await there.scope(), scope)) {
    context.warn(`${what} of another account (${scope.account}, ${scope.base_url}) not checked`);
    return;
  }
  await whileWaiting(`checking ${count(group.length, 'job')}`, context, () =>
    stopOnSignal(context, async (signal) => {
      for (const { job_id: id } of group) {
        try {
          await saveJobs(there, [await client.job(id, signal)], scope);
        } catch (error) {
          if (!(error instanceof ServiceError && error.status === 404)) throw error;
          context.warn(
            `job ${id}: not found at the service; if its rows are missing there, import them again`,
          );
        }
      }
    }),
  );
}
