/** `state migrate`: copies the state to another place, which imports must use from then on. */
import { Exit, type ExitCode, InterruptedError } from '../../../engine/errors.js';
import { count, grouped } from '../../../engine/numbers.js';
import { migrateState } from '../../../engine/state/copy.js';
import { openBackend } from '../../../engine/state/state.js';
import { toRun } from '../../advice/hint.js';
import type { Context } from '../../context.js';
import { safeLine } from '../../output/safe.js';
import { writeJson, writeLine } from '../../output/write.js';
import { stateElsewhere, stateNamed } from '../../settings/index.js';
import { requireState, statePlace } from './state-place.js';

/** How often progress is printed: a copy of millions of profiles takes minutes. */
const SAY_EVERY_MS = 5_000;

/** @param to the target, in the form of `--state` */
export async function migrate(to: string, context: Context): Promise<ExitCode> {
  const { stdout, stderr, flags, clock, stop, commands } = context;
  const target = stateNamed(to, '--to', context);
  const settings = await context.settings();
  const source = stateElsewhere(settings, context);
  if (!source) requireState(await statePlace(context));
  let said = clock.monotonic();
  const progress = (rows: number, total: number): void => {
    if (flags.quiet || clock.monotonic() - said < SAY_EVERY_MS) return;
    said = clock.monotonic();
    stderr.write(`copied ${grouped(rows)} of ${count(total, 'row')}\n`);
  };
  const from = await openBackend(settings.stateDir, source);
  try {
    const into = await openBackend(settings.stateDir, target);
    try {
      const rows = await migrateState({ from, to: into, progress, signal: stop }).catch((error: unknown) => {
        throw stop.aborted
          ? InterruptedError.of(stop, { hint: toRun('to begin again', commands.again({})) })
          : error;
      });
      if (flags.json) {
        await writeJson(stdout, JSON.stringify({ from: from.name, to: into.name, rows }, null, 2));
        return Exit.done;
      }
      const sum = Object.values(rows).reduce((a, b) => a + b, 0);
      await writeLine(
        stdout,
        `moved ${safeLine(from.name)} to ${safeLine(into.name)} (${count(sum, 'row')})`,
      );
      await writeLine(
        stdout,
        toRun(
          'import with it',
          commands.command('config', 'set', 'state', target.at.kind === 'sqlite' ? into.name : to),
        ),
      );
      return Exit.done;
    } finally {
      await into.db.close();
    }
  } finally {
    await from.db.close();
  }
}
