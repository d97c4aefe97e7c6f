/** `profiles jobs`: jobs known to this machine, as last seen or as they are now (contract §1). */
import type { Command } from 'commander';
import { Exit, type ExitCode, ServiceError } from '../../engine/errors.js';
import { count } from '../../engine/numbers.js';
import type { Job } from '../../engine/service/contract.js';
import { isFinal } from '../../engine/service/names.js';
import { sameScope } from '../../engine/state/scopes.js';
import type { KnownJob } from '../../engine/state/state.js';
import type { Context } from '../context.js';
import type { ListRecord } from '../output/cell.js';
import { whileWaiting } from '../output/waiting.js';
import { examples, type Flags, type Wire } from './command.js';
import { type Listing, printListing, readListing } from './listing.js';
import { saveJobs } from './save-jobs.js';
import { stopOnSignal } from './stop-on-signal.js';

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
/** What fits a terminal. */
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
  const state = await context.state();
  if (refresh) await look(state.knownJobs(), context);
  await printListing(
    {
      records: state.knownJobs().map(recordOf),
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

/** Asks about unfinished jobs of the account and host in use; a token is never sent to another host. */
async function look(known: readonly KnownJob[], context: Context): Promise<void> {
  const unfinished = known.filter((job) => !isFinal(job.status));
  if (unfinished.length === 0) return;
  const client = await context.client();
  const here = await context.scope();
  const open = unfinished.filter((job) => sameScope(job.scope, here));
  await whileWaiting(`checking ${count(open.length, 'job')}`, context, () =>
    stopOnSignal(context, async (signal) => {
      for (const { job_id } of open) {
        const job = await client
          .job(job_id, signal)
          .catch((error: unknown) => missing(error, job_id, context));
        if (job) await saveJobs(context, [job]);
      }
    }),
  );
}

function missing(error: unknown, id: string, context: Context): Job | null {
  if (!(error instanceof ServiceError && error.status === 404)) throw error;
  context.warn(`job ${id}: not found at the service; if its rows are missing there, import them again`);
  return null;
}
