/** A word of a command line that is shown to be pasted, as a POSIX shell takes it: quoted, unless it is safe as it is. */
export function shellWord(text: string): string {
  return /^[\w:/.@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
