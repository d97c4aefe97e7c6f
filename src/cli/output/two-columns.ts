/** Text for a page of help: wrapped, and in two columns. */

/** Two columns: terms, and texts, which wrap within their column. @param left least width of the terms and their gap */
export function twoColumns(
  rows: readonly (readonly [term: string, text: string])[],
  { left = 0, width = 80 }: { left?: number; width?: number } = {},
): string {
  const at = Math.max(left, ...rows.map(([term]) => term.length + 2));
  const indent = `\n${' '.repeat(at + 2)}`;
  return rows
    .map(([term, text]) => `  ${term.padEnd(at)}${wrap(text, width - at - 2).join(indent)}`.trimEnd())
    .join('\n');
}

export function wrap(text: string, width: number): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1)!;
    if (last === '') lines[lines.length - 1] = word;
    else if (last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
