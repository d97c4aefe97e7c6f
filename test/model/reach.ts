/** Whether a state may become another, at once or through others. @param table what may follow each state */
export function mayBecome(table: Record<string, object>, from: string, to: string): boolean {
  const seen = new Set([from]);
  for (const state of seen) for (const next of Object.keys(table[state]!)) seen.add(next);
  return seen.has(to);
}
