/** Words of a command to paste: quoted for a shell if needed. A terminal would not show these characters, or would interpret them. */
const HIDDEN =
  /\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}|\u034f|[\u115f\u1160\u17b4\u17b5\u3164\uffa0]|\u180b|\u180c|\u180d/gu;
const isHidden = (text: string): boolean => text.search(HIDDEN) >= 0;

/** How the format of `printf` has characters that the shell or `printf` would interpret. Not every `printf` takes `--`. */
const ESCAPED: Readonly<Record<string, string>> = {
  ...{ '%': '%%', '\\': '\\134', "'": "'\\''", '"': '\\042', '-': '\\055' },
};
const octal = (byte: number): string => `\\${byte.toString(8).padStart(3, '0')}`;

/** A word for bash, zsh, fish, or another POSIX shell. */
export function shellWord(text: string): string {
  // zsh reads `=name` as the path of a command.
  if (/^(?!=)[\w:/.@%+=,-]+$/.test(text)) return text;
  // In quotes, fish reads a backslash before a backslash or quote as an escape.
  if (!isHidden(text) || text.endsWith('\n')) return `'${text.replace(/'|\\(?=['\\]|$)/g, "'\\$&'")}'`;
  const format = text
    .replace(/[%\\'"]|^-/g, (sign) => ESCAPED[sign]!)
    .replace(HIDDEN, (sign) => [...Buffer.from(sign)].map(octal).join(''));
  return `"$(printf '${format}')"`;
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
  const escaped = text.replace(/["`$\u201c-\u201e]/g, '`$&');
  const unit = (of: string): string => `$([char]${of.charCodeAt(0)})`;
  return `"${escaped.replace(HIDDEN, (sign) => sign.split('').map(unit).join(''))}"`;
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
    else groups.push(`${groups.pop()} ${word}`);
  }
  const [first = '', ...others] = groups;
  const lines = [first];
  for (const group of others) {
    const isFull = lines.at(-1)!.length + group.length + 3 > COLUMNS;
    lines.push(isFull ? `  ${group}` : `${lines.pop()} ${group}`);
  }
  const more = platform === 'win32' ? ' `' : ' \\';
  return lines.map((line, at) => (at < lines.length - 1 ? line + more : line));
}

/** How to write words, and variables before a command, for the shell of a platform. */
export const shellOf = (platform: NodeJS.Platform) =>
  platform === 'win32'
    ? {
        word: powerShellWord,
        // PowerShell runs an unquoted word after `=` as a command.
        assign: (name: string, value: string): string =>
          `$env:${name}=${powerShellWord(value).replace(/^[^'"].*$|^$/, "'$&'")};`,
      }
    : { word: shellWord, assign: (name: string, value: string): string => `${name}=${shellWord(value)}` };
