/** What can be asked, what ends a question without an answer, and questions line by line, which every terminal can show. */
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { isatty } from 'node:tty';
import { InterruptedError, type ProfilesError } from '../../engine/errors.js';
import type { Context, Input } from '../context.js';
import { safeLine, safeText } from '../output/terminal.js';

export interface Choice<T> {
  value: T;
  label: string;
  /** Shown behind the label. */
  hint?: string | undefined;
}

/** Checks an answer: returns what to say about it if it cannot be used. */
export type Check = (text: string) => string | undefined;

/** Each method throws `InterruptedError` for Ctrl-C, Escape, Ctrl-D, and a terminal that was closed. */
export interface Prompter {
  /** Asks for one of several. @param initial the index that Enter takes */
  choose<T>(question: string, choices: readonly Choice<T>[], initial?: number): Promise<T>;
  /** Asks for any of several. Enter takes all of them. */
  tick<T>(question: string, choices: readonly Choice<T>[]): Promise<T[]>;
  /** Asks for one of many, found by typing a part of it. Enter takes the first. */
  find(question: string, choices: readonly Choice<string>[]): Promise<string>;
  confirm(question: string, initial: boolean): Promise<boolean>;
  /** Asks for a line of text. @param initial the answer for Enter */
  text(question: string, options?: { initial?: string | undefined; check?: Check }): Promise<string>;
  /** Asks for a line that is not shown. */
  hidden(question: string, options?: { check?: Check }): Promise<string>;
  /** Shows lines between questions. */
  show(lines: readonly string[]): void;
}

/** Aborted when nobody can answer any more: at a signal, or when the terminal is closed. */
export function whileOpen({ stdin, stop }: Pick<Context, 'stdin' | 'stop'>): {
  signal: AbortSignal;
  done(): void;
} {
  const closed = new AbortController();
  const close = (): void => closed.abort('SIGINT');
  // In raw mode, Ctrl-D is a key, and does not end the stream.
  const press = (_: unknown, { ctrl, name }: { ctrl?: boolean; name?: string } = {}): void => {
    if (ctrl && name === 'd') close();
  };
  const input = stdin();
  leaveClosed(input);
  // A terminal that was closed is an error, an end, or a signal, whichever comes first.
  input.once('end', close).once('close', close).on('error', close).on('keypress', press);
  return {
    signal: AbortSignal.any([stop, closed.signal]),
    done: () => {
      input.off('end', close).off('close', close).off('keypress', press);
      if (!closed.signal.aborted) input.off('error', close); // more of them may follow
    },
  };
}

/** The mode of a terminal that was closed cannot be set. Node's readline would throw where nobody can catch it. */
function leaveClosed(input: Input & { fd?: number }): void {
  const { fd, setRawMode: set } = input;
  if (fd === undefined || set === undefined || set.name === 'unlessClosed') return;
  input.setRawMode = function unlessClosed(mode: boolean) {
    return isatty(fd) ? set.call(input, mode) : input;
  };
}

export const interrupted = ({ stop }: Pick<Context, 'stop'>): ProfilesError =>
  stop.aborted && stop.reason !== 'SIGHUP' ? InterruptedError.of(stop) : new InterruptedError('SIGINT');

/** If several lines are pasted at once, the next questions use the others as answers. */
export function plainPrompter(context: Pick<Context, 'stdin' | 'stderr' | 'stop'>): Prompter {
  const { stdin, stderr } = context;
  const lines: string[] = [];
  const say = (line: string): void => void stderr.write(`${line}\n`);

  /** @throws InterruptedError */
  const line = async (question: string, isHidden = false): Promise<string> => {
    const open = whileOpen(context);
    // With an output that discards it, readline echoes nothing. It turns the terminal's own echo off.
    const output = new Writable({ write: (_chunk, _encoding, done) => done() });
    const reader = createInterface(
      isHidden ? { input: stdin(), output, terminal: true } : { input: stdin() },
    );
    const typed = new Promise<void>((resolve, reject) => {
      const end = (): void => reject(interrupted(context));
      if (open.signal.aborted) end();
      open.signal.addEventListener('abort', end, { once: true });
      reader.on('line', (text) => {
        lines.push(text);
        resolve();
      });
      reader.once('SIGINT', end).once('close', end).once('error', end);
    });
    try {
      stderr.write(safeText(question));
      if (lines.length === 0) await typed;
      return lines.shift()!;
    } finally {
      typed.catch(() => {}); // if the answer was there already, closing the reader rejects this
      open.done();
      reader.close(); // this also makes the terminal echo again
      if (isHidden) stderr.write('\n');
    }
  };

  /** Asks until the answer can be used. @param read undefined for an answer that cannot */
  const until = async <T>(question: string, read: (text: string) => T | string, isHidden = false) => {
    for (;;) {
      const answer = read(await line(question, isHidden));
      if (typeof answer !== 'string') return answer;
      say(`  ${answer}`);
    }
  };
  const list = (question: string, choices: readonly Choice<unknown>[]): void => {
    say(safeText(question));
    for (const [at, { label, hint }] of choices.entries()) {
      say(`  ${at + 1}. ${safeLine(label)}${hint ? ` (${safeLine(hint)})` : ''}`);
    }
  };
  const text = (
    question: string,
    initial: string | undefined,
    check: Check = () => undefined,
    isHidden = false,
  ) => {
    const shown = initial === undefined ? '' : ` [${safeLine(initial)}]`;
    const read = (typed: string): { text: string } | string => {
      const answer = typed.trim() || (initial ?? '');
      return check(answer) ?? { text: answer };
    };
    return until(`${question}${shown}: `, read, isHidden).then((answer) => answer.text);
  };
  return {
    choose: async (question, choices, initial = 0) => {
      list(question, choices);
      const read = (typed: string) => {
        const at = typed.trim() === '' ? initial : numberOf(typed, choices.length);
        return at === null ? `Type a number from 1 to ${choices.length}.` : { value: choices[at]!.value };
      };
      return (await until(`Number [${initial + 1}]: `, read)).value;
    },
    tick: async (question, choices) => {
      list(question, choices);
      const read = (typed: string) => {
        const words = typed.split(/[\s,]+/).filter(Boolean);
        if (words.length === 0) return { values: choices.map(({ value }) => value) };
        if (words.join() === '0') return { values: [] };
        const left = words.map((word) => numberOf(word, choices.length));
        if (left.includes(null)) return `Type numbers from 1 to ${choices.length}, or 0 for none.`;
        return { values: left.map((at) => choices[at!]!.value) };
      };
      return (await until('Numbers to take, 0 for none [all]: ', read)).values;
    },
    find: async (question, choices) => {
      const read = (typed: string) => {
        const part = typed.trim().toLowerCase();
        if (part === '') return { value: choices[0]!.value };
        const exact = choices.find(({ value }) => value.toLowerCase() === part);
        const found = exact ? [exact] : choices.filter(({ label }) => label.toLowerCase().includes(part));
        const [only, other] = found;
        if (only && !other) return { value: only.value };
        if (!only) return `Nothing is like "${safeLine(typed.trim())}".`;
        return `Which one: ${found
          .slice(0, 10)
          .map(({ label }) => safeLine(label))
          .join(', ')}?`;
      };
      return (await until(`${question} [${safeLine(choices[0]!.label)}]: `, read)).value;
    },
    confirm: async (question, initial) => {
      const read = (typed: string) => {
        const answer = typed.trim().toLowerCase();
        if (answer === '') return { yes: initial };
        if (/^y(es)?$/.test(answer)) return { yes: true };
        return /^n(o)?$/.test(answer) ? { yes: false } : 'Type y or n.';
      };
      return (await until(`${question} [${initial ? 'Y/n' : 'y/N'}]: `, read)).yes;
    },
    text: (question, { initial, check } = {}) => text(question, initial, check),
    hidden: (question, { check } = {}) => text(question, undefined, check, true),
    show: (shown) => shown.map(safeLine).forEach(say),
  };
}

/** The index of a number as it is shown, from 1; null if there is none. */
function numberOf(typed: string, most: number): number | null {
  const number = Number(typed.trim());
  return Number.isInteger(number) && number >= 1 && number <= most ? number - 1 : null;
}
