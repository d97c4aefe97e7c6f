/** `profiles state`: shows, checks, backs up, moves, and unlocks the state (contract §10). */
import { resolve } from 'node:path';
import { InterruptedError, LockedError, StateError } from '../../engine/errors.js';
import { migrateState } from '../../engine/state/copy.js';
import { type HeldLock, openBackend } from '../../engine/state/state.js';
import { count, grouped } from '../../engine/util/numbers.js';
import { formatSize } from '../../engine/util/size.js';
import { hinted, toRun } from '../advice/hint.js';
import type { Context } from '../context.js';
import { given, OTHERS, UNLOCK, usage } from '../options/index.js';
import { ago, fieldsFor } from '../output/records.js';
import { safeLine } from '../output/terminal.js';
import { canAsk, openPrompter } from '../prompts/index.js';
import { stateElsewhere, stateNamed } from '../settings/index.js';
import { type Line, print, type Spec } from './command.js';
import { requireState, statePlace } from './recorded.js';

/** How often progress is printed: a copy of millions of profiles takes minutes. */
const SAY_EVERY_MS = 5_000;
const DAMAGED =
  'do not import with this state: restore a backup, or start with an empty --state folder, which sends everything again';

export const command: Spec = {
  commands: {
    info: { run: (_, context) => info(context) },
    check: {
      run: async (_, context) => {
        const { name: state } = await requireState(context);
        const problems = await (await context.state()).problems();
        const isFine = problems.length === 0;
        const lines = problems.map(({ check, message }) => `${check.padEnd(12)}  ${safeLine(message)}\n`);
        const text = isFine ? `${safeLine(state)}: no problems found\n` : lines.join('');
        await print(context, { state, ok: isFine, problems }, text);
        if (isFine) return;
        const found = `found ${count(problems.length, 'problem')} in the state ${state}`;
        throw new StateError(found, { hint: DAMAGED });
      },
    },
    backup: {
      run: async ({ words: [name = ''] }, context) => {
        const { name: state, database } = await requireState(context);
        const backup = resolve(context.cwd, name);
        const bytes = await (await context.state()).backup(backup);
        const text = `copied ${safeLine(database)} to ${safeLine(backup)} (${formatSize(bytes)})\n`;
        await print(context, { state, backup, bytes }, text, 0);
      },
    },
    migrate: { run: migrate },
    unlock: { run: unlock },
  },
};

/** Shows what distinguishes this state from another one, or from an older copy. */
async function info(context: Context): Promise<void> {
  const { clock } = context;
  const { name, origin, exists } = await statePlace(context);
  const place = { state: name, origin, exists };
  const named = `${name} (${origin})`;
  if (!exists) return print(context, place, fieldsFor(context, { state: named, holds: 'nothing yet' }));
  const state = await context.state();
  const held = { bytes: await state.size(), ...(await state.overview()), locks: await state.locks.held() };
  const when = (time: string | null): string | null =>
    time && `${time} (${ago(clock.now() - Date.parse(time))})`;
  const { bytes, known, locks, last_run_at, last_job_seen_at, moved_to, ...counts } = held;
  const { runs, unfinished_runs, jobs, unfinished_jobs } = counts;
  const summary = {
    ...{ state: named, ...(moved_to !== null && { moved_to }), size: formatSize(bytes) },
    ...{ runs, unfinished_runs, last_run_at: when(last_run_at) },
    ...{ jobs, unfinished_jobs, last_job_seen_at: when(last_job_seen_at) },
    locks: locks.length === 0 ? 'not held' : locks.map(lockText).join('; '),
  };
  const ofKind = known.map(({ oldest_completed_at: oldest, newest_completed_at: newest, ...each }) => {
    return { ...each, oldest_completed_at: when(oldest), newest_completed_at: when(newest) };
  });
  await print(context, { ...place, ...held }, fieldsFor(context, summary, ...ofKind));
}

/** A lock in words: its account, its holder, and the time since the holder's last heartbeat. */
function lockText({ kind, account, region, holder, heartbeat_age }: HeldLock): string {
  const heard = heartbeat_age === null ? '' : `, last heard of ${ago(1_000 * heartbeat_age)}`;
  return `${kind} of ${account} (${region}) held by ${holder ?? 'another process'}${heard}`;
}

/** Copies the state to another place, which imports must use from then on. */
async function migrate({ flags: asked }: Line, context: Context): Promise<void> {
  const { to } = given(OTHERS, asked);
  const needed = 'add --to postgres://user@host/database?schema=profiles, or --to sqlite:<directory>';
  if (to === undefined) throw usage('--to is missing: it says where to copy the state', needed);
  const { stderr, flags, clock, stop, commands } = context;
  const target = stateNamed(to, '--to', context);
  const settings = await context.settings();
  const source = stateElsewhere(settings, context);
  if (!source) await requireState(context);
  let said = clock.monotonic();
  const progress = (rows: number, total: number): void => {
    if (flags.quiet || clock.monotonic() - said < SAY_EVERY_MS) return;
    said = clock.monotonic();
    stderr.write(`copied ${grouped(rows)} of ${count(total, 'row')}\n`);
  };
  const opened: Awaited<ReturnType<typeof openBackend>>[] = [];
  try {
    for (const place of [source, target]) opened.push(await openBackend(settings.stateDir, place));
    const [from, into] = opened as [(typeof opened)[0], (typeof opened)[0]];
    const rows = await migrateState(from, into, stop, progress).catch((error: unknown) => {
      if (!stop.aborted) throw error;
      throw InterruptedError.of(stop, { hint: toRun('to begin again', commands.again({})) });
    });
    const sum = Object.values(rows).reduce((a, b) => a + b, 0);
    const place = target.at.kind === 'sqlite' ? into.name : to;
    const moved = `moved ${safeLine(from.name)} to ${safeLine(into.name)} (${count(sum, 'row')})`;
    const next = toRun('import with it', commands.command('config', 'set', 'state', place));
    await print(context, { from: from.name, to: into.name, rows }, `${moved}\n${next}\n`);
  } finally {
    for (const { db } of opened) await db.close();
  }
}

/**
 * Releases locks of processes that are gone; with `--force`, all locks.
 * @throws LockedError if the holder of a lock is active, and `--force` was not given
 */
async function unlock({ flags }: Line, context: Context): Promise<void> {
  const { force = false } = given(UNLOCK, flags);
  const { name, isFolder } = await requireState(context);
  const { locks } = await context.state();
  const held = await locks.held();
  if (isFolder) {
    const lines = held.length === 0 ? ['no lock is held'] : held.map((lock) => safeLine(lockText(lock)));
    const why = 'need no unlocking: the operating system releases each when its process ends.';
    const text = [...lines, `Locks of a state directory ${why}\n`].join('\n');
    return print(context, { state: name, released: [] }, text);
  }
  const fresh = held.filter((lock) => lock.fresh);
  if (fresh.length > 0 && !force) {
    const take = 'to take the lock from it, so that it stops before its next request';
    const what = `wait for that import to end, or stop it; ${take}`;
    const error = new LockedError(`the lock on ${fresh.map(lockText).join('; ')}`);
    throw hinted(error, { do: what, run: ['state', 'unlock', '--force'] });
  }
  if (fresh.length > 0) await askToTake(fresh, context);
  const released = await locks.unlock(force);
  const lines = released.map((lock) => `released: ${safeLine(lockText(lock))}\n`);
  const text = released.length === 0 ? 'no lock is held by a process that is gone\n' : lines.join('');
  await print(context, { state: name, released }, text);
}

/** @throws UsageError if there is no terminal to ask at, or if the answer is not yes */
async function askToTake(fresh: readonly HeldLock[], context: Context): Promise<void> {
  if (context.flags.yes === true) return;
  if (!canAsk(context)) {
    const why = usage('--force takes the lock from a running import, and there is no terminal to ask on');
    throw hinted(why, { do: 'to take it without being asked', again: { plus: ['--yes'] } });
  }
  const locks = fresh.map((lock) => `The lock on ${safeLine(lockText(lock))}.\n`).join('');
  const question = `${locks}Take ${count(fresh.length, 'lock')}? That import stops before its next request.`;
  if (!(await (await openPrompter(context)).confirm(question, false))) throw usage('nothing was released');
}
