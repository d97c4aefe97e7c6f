/** Refuses options with unknown names: without TypeScript, one that is misspelled would be ignored. */
import { UsageError } from '../errors.js';
import { nearest } from './nearest.js';

/** An object with all names of the options, whatever it has of each. */
export type Names<T> = Readonly<Record<keyof T, unknown>>;

/**
 * @param names an object with all names
 * @param within what holds the options, as `service.`
 * @throws UsageError for an unknown name, with the nearest one, and for anything but an object
 */
export function checkNames(given: object, names: object, within = ''): void {
  if (typeof given !== 'object' || given === null) {
    throw new UsageError(`${within === '' ? 'the options' : within.slice(0, -1)} must be an object`);
  }
  const wrong = Object.entries(given).find(
    ([name, value]) => value !== undefined && !Object.hasOwn(names, name),
  );
  if (!wrong) return;
  const like = nearest(wrong[0], Object.keys(names));
  throw new UsageError(`there is no option ${within}${wrong[0]}`, {
    hint: like ? `did you mean ${within}${like}?` : undefined,
  });
}
