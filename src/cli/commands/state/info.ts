/** `state info`: shows what distinguishes this state from another one, or from an older copy. */
import { Exit, type ExitCode } from '../../../engine/errors.js';
import { formatSize } from '../../../engine/size.js';
import type { Context } from '../../context.js';
import { ago } from '../../output/ago.js';
import { fieldsText } from '../../output/record-text.js';
import { stylesOn } from '../../output/style.js';
import { writeJson, writeOut } from '../../output/write.js';
import { lockText } from './lock-text.js';
import { statePlace } from './state-place.js';

export async function info(context: Context): Promise<ExitCode> {
  const { stdout, env, flags, clock } = context;
  const { name, origin, exists } = await statePlace(context);
  const place = { state: name, origin, exists };
  const styles = stylesOn(stdout, env, flags);
  if (!exists) {
    if (flags.json) await writeJson(stdout, JSON.stringify(place, null, 2));
    else await writeOut(stdout, fieldsText({ state: `${name} (${origin})`, holds: 'nothing yet' }, styles));
    return Exit.done;
  }
  const state = await context.state();
  const held = {
    bytes: await state.size(),
    ...(await state.overview()),
    locks: await state.locks.all(),
  };
  if (flags.json) {
    await writeJson(stdout, JSON.stringify({ ...place, ...held }, null, 2));
    return Exit.done;
  }
  const when = (time: string | null): string | null =>
    time === null ? null : `${time} (${ago(clock.now() - Date.parse(time))})`;
  const { bytes, known, locks, last_run_at, last_job_seen_at, ...counts } = held;
  const summary = {
    state: `${name} (${origin})`,
    ...(counts.moved_to !== null && { moved_to: counts.moved_to }),
    size: formatSize(bytes),
    runs: counts.runs,
    unfinished_runs: counts.unfinished_runs,
    last_run_at: when(last_run_at),
    jobs: counts.jobs,
    unfinished_jobs: counts.unfinished_jobs,
    last_job_seen_at: when(last_job_seen_at),
    locks: locks.length === 0 ? 'not held' : locks.map(lockText).join('; '),
  };
  await writeOut(stdout, fieldsText(summary, styles));
  for (const each of known) {
    const record = {
      ...each,
      oldest_completed_at: when(each.oldest_completed_at),
      newest_completed_at: when(each.newest_completed_at),
    };
    await writeOut(stdout, `\n${fieldsText(record, styles)}`);
  }
  return Exit.done;
}
