/**
 * How often a property, or what chance decides, is tried: `npm test` tries it so often that a slip shows, and
 * `npm run test:long` with `TIMES=5` so often that a rare case does.
 */
export const times = (count: number): number => Math.ceil(count * Number(process.env.TIMES ?? 1));
