/** The time zone that a given mapping file leaves open, as `inspect --write-mapping` does. */
import { ProfilesError } from '../../engine/errors.js';
import type { Choice, Prompter } from '../prompts/index.js';

/** Time zones: the likeliest first, then UTC, then all others. @param hint shown behind a zone */
export const zoneChoices = (likely: string, hint: (zone: string) => string | undefined): Choice<string>[] =>
  [...new Set([likely, 'UTC', ...Intl.supportedValuesOf('timeZone')])].map((zone) => {
    return { value: zone, label: zone, hint: hint(zone) };
  });

export const machineZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Makes options, and asks for the time zone that they need. @returns also the flag for it */
export async function withZone<O>(
  make: (zone: { zone?: string }) => Promise<O>,
  ask: () => Promise<Prompter>,
): Promise<{ options: O; zone: { zone?: string } }> {
  try {
    return { options: await make({}), zone: {} };
  } catch (error) {
    if (!(error instanceof ProfilesError) || error.problem?.code !== 'zone_open') throw error;
    const { path, columns } = error.problem;
    const question = `${path}: in which time zone are the times of ${columns.join(', ')}?`;
    const zone = await (await ask()).find(
      question,
      zoneChoices(machineZone(), () => undefined),
    );
    return { options: await make({ zone }), zone: { zone } };
  }
}
