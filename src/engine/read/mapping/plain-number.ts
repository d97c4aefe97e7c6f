/** What a plain number is: one that comes back from a double as it was written (contract §3 "Types"). */
import { isExactNumber } from '../json/text.js';

export const NOT_A_NUMBER = -1;
/** `classify` gives the number of decimals times two, and one more when the last decimal is a zero. */
export const ZERO_AT_END = 1;

/** -1 for what is not a plain decimal or cannot be held exactly; otherwise decimals * 2 + (a zero at the end ? 1 : 0). */
export function classify(text: string): number {
  const length = text.length;
  if (length > 40) return NOT_A_NUMBER;
  let at = 0;
  const negative = text.charCodeAt(0) === 0x2d;
  if (negative) at++;
  const start = at;
  let code = 0;
  let nonZero = false;
  for (; at < length; at++) {
    code = text.charCodeAt(at);
    if (code < 0x30 || code > 0x39) break;
    if (code !== 0x30) nonZero = true;
  }
  const whole = at - start;
  if (whole === 0 || (whole > 1 && text.charCodeAt(start) === 0x30)) return NOT_A_NUMBER;
  let decimals = 0;
  if (at < length) {
    if (code !== 0x2e) return NOT_A_NUMBER;
    for (at++; at < length; at++, decimals++) {
      code = text.charCodeAt(at);
      if (code < 0x30 || code > 0x39) return NOT_A_NUMBER;
      if (code !== 0x30) nonZero = true;
    }
    if (decimals === 0) return NOT_A_NUMBER;
  }
  if (negative && !nonZero) return NOT_A_NUMBER; // -0 would come back as 0
  // Beyond 2^53 neighbouring integers are the same double: what looks exact may be rounded already.
  if (whole > 15 && !Number.isSafeInteger(Math.trunc(Number(text)))) return NOT_A_NUMBER;
  if (whole + decimals > 15 && !isExactNumber(text)) return NOT_A_NUMBER;
  return decimals * 2 + (decimals > 0 && code === 0x30 ? ZERO_AT_END : 0);
}

/** Whether a cell is a plain number, or a plain integer. */
export function isPlain(text: string, type: 'integer' | 'number'): boolean {
  return type === 'integer' ? classify(text) === 0 : classify(text) !== NOT_A_NUMBER;
}
