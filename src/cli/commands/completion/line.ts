/** Splits a command line that is being typed. */

/**
 * Splits a line into words as a POSIX shell would, without running or expanding anything. The last word is
 * the one being typed: it is empty after a space, and its quotes may still be open.
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
