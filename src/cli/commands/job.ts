/**
 * `profiles job <id...>`: shows background jobs, or follows them to their end (contract §5; spec: Endpoint
 * 4).
 */
import type { Command } from 'commander';
import { Exit, type ExitCode, UsageError, WaitTimeoutError } from '../../engine/errors.js';
import { readJobs, watchJobs } from '../../engine/send/watch.js';
import type { ServiceClient } from '../../engine/service/client.js';
import type { Job } from '../../engine/service/contract.js';
import { sameScope } from '../../engine/state/scopes.js';
import type { Scope } from '../../engine/state/state.js';
import { hintLines, toRun } from '../advice/hint.js';
import type { Context } from '../context.js';
import { engineValues, WAITING } from '../options/index.js';
import { createDisplay, lineWidth } from '../output/display.js';
import { JobBoard } from '../output/job-board.js';
import { recordText } from '../output/record-text.js';
import { safeLine } from '../output/safe.js';
import { stylesOn } from '../output/style.js';
import { progressMode } from '../output/terminal.js';
import { stopOnSignal, whileWaiting } from '../output/waiting.js';
import { writeJson, writeOut } from '../output/write.js';
import { examples, type Flags, type Wire } from './command.js';
import { waitingIn } from './import-options.js';
import { type JobName, knownJobs, meant, readJobName, unfinished } from './job-names.js';
import { contextOf, namedAccount } from './recorded-service.js';
import { saveJobs } from './save-jobs.js';

interface Options {
  jobs: JobName[];
  /** Whether several ids were given, even if they name one job: the result is then an array. */
  several: boolean;
  watch: boolean;
  intervalMs: number | null;
  waitTimeoutMs: number | null;
}

export function define(command: Command, wire: Wire): void {
  command.argument(
    '[id...]',
    'job ids or job URLs, or a start or end that only one known job has (default with --watch: all unfinished jobs)',
  );
  examples(command, [
    'profiles job urn:profiles:job:default/712b5eea-1 --region sandbox',
    'profiles job urn:profiles:job:default/712b5eea-1 --watch --region sandbox',
    'profiles job --watch',
    'profiles job urn:profiles:job:default/712b5eea-1 --json --region sandbox',
  ]);
  command.action(wire(options, run));
}

function options(words: readonly string[], flags: Flags): Options {
  const jobs = new Map(words.map(readJobName).map((job) => [job.id, job]));
  return {
    jobs: [...jobs.values()],
    several: words.length > 1,
    watch: flags.watch === true,
    ...engineValues({ interval: WAITING.interval }, flags),
    waitTimeoutMs: waitingIn(flags).waitTimeoutMs,
  };
}

async function run(
  { jobs: named, several: many, watch, ...timing }: Options,
  context: Context,
): Promise<ExitCode> {
  const jobs = named.length > 0 ? await meant(named, context) : await unfinished(watch, context);
  const several = many || jobs.length > 1;
  if (jobs.length === 0) {
    if (context.flags.json) await writeJson(context.stdout, '[]');
    else if (!context.flags.quiet) await writeOut(context.stderr, 'no unfinished jobs\n');
    return Exit.done;
  }
  const services = await servicesOf(jobs, watch, context);
  const ids = jobs.map(({ id }) => id);
  if (watch) return follow(ids, { several, ...timing }, services, context);
  const records = await whileWaiting('reading', context, () =>
    stopOnSignal(context, (signal) => readJobs(services, ids, { clock: context.clock, signal })),
  );
  for (const record of records) await services.save(record);
  await print(records, several, context);
  return Exit.done;
}

interface Services extends Pick<ServiceClient, 'job'> {
  /** Saves the job, if the state knows it. */
  save(job: Job): Promise<void>;
}

/**
 * The service of each job: the recorded one if the state knows the job, otherwise the one in use.
 * @throws UsageError for the URL of a job at another host
 */
async function servicesOf(jobs: readonly JobName[], watch: boolean, context: Context): Promise<Services> {
  const words = (id: string): string[] => ['job', id, ...(watch ? ['--watch'] : [])];
  const places = new Map<string, { context: Context; client: ServiceClient; scope: Scope | null }>();
  for (const { id, host } of jobs) {
    const scope = await recordedScope(id, context);
    const recorded = scope && { what: `job ${id}`, scope, account: namedAccount(scope), words: words(id) };
    const there = recorded ? await contextOf(recorded, context) : context;
    const client = await there.client();
    places.set(id, { context: there, client, scope });
    const ours = new URL(client.baseUrl).host;
    if (host !== null && host !== ours) {
      throw new UsageError(`that job is on ${host}, but the host in use is ${ours}`, {
        hint: 'choose its --region or --account, or pass only the job id',
      });
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

/**
 * Where a known job was submitted; the service in use is preferred. Null if the state does not know the job.
 */
async function recordedScope(id: string, context: Context): Promise<Scope | null> {
  const { region, account, baseUrl } = context.flags;
  if (region !== undefined || account !== undefined || baseUrl !== undefined) return null;
  const known = (await knownJobs(context)).filter((job) => job.job_id === id);
  if (known.length < 2) return known[0]?.scope ?? null;
  const here = await context.scope().catch(() => null);
  return (known.find((job) => here && sameScope(job.scope, here)) ?? known[0]!).scope;
}

async function follow(
  ids: readonly string[],
  { several, intervalMs, waitTimeoutMs }: Omit<Options, 'jobs' | 'watch'>,
  services: Services,
  context: Context,
): Promise<ExitCode> {
  const { clock, stderr, env, flags, commands, platform } = context;
  const styles = stylesOn(stderr, env, flags);
  const board = new JobBoard(clock, styles);
  const display = createDisplay(board, { stream: stderr, mode: progressMode(stderr, env, flags), clock });
  const records = new Map<string, Job>();
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
    const followCommand = commands.command('job', ...ids, '--watch');
    await stopOnSignal(context, watching, toRun('the jobs continue; follow them with', followCommand));
  } catch (error) {
    display.close();
    if (error instanceof WaitTimeoutError) await print(inOrder(ids, records), several, context);
    throw error;
  } finally {
    display.close();
  }
  const jobs = inOrder(ids, records);
  await print(jobs, several, context);
  const failed = jobs.filter((job) => job.status === 'failed');
  const runs = new Map((await knownJobs(context)).map((job) => [job.job_id, job.run]));
  for (const job of failed) {
    const run = runs.get(job.job_id);
    const next = run
      ? hintLines(
          toRun(
            'send its rows again',
            commands.command('resume', run, '--failed', '--on-failure', 'isolate'),
          ),
          platform,
        )
      : [];
    await writeOut(
      stderr,
      `${[`profiles: job ${safeLine(job.job_id)} failed`, ...next, ''].join('\n  ').trimEnd()}\n`,
    );
  }
  return failed.length > 0 ? Exit.jobFailed : Exit.done;
}

const inOrder = (ids: readonly string[], records: ReadonlyMap<string, Job>): Job[] =>
  ids.flatMap((id) => records.get(id) ?? []);

/**
 * Prints one record, or nothing if the job was never seen. Several records are a JSON array, or one block
 * each.
 */
async function print(
  records: readonly Job[],
  several: boolean,
  { stdout, env, flags }: Context,
): Promise<void> {
  if (flags.json) {
    const document = several ? records : records[0];
    if (document) await writeJson(stdout, JSON.stringify(document, null, 2));
    return;
  }
  const styles = stylesOn(stdout, env, flags);
  await writeOut(stdout, records.map((job) => recordText(job, styles)).join('\n'));
}
