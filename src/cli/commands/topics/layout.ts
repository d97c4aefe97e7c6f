/** Paragraphs and columns, for the texts of `profiles help`: 80 columns wide, on any terminal. */

const WIDTH = 80;

/** A text as lines; the line breaks that it has count as spaces. */
export const paragraph = (text: string): string => wrap(text.replace(/\s+/g, ' ').trim(), WIDTH).join('\n');

/** Terms on the left, padded to the longest; a long description goes on below itself. */
export function twoColumns(rows: readonly (readonly [term: string, text: string])[]): string {
  const left = Math.max(...rows.map(([term]) => term.length)) + 2;
  const indent = `\n${' '.repeat(left + 2)}`;
  return rows
    .map(([term, text]) => `  ${term.padEnd(left)}${wrap(text, WIDTH - left - 2).join(indent)}`)
    .join('\n');
}

function wrap(text: string, width: number): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1)!;
    if (last === '') lines[lines.length - 1] = word;
    else if (last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
