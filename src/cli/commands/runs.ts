/** `profiles runs [run]`: lists the imports in the state, shows one, or forgets one (contract §1). */
import { LockedError } from '../../engine/errors.js';
import type { StoredRun } from '../../engine/state/runs.js';
import type { HeldLease, State } from '../../engine/state/state.js';
import { hinted } from '../advice/hint.js';
import type { Context } from '../context.js';
import { given, REPORTING, RUNS, usage, valuesOf } from '../options/index.js';
import type { ListRecord } from '../output/records.js';
import { writeJson, writeOut } from '../output/write.js';
import { type Flags, spec } from './command.js';
import { type Listing, listingOf, printList } from './list.js';
import { findRun, isAlive, stateToRead, unknownRun } from './recorded.js';
import { commandsFor, recordOf, show } from './runs-detail.js';

const LIST = {
  fields:
    'run status kinds files read submitted rejected unknown unsent region account started_at ended_at resume'.split(
      ' ',
    ),
  tableFields: 'run status files read submitted region started_at'.split(' '),
  id: 'run',
  times: ['started_at', 'ended_at'],
  empty: 'no imports yet',
  newest: 20,
};

type Options =
  | { do: 'list'; listing: Listing }
  | { do: 'forget'; run: string }
  | { do: 'show'; run: string; report: string | null; values: boolean };

export const command = spec({
  words: { '[run]': 'run id, or a start or end that only one has, to show one run in detail' },
  examples: [
    'profiles runs',
    'profiles runs --filter status=stopped --json',
    'profiles runs 20261120-101500-x7k2',
    'profiles runs 20261120-101500-x7k2 --report report.html',
    'profiles runs --forget 20261120-101500-x7k2',
  ],
  options,
  run,
});

async function options([run]: readonly string[], flags: Flags, { settings }: Context): Promise<Options> {
  const { forget } = given(RUNS, flags);
  if (forget !== undefined && run !== undefined) {
    throw hinted(usage('--forget takes the run id as its value'), {
      do: 'to forget it',
      run: ['runs', '--forget', forget],
    });
  }
  const { importDefaults } = await settings();
  const { report = null, reportValues: values } = valuesOf(REPORTING, { ...importDefaults, ...flags });
  if (report !== null && (run === undefined || forget !== undefined)) {
    throw usage('--report is for one run', 'profiles runs <run> --report report.html');
  }
  if (forget !== undefined) return { do: 'forget', run: forget };
  return run === undefined ? { do: 'list', listing: listingOf(flags) } : { do: 'show', run, report, values };
}

async function run(options: Options, context: Context): Promise<void> {
  const state = await (options.do === 'forget' ? context.state() : stateToRead(context));
  const runs: StoredRun[] = [];
  for (const run of await state.runs.all()) {
    // If it is recorded as running, but its locks are free, its process has died.
    const isDead = run.status === 'running' && !(await isAlive(run, state));
    runs.push(isDead ? { ...run, status: 'crashed' } : run);
  }
  if (options.do === 'list') {
    const records: ListRecord[] = [];
    for (const run of runs) {
      records.push(recordOf(run, run.finished ? context.commands : await commandsFor(run, context)));
    }
    await printList({ ...LIST, records }, options.listing, context);
  } else if (options.do === 'forget') {
    // Only a whole id: a wrong one could not be brought back.
    const exact = runs.find(({ run }) => run === options.run) ?? unknownRun(runs, options.run);
    await forget(exact, state, context);
  } else {
    const found = findRun(runs, options.run);
    const { report: name, values } = options;
    await show(found, name === null ? null : { name, values }, state, context);
  }
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
