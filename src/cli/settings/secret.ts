/** The API key: how it is checked when it is read, and how it is kept from being printed. */
import { ConfigError } from '../../engine/errors.js';

/** A token that cannot be printed by accident. */
export class Secret {
  readonly #value: string;
  constructor(value: string) {
    this.#value = value;
  }
  reveal(): string {
    return this.#value;
  }
  /** `…abcd`: all that is ever shown. A token of fewer than 8 characters shows nothing of itself. */
  toString(): string {
    return this.#value.length < 8 ? '…' : `…${this.#value.slice(-4)}`;
  }
  toJSON(): string {
    return this.toString();
  }
  /** What `util.inspect` and so `console.log` show. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }
}

/**
 * A token as it was read, its ends trimmed; null when nothing is left.
 * @param origin where it was read, for the error: the text itself is never in it
 * @throws ConfigError when white space, a control character or a character beyond ASCII is inside: none
 * of them is allowed in a header, and a line break there would make Node print the whole header
 */
export function readToken(text: string, origin: string): Secret | null {
  const token = text.replace(/^\uFEFF/, '').trim();
  if (token === '') return null;
  if (/[^\x21-\x7e]/.test(token)) {
    const kind = /\s/.test(token) ? 'white space' : 'a control or non-ASCII character';
    throw new ConfigError(`the token from ${origin} contains ${kind}`, {
      hint: 'copy it again from the settings of your account, on one line and without "Token"',
    });
  }
  return new Secret(token);
}
