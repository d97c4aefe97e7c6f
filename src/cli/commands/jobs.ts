/** `profiles job <id...>` shows background jobs or follows them; `profiles jobs` lists those in the state (contract §5). */

import * as errors from '../../engine/errors.js';
import { readJobs, watchJobs } from '../../engine/send/follow.js';
import type { Job } from '../../engine/service/contract.js';
import { isFinal } from '../../engine/service/names.js';
import { sameScope } from '../../engine/state/access.js';
import type { KnownJob } from '../../engine/state/state.js';
import { count } from '../../engine/util/numbers.js';
import { toRun } from '../advice/hint.js';
import type { Context } from '../context.js';
import { toneOf } from '../facts/outcome.js';
import { engineValues, WAITING, waitingIn } from '../options/index.js';
import { createDisplay, lineWidth, stopOnSignal, waiting } from '../output/display.js';
import { JobBoard } from '../output/progress.js';
import { fieldsFor, jobRecord, pick } from '../output/records.js';
import { colorOf, progressMode, safeHint, stylesOn, writeJson, writeOut } from '../output/terminal.js';
import { type Ended, print, type Spec, say } from './command.js';
import {
  knownJobs,
  meant,
  readJobName,
  type Services,
  servicesOf,
  unfinished,
  withJobs,
} from './job-names.js';
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
      await print(context, document, fieldsFor(context, ...records.map(jobRecord)));
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
  const { clock, stderr, commands } = context;
  const board = new JobBoard(clock, stylesOn(stderr, context));
  const display = createDisplay(board, { stream: stderr, mode: progressMode(stderr, context), clock });
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
      if (job) await recorded.saveJob(there, job, scope);
      else
        context.warn(`job ${id}: not found at the service; if its rows are missing there, import them again`);
    }
  });
}
