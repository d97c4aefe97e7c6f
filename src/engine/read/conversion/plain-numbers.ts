/** Plain numbers: those that a double gives back as they were written (contract §3 "Types"). */
import { isExactNumber } from '../json/text.js';

export const NOT_A_NUMBER = -1;
/** The bit in a result of `classify` that says that the last decimal is a zero. */
export const ZERO_AT_END = 1;

const [HYPHEN, POINT, ZERO, NINE] = [0x2d, 0x2e, 0x30, 0x39];

/** A longer text is not a plain number. */
const LONGEST_PLAIN = 40;

/**
 * Classifies a text in UTF-8: -1 if it is not a plain decimal or a double cannot hold it exactly; otherwise
 * decimals * 2 + (a zero at the end ? 1 : 0).
 */
export function classify(cell: Buffer, from: number, end: number): number {
  if (end - from > LONGEST_PLAIN) return NOT_A_NUMBER;
  let at = from;
  const negative = cell[at] === HYPHEN;
  if (negative) at++;
  const start = at;
  let code = 0;
  let nonZero = false;
  for (; at < end; at++) {
    code = cell[at]!;
    if (code < ZERO || code > NINE) break;
    if (code !== ZERO) nonZero = true;
  }
  const whole = at - start;
  if (whole === 0 || (whole > 1 && cell[start] === ZERO)) return NOT_A_NUMBER;
  let decimals = 0;
  if (at < end) {
    if (code !== POINT) return NOT_A_NUMBER;
    for (at++; at < end; at++, decimals++) {
      code = cell[at]!;
      if (code < ZERO || code > NINE) return NOT_A_NUMBER;
      if (code !== ZERO) nonZero = true;
    }
    if (decimals === 0) return NOT_A_NUMBER;
  }
  if (negative && !nonZero) return NOT_A_NUMBER; // -0 would come back as 0
  if (whole + decimals > 15 && !isHeld(cell.toString('latin1', from, end), whole)) return NOT_A_NUMBER;
  return decimals * 2 + (decimals > 0 && code === ZERO ? ZERO_AT_END : 0);
}

/** Beyond 2^53, neighboring integers are the same double: what looks exact may be rounded already. */
const isHeld = (text: string, whole: number): boolean =>
  (whole <= 15 || Number.isSafeInteger(Math.trunc(Number(text)))) && isExactNumber(text);

const memory = Buffer.alloc(LONGEST_PLAIN);

/** The same for a JavaScript string. */
export function classifyText(text: string): number {
  const { length } = text;
  if (length > LONGEST_PLAIN) return NOT_A_NUMBER;
  for (let at = 0; at < length; at++) {
    const code = text.charCodeAt(at);
    if (code > NINE) return NOT_A_NUMBER;
    memory[at] = code;
  }
  return classify(memory, 0, length);
}

/** Whether a cell is a plain number, or a plain integer. */
export function isPlain(text: string, type: 'integer' | 'number'): boolean {
  return type === 'integer' ? classifyText(text) === 0 : classifyText(text) !== NOT_A_NUMBER;
}
