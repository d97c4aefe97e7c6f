/** `profiles runs [run]`: lists the imports in the state, shows one, or forgets one (contract §1). */
import type { Command } from 'commander';
import { Exit, type ExitCode, LockedError, UsageError } from '../../engine/errors.js';
import type { StoredRun } from '../../engine/state/runs.js';
import type { HeldLease, State } from '../../engine/state/state.js';
import { hinted, toRun } from '../advice/hint.js';
import type { Context } from '../context.js';
import { given, REPORTING, RUNS, valuesOf } from '../options/index.js';
import type { ListRecord } from '../output/records.js';
import { writeJson, writeOut } from '../output/write.js';
import { examples, type Flags, type Wire } from './command.js';
import { type Listing, printListing, readListing } from './listing.js';
import { findRun, isAlive, stateToRead, unknownRun } from './recorded-service.js';
import { commandsFor, recordOf } from './runs/record.js';
import { show } from './runs/show.js';

const FIELDS = [
  'run',
  'status',
  'kinds',
  'files',
  'read',
  'submitted',
  'rejected',
  'unknown',
  'unsent',
  'region',
  'account',
  'started_at',
  'ended_at',
  'resume',
];
const TABLE_FIELDS = ['run', 'status', 'files', 'read', 'submitted', 'region', 'started_at'];

type Options =
  | { do: 'list'; listing: Listing }
  | { do: 'forget'; run: string }
  | { do: 'show'; run: string; report: string | null; values: boolean };

export function define(command: Command, wire: Wire): void {
  command.argument('[run]', 'run id, or a start or end that only one has, to show one run in detail');
  examples(command, [
    'profiles runs',
    'profiles runs --filter status=stopped --json',
    'profiles runs 20261120-101500-x7k2',
    'profiles runs 20261120-101500-x7k2 --report report.html',
    'profiles runs --forget 20261120-101500-x7k2',
  ]);
  command.action(wire(options, run));
}

async function options([run]: readonly string[], flags: Flags, { settings }: Context): Promise<Options> {
  const { forget } = given(RUNS, flags);
  if (forget !== undefined && run !== undefined) {
    throw hinted(new UsageError('--forget takes the run id as its value'), ({ command }) =>
      toRun('to forget it', command('runs', '--forget', forget)),
    );
  }
  const { report = null, reportValues } = valuesOf(REPORTING, {
    ...(await settings()).importDefaults,
    ...flags,
  });
  if (report !== null && (run === undefined || forget !== undefined)) {
    throw new UsageError('--report is for one run', { hint: 'profiles runs <run> --report report.html' });
  }
  if (forget !== undefined) return { do: 'forget', run: forget };
  if (run === undefined) return { do: 'list', listing: readListing(flags) };
  return { do: 'show', run, report, values: reportValues };
}

async function run(options: Options, context: Context): Promise<ExitCode> {
  const state = await (options.do === 'forget' ? context.state() : stateToRead(context));
  const runs = await Promise.all((await state.runs.all()).map((run) => asItIs(run, state)));
  if (options.do === 'list') {
    const list = {
      records: await recordsOf(runs, context),
      fields: FIELDS,
      tableFields: TABLE_FIELDS,
      id: 'run',
      times: ['started_at', 'ended_at'],
      empty: 'no imports yet',
      newest: 20,
    };
    await printListing(list, options.listing, context);
    return Exit.done;
  }
  if (options.do === 'forget') {
    // Only a whole id: a wrong one could not be brought back.
    const exact = runs.find(({ run }) => run === options.run) ?? unknownRun(runs, options.run);
    await forget(exact, state, context);
    return Exit.done;
  }
  const found = findRun(runs, options.run);
  const { report, values } = options;
  await show(found, report === null ? null : { name: report, values }, state, context);
  return Exit.done;
}

async function forget(run: StoredRun, state: State, { stdout, stderr, flags }: Context): Promise<void> {
  const locks: HeldLease[] = [];
  try {
    for (const kind of run.kinds) {
      const lock = await state.locks.take(run.scope, kind);
      if (lock) locks.push(lock);
      else if (run.status === 'running') {
        throw new LockedError(`run ${run.run} is running`, { hint: 'wait for it to end, or interrupt it' });
      }
    }
    await state.runs.forget(run.run);
  } finally {
    for (const lock of locks) await lock.release();
  }
  if (!flags.quiet) await writeOut(stderr, `forgot run ${run.run}\n`);
  if (flags.json) await writeJson(stdout, JSON.stringify({ run: run.run, forgotten: true }));
}

/**
 * The run with its true status: if it is recorded as running, but its locks are free, its process has died.
 */
async function asItIs(run: StoredRun, state: State): Promise<StoredRun> {
  return run.status !== 'running' || (await isAlive(run, state)) ? run : { ...run, status: 'crashed' };
}

async function recordsOf(runs: readonly StoredRun[], context: Context): Promise<ListRecord[]> {
  const records: ListRecord[] = [];
  for (const run of runs) {
    records.push(recordOf(run, run.finished ? context.commands : await commandsFor(run, context)));
  }
  return records;
}
