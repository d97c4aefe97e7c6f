/** `state backup`: writes a consistent copy, even while imports run. */
import { Exit, type ExitCode } from '../../../engine/errors.js';
import { formatSize } from '../../../engine/size.js';
import type { Context } from '../../context.js';
import { safeLine } from '../../output/safe.js';
import { writeJson, writeOut } from '../../output/write.js';
import { requireState, statePlace } from './state-place.js';

/** @param file absolute path of the copy */
export async function backup(file: string, context: Context): Promise<ExitCode> {
  const { stdout, flags } = context;
  const place = await statePlace(context);
  requireState(place);
  const bytes = await (await context.state()).backup(file);
  if (flags.json) await writeJson(stdout, JSON.stringify({ state: place.name, backup: file, bytes }));
  else
    await writeOut(
      stdout,
      `copied ${safeLine(place.database)} to ${safeLine(file)} (${formatSize(bytes)})\n`,
    );
  return Exit.done;
}
