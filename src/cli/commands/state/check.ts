/** `state check`: checks the integrity of the database, and whether its records agree with each other. */
import { Exit, type ExitCode, StateError } from '../../../engine/errors.js';
import { count } from '../../../engine/numbers.js';
import type { Context } from '../../context.js';
import { safeLine } from '../../output/safe.js';
import { writeJson, writeOut } from '../../output/write.js';
import { requireState, statePlace } from './state-place.js';

/** @throws StateError if there are problems, after printing them */
export async function check(context: Context): Promise<ExitCode> {
  const { stdout, flags } = context;
  const place = await statePlace(context);
  requireState(place);
  const problems = await (await context.state()).problems();
  const state = place.name;
  if (flags.json)
    await writeJson(stdout, JSON.stringify({ state, ok: problems.length === 0, problems }, null, 2));
  else if (problems.length === 0) await writeOut(stdout, `${safeLine(state)}: no problems found\n`);
  else
    await writeOut(
      stdout,
      problems.map(({ check: name, message }) => `${name.padEnd(12)}  ${safeLine(message)}\n`).join(''),
    );
  if (problems.length === 0) return Exit.done;
  throw new StateError(`found ${count(problems.length, 'problem')} in the state ${state}`, {
    hint: 'do not import with this state: restore a backup, or start with an empty --state folder, which sends everything again',
  });
}
