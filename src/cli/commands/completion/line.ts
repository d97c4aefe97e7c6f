/** A command line that is being typed, as words. */

/**
 * Splits a line as a POSIX shell would, but runs and expands nothing. The last word is the one being typed: empty
 * after a space, and its quotes may still be open.
 */
export function splitLine(line: string): string[] {
  const words: string[] = [];
  let word = '';
  let quote = '';
  let begun = false;
  for (let i = 0; i < line.length; i++) {
    const char = line[i]!;
    if (quote === '' && /\s/.test(char)) {
      if (begun) words.push(word);
      [word, begun] = ['', false];
      continue;
    }
    begun = true;
    if (quote !== '' && char === quote) quote = '';
    else if (quote === '' && (char === '"' || char === "'")) quote = char;
    else if (char === '\\' && quote !== "'" && i + 1 < line.length) word += line[++i]!;
    else word += char;
  }
  words.push(word);
  return words;
}
