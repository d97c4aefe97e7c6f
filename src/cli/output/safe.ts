/**
 * Text from files and from the service, made safe for a terminal: no escape sequence and no control
 * character gets through, bidirectional overrides included (they can make a line read as another).
 */
// biome-ignore lint/complexity/useRegexLiterals: escapes in a string can be read
const UNSAFE = new RegExp(
  '[\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069]',
  'g',
);

/** One line: line breaks and tabs become spaces, other control characters become visible as `\xNN`. */
export function safeLine(text: string): string {
  return text.replace(UNSAFE, (c) => {
    if (c === '\n' || c === '\r' || c === '\t' || c === '\u2028' || c === '\u2029') return ' ';
    const code = c.codePointAt(0)!;
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`;
  });
}

/**
 * JSON text for a terminal: what JSON leaves raw in strings and a terminal may obey (DEL, C1, bidirectional
 * overrides) becomes `\uXXXX`, which any reader of JSON takes for the same text.
 */
export function safeJson(json: string): string {
  return json.replace(UNSAFE, (c) =>
    c === '\n' || c === '\r' || c === '\t' ? c : `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The same for text of our own that has lines of its own, such as lines to type. */
export const safeLines = (text: string): string => text.split('\n').map(safeLine).join('\n');
