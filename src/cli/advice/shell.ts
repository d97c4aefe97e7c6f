/** A word of a command to paste into bash, zsh, fish, or another POSIX shell: quoted if needed. */
export function shellWord(text: string): string {
  // zsh reads `=name` as the path of a command.
  if (/^(?!=)[\w:/.@%+=,-]+$/.test(text)) return text;
  // In quotes, fish reads a backslash before a backslash or quote as an escape.
  if (!isHidden(text) || text.endsWith('\n')) return `'${text.replace(/'|\\(?=['\\]|$)/g, "'\\$&'")}'`;
  // A terminal would not show these characters, or would interpret them, so `printf` writes them from their
  // codes. Not every `printf` takes `--`.
  return `"$(printf '${[...text].map(printable).join('').replace(/^-/, '\\055')}')"`;
}

const HIDDEN =
  /\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}|\u034f|[\u115f\u1160\u17b4\u17b5\u3164\uffa0]|\u180b|\u180c|\u180d/u;
const isHidden = (text: string): boolean => HIDDEN.test(text);

function printable(character: string): string {
  const known = { '%': '%%', '\\': '\\134', "'": "'\\''", '"': '\\042' }[character];
  if (known !== undefined || !isHidden(character)) return known ?? character;
  return [...Buffer.from(character)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
}

/**
 * The same for PowerShell, the default shell on Windows. Programs receive `"` inside a word only from
 * PowerShell 7.3 on; older versions drop it. Does not work in cmd.exe, where `'` is not a quote.
 */
export function powerShellWord(text: string): string {
  // Unquoted, a comma makes an array, `@` splats, and `-a.b` and `-a:b` are split in two.
  if (/^[\w:/.\\+=][\w:/.\\%+=-]*$|^-[\w+=/\\-]*$/.test(text)) return text;
  // PowerShell treats typographic quotes as quotes, too.
  if (!isHidden(text)) return `'${text.replace(/['\u2018-\u201b]/g, '$&$&')}'`;
  const escaped = [...text].map((character) => {
    if (isHidden(character)) {
      const units = character.split('').map((unit) => `[char]${unit.charCodeAt(0)}`);
      return `$(${units.join('+')})`.replace(/\+\[char\]/g, ')$([char]');
    }
    return /["`$\u201c-\u201e]/.test(character) ? `\`${character}` : character;
  });
  return `"${escaped.join('')}"`;
}

/** A longer line would not fit a terminal of 80 columns, in which a command is indented by four. */
const COLUMNS = 76;
/** A word of a command: quoted parts belong to it. */
const WORDS = /(?:\\.|'[^']*'|"(?:[^"\\`]|[\\`].)*"|[^\s'"\\])+/gs;

/** A command as lines to paste: a long one continues before an option. */
export function commandLines(command: string, platform: NodeJS.Platform): string[] {
  if (command.length <= COLUMNS) return [command];
  const groups: string[] = [];
  for (const [word] of command.matchAll(WORDS)) {
    if (groups.length === 0 || word.startsWith('-')) groups.push(word);
    else groups[groups.length - 1] += ` ${word}`;
  }
  const lines: string[] = [];
  for (const group of groups) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + group.length + 3 <= COLUMNS)
      lines[lines.length - 1] += ` ${group}`;
    else lines.push(last === undefined ? group : `  ${group}`);
  }
  const more = platform === 'win32' ? ' `' : ' \\';
  return lines.map((line, at) => (at < lines.length - 1 ? line + more : line));
}

/** How to write words, and variables before a command, for the shell of a platform. */
export const shellOf = (
  platform: NodeJS.Platform,
): { word: (text: string) => string; assign: (name: string, value: string) => string } =>
  platform === 'win32'
    ? { word: powerShellWord, assign: (name, value) => `$env:${name}=${quotedAlways(value)};` }
    : { word: shellWord, assign: (name, value) => `${name}=${shellWord(value)}` };

/** Quotes every value, because PowerShell runs an unquoted word after `=` as a command. */
const quotedAlways = (value: string): string => {
  const word = powerShellWord(value);
  return word === value ? `'${value}'` : word;
};
