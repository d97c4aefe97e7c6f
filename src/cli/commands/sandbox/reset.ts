/**
 * `profiles sandbox reset`: erases all profiles and jobs of the sandbox, and what the state knows about them.
 */
import { Exit, type ExitCode, LockedError, UsageError } from '../../../engine/errors.js';
import { KINDS } from '../../../engine/model.js';
import { count } from '../../../engine/numbers.js';
import type { HeldLease, State } from '../../../engine/state/state.js';
import { openSandboxData } from '../../../sandbox/index.js';
import { type Context, EMBEDDED } from '../../context.js';
import { writeJson, writeOut } from '../../output/write.js';
import { statePlace } from '../state/state-place.js';

/** @throws LockedError while an import to the sandbox runs; UsageError for a single region */
export async function reset(data: string, context: Context): Promise<ExitCode> {
  const { stdout, clock, flags } = context;
  if (flags.region !== undefined && flags.region !== 'sandbox') {
    throw new UsageError('sandbox reset erases all regions of the sandbox', { hint: 'leave --region out' });
  }
  // Only imports with `--region sandbox` are in the state, and their data is always in the state directory.
  const isEmbedded = data === (await context.settings()).stateDir && (await statePlace(context)).exists;
  const state = isEmbedded ? await context.state() : null;
  const locks: HeldLease[] = [];
  try {
    if (state) await lock(state, locks);
    const held = openSandboxData(data, clock);
    const erased = held?.reset() ?? { companies: 0, users: 0, jobs: 0 };
    held?.close();
    const forgotten = (await state?.runs.forgetScope(EMBEDDED)) ?? { runs: 0, jobs: 0 };
    if (flags.json) await writeJson(stdout, JSON.stringify({ erased, forgotten, data }, null, 2));
    else {
      const companies = count(erased.companies, 'company', 'companies');
      const [users, jobs] = [count(erased.users, 'user'), count(erased.jobs, 'job')];
      const runs = forgotten.runs === 0 ? '' : `; forgot ${count(forgotten.runs, 'import')} to it`;
      await writeOut(stdout, `erased ${companies}, ${users}, and ${jobs} from ${data}${runs}\n`);
    }
    return Exit.done;
  } finally {
    for (const lock of locks) await lock.release();
  }
}

async function lock(state: State, locks: HeldLease[]): Promise<void> {
  for (const kind of KINDS) {
    const taken = await state.locks.take(EMBEDDED, kind, 'sandbox reset');
    if (!taken) {
      const holder = (await state.locks.holder(EMBEDDED, kind)) ?? 'it';
      throw new LockedError(`an import of ${kind} to the sandbox is running: ${holder}`, {
        hint: 'wait for it to end, or interrupt it',
      });
    }
    locks.push(taken);
  }
}
