/**
 * Binary search.
 * @param count searches from 0 to `count - 1`
 * @param holds must be false up to some place, and true from there on
 * @returns the first place for which it is true; `count` if there is none
 */
export function firstWhere(count: number, holds: (at: number) => boolean): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
