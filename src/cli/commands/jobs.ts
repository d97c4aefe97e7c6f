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
import { toRun } from '../advice/hint.js';
import type { Context } from '../context.js';
import { engineValues, WAITING } from '../options/index.js';
import { createDisplay, lineWidth, stopOnSignal } from '../output/display.js';
import { JobBoard } from '../output/job-board.js';
import { recordText } from '../output/records.js';
import { safeHint } from '../output/safe.js';
import { progressMode, stylesOn } from '../output/terminal.js';
import { writeJson, writeOut } from '../output/write.js';
import { type Ended, print, say, spec, waiting } from './command.js';
import { waitingIn } from './import-options.js';
import { knownJobs, meant, readJobName, type Services, servicesOf, unfinished } from './job-names.js';
import { list } from './list.js';
import { contextOf, namedAccount, saveJobs, stateToRead } from './recorded.js';

export const job = spec({
  options: (words, flags) => ({
    named: [...new Map(words.map(readJobName).map((name) => [name.id, name])).values()],
    /** Whether several ids were given, even if they name one job: the result is then an array. */
    isArray: words.length > 1,
    watch: flags.watch === true,
    ...engineValues({ interval: WAITING.interval }, flags),
    waitTimeoutMs: waitingIn(flags).waitTimeoutMs,
  }),
  run: async ({ named, isArray, watch, ...how }, context): Promise<Ended> => {
    const { clock, stdout, flags, stderr, commands, platform } = context;
    const jobs = named.length > 0 ? await meant(named, context) : await unfinished(watch, context);
    if (jobs.length === 0) {
      if (flags.json) return writeJson(stdout, '[]');
      return say(context, 'no unfinished jobs');
    }
    const services = await servicesOf(jobs, watch, context);
    const ids = jobs.map(({ id }) => id);
    const show = (records: readonly Job[]): Promise<void> =>
      printJobs(records, isArray || jobs.length > 1, context);
    if (!watch) {
      const records = await waiting('reading', context, (signal) =>
        readJobs(services, ids, { clock, signal }),
      );
      for (const record of records) await services.save(record);
      return show(records);
    }
    const failed = (await follow(ids, how, { services, show }, context)).filter(
      ({ status }) => status === 'failed',
    );
    if (failed.length === 0) return;
    const runs = new Map((await knownJobs(context)).map(({ job_id, run }) => [job_id, run]));
    for (const { job_id } of failed) {
      const run = runs.get(job_id);
      const resume = run && commands.command('resume', run, '--failed', '--on-failure', 'isolate');
      const next = resume ? `\n${toRun('send its rows again', resume)}` : '';
      await writeOut(stderr, `profiles: ${safeHint(`job ${job_id} failed${next}`, platform)}\n`);
    }
    return Exit.jobFailed;
  },
});

/** Shows the jobs until all have ended. @returns their last records, in order */
async function follow(
  ids: readonly string[],
  { intervalMs, waitTimeoutMs }: { intervalMs: number | null; waitTimeoutMs: number | null },
  { services, show }: { services: Services; show(records: readonly Job[]): Promise<void> },
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
    if (error instanceof WaitTimeoutError) await show(inOrder());
    throw error;
  } finally {
    display.close();
  }
  await show(inOrder());
  return inOrder();
}

/** One record, or nothing if the job was never seen. Several records are a JSON array, or one block each. */
async function printJobs(jobs: readonly Job[], isArray: boolean, context: Context): Promise<void> {
  const { stdout, env, flags } = context;
  const styles = stylesOn(stdout, env, flags);
  const document = isArray ? jobs : jobs[0];
  if (document || !flags.json) {
    await print(context, document, jobs.map((one) => recordText(one, styles)).join('\n'));
  }
}

const FIELDS = 'job_id kind status rows completed_rows account region base_url run submitted_at seen_at';
const COLORS: Readonly<Record<string, 'green' | 'red'>> = { completed: 'green', failed: 'red' };

export const command = list({
  options: (_, flags) => flags.refresh === true,
  find: async (isRefreshed, context) => {
    const state = await (isRefreshed ? context.state() : stateToRead(context));
    if (isRefreshed) {
      await state.refuseMoved();
      await refresh(await state.jobs.all(), context);
    }
    const records = (await state.jobs.all()).map(({ record, scope, ...known }) => {
      const all: Record<string, unknown> = {
        ...known,
        ...scope,
        completed_rows: record.completed_rows ?? null,
      };
      return Object.fromEntries(FIELDS.split(' ').map((field) => [field, all[field]]));
    });
    return {
      ...{ records, fields: FIELDS.split(' '), id: 'job_id', empty: 'no jobs yet' },
      tableFields: 'job_id status kind rows completed_rows region submitted_at'.split(' '),
      times: ['submitted_at', 'seen_at'],
      styles: { status: (status) => COLORS[status] ?? 'yellow' },
    };
  },
});

/** Polls unfinished jobs, each in its own region and account. A token is never sent to another host. */
async function refresh(known: readonly KnownJob[], context: Context): Promise<void> {
  const groups: KnownJob[][] = [];
  for (const one of known.filter(({ status }) => !isFinal(status))) {
    const group = groups.find(([first]) => sameScope(first!.scope, one.scope));
    if (group) group.push(one);
    else groups.push([one]);
  }
  for (const group of groups) {
    try {
      await poll(group, context);
    } catch (error) {
      const here = error instanceof ConfigError || error instanceof UsageError || error instanceof AuthError;
      // The other jobs can still be polled.
      if (!here || groups.length === 1) throw error;
      context.warn(`${count(group.length, 'job')} not checked: ${error.message}`);
    }
  }
}

/** @param group jobs of one scope */
async function poll(group: readonly KnownJob[], context: Context): Promise<void> {
  const what = count(group.length, 'unfinished job');
  const { scope } = group[0]!;
  const recorded = { what, scope, account: namedAccount(scope), words: ['jobs', '--refresh'] };
  const there = await contextOf(recorded, context);
  const client = await there.client();
  if (!sameScope(await there.scope(), scope)) {
    context.warn(`${what} of another account (${scope.account}, ${scope.base_url}) not checked`);
    return;
  }
  await waiting(`checking ${count(group.length, 'job')}`, context, async (signal) => {
    for (const { job_id: id } of group) {
      try {
        await saveJobs(there, [await client.job(id, signal)], scope);
      } catch (error) {
        if (!(error instanceof ServiceError && error.status === 404)) throw error;
        context.warn(`job ${id}: not found at the service; if its rows are missing there, import them again`);
      }
    }
  });
}
