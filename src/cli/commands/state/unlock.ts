/** `state unlock`: releases locks of processes that are gone; with `--force`, all locks. */
import { Exit, type ExitCode, LockedError, UsageError } from '../../../engine/errors.js';
import { count } from '../../../engine/numbers.js';
import type { HeldLock } from '../../../engine/state/state.js';
import { hinted, toRun } from '../../advice/hint.js';
import type { Context } from '../../context.js';
import { safeLine } from '../../output/safe.js';
import { writeJson, writeOut } from '../../output/write.js';
import { canAsk } from '../config/store.js';
import { lockText } from './lock-text.js';
import { requireState, type StatePlace, statePlace } from './state-place.js';

/** @throws LockedError if the holder of a lock is active, and `--force` was not given */
export async function unlock({ force }: { force: boolean }, context: Context): Promise<ExitCode> {
  const place = await statePlace(context);
  requireState(place);
  const state = await context.state();
  const held = await state.locks.all();
  if (place.isFolder) return explain(held, place, context);
  const fresh = held.filter((lock) => lock.fresh);
  if (fresh.length > 0 && !force) {
    throw hinted(new LockedError(`the lock on ${fresh.map(lockText).join('; ')}`), ({ command }) =>
      toRun(
        'wait for that import to end, or stop it; to take the lock from it, so that it stops before its next request',
        command('state', 'unlock', '--force'),
      ),
    );
  }
  if (fresh.length > 0) await ask(fresh, context);
  const released = await state.locks.unlock(force);
  if (context.flags.json)
    await writeJson(context.stdout, JSON.stringify({ state: place.name, released }, null, 2));
  else if (released.length === 0)
    await writeOut(context.stdout, 'no lock is held by a process that is gone\n');
  else
    await writeOut(
      context.stdout,
      released.map((lock) => `released: ${safeLine(lockText(lock))}\n`).join(''),
    );
  return Exit.done;
}

/** Explains that there is nothing to release: a lock in a folder ends with its process. */
async function explain(held: HeldLock[], place: StatePlace, context: Context): Promise<ExitCode> {
  if (context.flags.json) {
    await writeJson(context.stdout, JSON.stringify({ state: place.name, released: [] }, null, 2));
    return Exit.done;
  }
  const lines = [
    ...held.map((lock) => `${safeLine(lockText(lock))}\n`),
    held.length === 0 ? 'no lock is held\n' : '',
    'Locks of a state directory need no unlocking: the operating system releases each when its process ends.\n',
  ];
  await writeOut(context.stdout, lines.join(''));
  return Exit.done;
}

/**
 * Asks before taking locks. @throws UsageError if there is no terminal to ask at, or if the answer is not yes
 */
async function ask(fresh: readonly HeldLock[], context: Context): Promise<void> {
  if (context.flags.yes === true) return;
  if (!canAsk(context)) {
    throw hinted(
      new UsageError('--force takes the lock from a running import, and there is no terminal to ask on'),
      ({ again }) => toRun('to take it without being asked', again({ plus: ['--yes'] })),
    );
  }
  const { openPrompter } = await import('../../prompts/index.js');
  const question = `${fresh.map((lock) => `The lock on ${safeLine(lockText(lock))}.\n`).join('')}Take ${count(fresh.length, 'lock')}? That import stops before its next request.`;
  if (!(await (await openPrompter(context)).confirm(question, false)))
    throw new UsageError('nothing was released');
}
