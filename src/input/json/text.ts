/** JSON as text: strings that need no escape are the common case, and numbers keep the digits they came with. */

/** A JSON string literal. */
export function jsonString(text: string): string {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    // Quote, backslash, control characters; and surrogates, of which a lone one needs an escape.
    if (code < 0x20 || code === 0x22 || code === 0x5c || (code >= 0xd800 && code < 0xe000)) {
      return JSON.stringify(text);
    }
  }
  return `"${text}"`;
}

/** UTF-8 bytes of `jsonString(text)`. */
export function jsonStringBytes(text: string): number {
  let bytes = 2;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x80) {
      if (code < 0x20 || code === 0x22 || code === 0x5c) return Buffer.byteLength(JSON.stringify(text));
      bytes++;
    } else if (code < 0x800) bytes += 2;
    else if (code < 0xd800 || code >= 0xe000) bytes += 3;
    else return Buffer.byteLength(JSON.stringify(text));
  }
  return bytes;
}

const DECIMAL = /^(-?)0*(\d*)(?:\.(\d*?)0*)?(?:[eE]([+-]?\d+))?$/;

/** Sign, significant digits and the power of ten of the last digit; null for what is not a decimal. */
function significand(text: string): string | null {
  const match = DECIMAL.exec(text);
  if (!match) return null;
  const fraction = match[3] ?? '';
  const digits = (match[2]! + fraction).replace(/^0+/, '');
  const short = digits.replace(/0+$/, '');
  if (short === '') return '0';
  const power = Number(match[4] ?? 0) - fraction.length + (digits.length - short.length);
  return `${match[1]}${short}e${power}`;
}

/**
 * True when a double holds a JSON number so well that its digits come back: `0.1` and `1e22` do,
 * `9007199254740993` and `1e400` do not.
 */
export function isExactNumber(text: string): boolean {
  const value = Number(text);
  return Number.isFinite(value) && significand(text) === significand(String(value));
}

/** Numbers of fewer digits and no exponent are always exact, so most texts need no closer look. */
const SUSPECT = /[\d.]{16}|[:,[\s]-?[\d.]+[eE]/;
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d[\d.]*(?:[eE][+-]?\d+)?/g;

/** The first number of a valid JSON text that a double cannot hold, as written; null when there is none. */
export function inexactNumber(json: string): string | null {
  if (!SUSPECT.test(json)) return null;
  for (const [token] of json.matchAll(TOKENS)) {
    if (token[0] !== '"' && !isExactNumber(token)) return token;
  }
  return null;
}
