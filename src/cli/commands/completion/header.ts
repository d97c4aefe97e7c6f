/** The columns of an input, guessed from its beginning; an import looks closer. */

/** Column names of a CSV's first line, or the keys of a JSON input's first object. Empty where neither is found. */
export function headerOf(beginning: Buffer): string[] {
  const text = beginning
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .trimStart();
  if (text.includes('\0') || text.includes('\uFFFD')) return [];
  return /^[[{]/.test(text) ? firstKeys(text) : firstLine(text);
}

/** Keys of the first object that is whole: `{"companies": [{…` and `[{…` count too. */
function firstKeys(text: string): string[] {
  const object = /\{[^{}]*\}/.exec(text);
  try {
    return object ? Object.keys(JSON.parse(object[0]) as object) : [];
  } catch {
    return [];
  }
}

function firstLine(text: string): string[] {
  const line = /^(?:"(?:[^"]|"")*"|[^"\r\n])*/.exec(text)?.[0] ?? '';
  const counts = [',', ';', '\t', '|'].map((delimiter) => ({
    delimiter,
    count: line.split(delimiter).length,
  }));
  const { delimiter } = counts.reduce((most, next) => (next.count > most.count ? next : most));
  const cells = line.split(new RegExp(`\\${delimiter}(?=(?:[^"]*"[^"]*")*[^"]*$)`));
  return cells
    .map((cell) =>
      cell
        .trim()
        .replace(/^"(.*)"$/s, '$1')
        .replaceAll('""', '"'),
    )
    .filter(Boolean);
}
