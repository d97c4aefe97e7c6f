/** A word of a command line that is shown to be pasted, as a POSIX shell takes it: quoted, unless it is safe as it is. */
export function shellWord(text: string): string {
  if (/^[\w:/.@%+=,-]+$/.test(text)) return text;
  if (!HIDDEN.test(text) || text.endsWith('\n')) return `'${text.replaceAll("'", "'\\''")}'`;
  // A terminal would not show them as they are, or would obey them.
  return `"$(printf -- '${[...text].map(printable).join('')}')"`;
}

const HIDDEN =
  /\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}|\u034f|[\u115f\u1160\u17b4\u17b5\u3164\uffa0]|\u180b|\u180c|\u180d/u;

function printable(character: string): string {
  if (character === '%') return '%%';
  if (character === '\\') return '\\\\';
  if (character === "'") return "'\\''";
  if (!HIDDEN.test(character)) return character;
  return [...Buffer.from(character)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
}
