/** Edit distance with transpositions (optimal string alignment), in Unicode code units. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(row[j - 1]! + 1, previous[j]! + 1, previous[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, before[j - 2]! + 1);
      row.push(cost);
    }
    before = previous;
    previous = row;
  }
  return previous[b.length]!;
}

/**
 * Finds the candidate that a misspelled word most likely means: the one with the smallest edit distance, at
 * most a third of the length of the word (but at least 1). Ignores case, and the difference between `-` and
 * `_`. Undefined if there is none.
 */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const fold = (s: string): string => s.toLowerCase().replaceAll('-', '_');
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(fold(word), fold(candidate));
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** The hint for a word that is none of these names: the one that is most like it, or what else helps. */
export function didYouMean<T>(word: string, names: Iterable<string>, otherwise: T, before = ''): string | T {
  const like = nearest(word, names);
  return like === undefined ? otherwise : `did you mean "${before}${like}"?`;
}
