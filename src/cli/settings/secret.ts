/** Checks the API key when it is read, and keeps it from being printed. */
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
  /**
   * `…abcd`: the last four characters, which is all that is ever shown. Only `…` for fewer than 8 characters.
   */
  toString(): string {
    return this.#value.length < 8 ? '…' : `…${this.#value.slice(-4)}`;
  }
  toJSON(): string {
    return this.toString();
  }
  /** For `util.inspect`, which `console.log` uses. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }
}

/**
 * Trims and checks a token; null if nothing is left.
 * @param origin where it was read, for the error, which never contains the token
 * @throws ConfigError for white space, control characters, and non-ASCII characters, which headers must not
 * contain. For a line break, Node's error would print the whole header
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
