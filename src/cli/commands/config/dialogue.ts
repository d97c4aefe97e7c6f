/**
 * Gets the values for `config init`: from a flag, otherwise from a question at a terminal, otherwise
 * unchanged.
 */

import { ConfigError } from '../../../engine/errors.js';
import { errorWords } from '../../advice/words.js';
import type { Context } from '../../context.js';
import { safeLine } from '../../output/safe.js';
import type { Check, Prompter } from '../../prompts/index.js';
import type { ConfigFile } from '../../settings/keys.js';
import { type Scalar, valueAt } from '../../settings/keys.js';
import { readToken, Secret } from '../../settings/secret.js';
import { readAll } from './stdin.js';
import { givenKey } from './store.js';

export interface Wanted {
  /** The key without its account: `region`, `regions.eu.base_url`. */
  name: string;
  /** The value of the flag, if it was given. */
  given: string | undefined;
  question: string;
  /** The value for Enter if the file has none. */
  fallback?: string;
  /** Converts the text to the value to store. @throws ConfigError */
  check(text: string): Scalar;
}

export class Dialogue {
  /** Values from flags and answers, by their path in the file. */
  readonly answers = new Map<readonly string[], Scalar>();
  readonly #content: ConfigFile;
  /** Null without a terminal, or with `--no-input`. */
  readonly #prompt: Prompter | null;
  readonly #context: Context;

  constructor(content: ConfigFile, prompt: Prompter | null, context: Context) {
    this.#content = content;
    this.#prompt = prompt;
    this.#context = context;
  }

  /**
   * Gets one value; undefined if there is none. Asks again after an invalid answer.
   * @throws ConfigError for an invalid flag
   */
  async settle({ name, given, question, fallback, check }: Wanted): Promise<string | undefined> {
    const { path } = givenKey(name, this.#context.flags);
    const current = this.current(name) ?? fallback;
    const keep = (value: Scalar): string => {
      this.answers.set(path, value);
      return String(value);
    };
    if (given !== undefined) return keep(check(given));
    if (!this.#prompt)
      return fallback === undefined || current === undefined ? current : keep(check(current));
    const isUsable = this.#checked((text) => text !== '' && check(text));
    const text = (await this.#prompt.text(question, { initial: current, check: isUsable })) || current;
    return text === undefined ? undefined : keep(check(text));
  }

  /**
   * Gets the token: from a hidden answer, or stdin if that is not a terminal. Does nothing if `token_command` or
   * `token_file` is set.
   */
  async settleToken(): Promise<void> {
    const { flags, stdin } = this.#context;
    const { path } = givenKey('token', flags);
    if (this.own('token_command') !== undefined || this.own('token_file') !== undefined) return;
    const current = this.own('token');
    const shownDefault = current === undefined ? 'none' : `${new Secret(current)}`;
    let token: Secret | null | undefined = null;
    if (this.#prompt) {
      const read = (text: string): Secret | null => readToken(text, 'the prompt');
      const question = `API key, hidden as you type [${shownDefault}]`;
      token = read(await this.#prompt.hidden(question, { check: this.#checked(read) }));
    } else if (!stdin().isTTY) token = readToken(await readAll(this.#context), 'stdin');
    if (token) this.answers.set(path, token.reveal());
  }

  /** The value in the file: the chosen account's own, otherwise the one at the top. */
  current(name: string): string | undefined {
    return this.own(name) ?? text(valueAt(this.#content, name.split('.')));
  }

  /** The value in the file: only the chosen account's own, or the one at the top if no account is chosen. */
  own(name: string): string | undefined {
    return text(valueAt(this.#content, givenKey(name, this.#context.flags).path));
  }

  /** Turns an error of `read` into what to say about the answer. */
  #checked(read: (text: string) => unknown): Check {
    return (typed) => {
      try {
        read(typed);
        return undefined;
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error;
        const { message, hint } = errorWords(error, this.#context.commands);
        return `${safeLine(message)}${hint === undefined ? '' : `; ${safeLine(hint)}`}`;
      }
    };
  }
}

const text = (value: Scalar | undefined): string | undefined =>
  value === undefined ? undefined : String(value);
