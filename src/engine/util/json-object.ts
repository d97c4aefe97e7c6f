/** Whether a value is an object in the sense of JSON: not an array, and not null. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** How many arrays and objects of a value are inside each other, counted up to a limit. */
export function levelsOf(value: unknown, limit = Number.POSITIVE_INFINITY): number {
  let levels = 0;
  for (let level = inside([value]); level.length > 0 && levels < limit; level = level.flatMap(inside))
    levels++;
  return levels;
}

const inside = (one: object): object[] =>
  Object.values(one).filter((member) => typeof member === 'object' && member !== null);
