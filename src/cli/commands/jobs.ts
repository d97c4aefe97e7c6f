/** `profiles jobs`: lists the jobs in the state, as last seen or as they are now (contract §1). */
import type { Command } from 'commander';
import {
  AuthError,
  ConfigError,
  Exit,
  type ExitCode,
  ServiceError,
  UsageError,
} from '../../engine/errors.js';
import { count } from '../../engine/numbers.js';
import type { Job } from '../../engine/service/contract.js';
import { isFinal } from '../../engine/service/names.js';
import { sameScope } from '../../engine/state/scopes.js';
import type { KnownJob, Scope } from '../../engine/state/state.js';
import type { Context } from '../context.js';
import type { ListRecord } from '../output/records.js';
import { stopOnSignal, whileWaiting } from '../output/waiting.js';
import { examples, type Flags, type Wire } from './command.js';
import { type Listing, printListing, readListing } from './listing.js';
import { contextOf, namedAccount, stateToRead } from './recorded-service.js';
import { saveJobs } from './save-jobs.js';

const FIELDS = [
  'job_id',
  'kind',
  'status',
  'rows',
  'completed_rows',
  'account',
  'region',
  'base_url',
  'run',
  'submitted_at',
  'seen_at',
];
/** The fields of a table. */
const TABLE_FIELDS = ['job_id', 'status', 'kind', 'rows', 'completed_rows', 'region', 'submitted_at'];

interface Options {
  refresh: boolean;
  listing: Listing;
}

export function define(command: Command, wire: Wire): void {
  examples(command, [
    'profiles jobs',
    'profiles jobs --refresh --region sandbox',
    'profiles jobs --filter status=failed --columns job_id,run --json',
  ]);
  command.action(wire(options, run));
}

function options(_words: readonly string[], flags: Flags): Options {
  return { refresh: flags.refresh === true, listing: readListing(flags) };
}

async function run({ refresh, listing }: Options, context: Context): Promise<ExitCode> {
  const state = await (refresh ? context.state() : stateToRead(context));
  if (refresh) {
    await state.refuseMoved();
    await look(await state.jobs.all(), context);
  }
  await printListing(
    {
      records: (await state.jobs.all()).map(recordOf),
      fields: FIELDS,
      tableFields: TABLE_FIELDS,
      id: 'job_id',
      times: ['submitted_at', 'seen_at'],
      empty: 'no jobs yet',
      styles: {
        status: (status) => (status === 'completed' ? 'green' : status === 'failed' ? 'red' : 'yellow'),
      },
    },
    listing,
    context,
  );
  return Exit.done;
}

function recordOf(job: KnownJob): ListRecord {
  return {
    job_id: job.job_id,
    kind: job.kind,
    status: job.status,
    rows: job.rows,
    completed_rows: job.record.completed_rows ?? null,
    account: job.scope.account,
    region: job.scope.region,
    base_url: job.scope.base_url,
    run: job.run,
    submitted_at: job.submitted_at,
    seen_at: job.seen_at,
  };
}

/** Polls unfinished jobs, each in its own region and account. A token is never sent to another host. */
async function look(known: readonly KnownJob[], context: Context): Promise<void> {
  const unfinished = known.filter((job) => !isFinal(job.status));
  for (const group of byScope(unfinished)) {
    const [{ scope }] = group as [KnownJob];
    try {
      await lookAt(group, scope, context);
    } catch (error) {
      const here = error instanceof ConfigError || error instanceof UsageError || error instanceof AuthError;
      // The other jobs can still be polled.
      if (!here || group.length === unfinished.length) throw error;
      context.warn(`${count(group.length, 'job')} not checked: ${error.message}`);
    }
  }
}

function byScope(jobs: readonly KnownJob[]): KnownJob[][] {
  const groups: KnownJob[][] = [];
  for (const job of jobs) {
    const group = groups.find(([first]) => sameScope(first!.scope, job.scope));
    if (group) group.push(job);
    else groups.push([job]);
  }
  return groups;
}

async function lookAt(jobs: readonly KnownJob[], scope: Scope, context: Context): Promise<void> {
  const what = count(jobs.length, 'unfinished job');
  const recorded = { what, scope, account: namedAccount(scope), words: ['jobs', '--refresh'] };
  const there = await contextOf(recorded, context);
  const client = await there.client();
  if (!sameScope(await there.scope(), scope)) {
    context.warn(`${what} of another account (${scope.account}, ${scope.base_url}) not checked`);
    return;
  }
  await whileWaiting(`checking ${count(jobs.length, 'job')}`, context, () =>
    stopOnSignal(context, async (signal) => {
      for (const { job_id } of jobs) {
        const job = await client
          .job(job_id, signal)
          .catch((error: unknown) => missing(error, job_id, context));
        if (job) await saveJobs(there, [job], scope);
      }
    }),
  );
}

function missing(error: unknown, id: string, context: Context): Job | null {
  if (!(error instanceof ServiceError && error.status === 404)) throw error;
  context.warn(`job ${id}: not found at the service; if its rows are missing there, import them again`);
  return null;
}
