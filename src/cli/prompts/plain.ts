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
  /** Of a list to tick. Default: true. */
  isTicked?: boolean;
}

/** Checks an answer: returns what to say about it if it cannot be used. */
export type Check = (text: string) => string | undefined;

/** Each method throws `InterruptedError` for Ctrl-C, Escape, Ctrl-D, and a terminal that was closed. */
export interface Prompter {
  /** Asks for one of several. @param initial the index that Enter takes */
  choose<T>(question: string, choices: readonly Choice<T>[], initial?: number): Promise<T>;
  /** Asks for any of several. Enter takes those that are ticked. */
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

type Asking = Pick<Context, 'stdin' | 'stderr' | 'stop'>;

/** Aborted when nobody can answer any more: at a signal, or when the terminal is closed. */
export function whileOpen({ stdin, stop }: Asking): { signal: AbortSignal; done(): void } {
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
  const done = (): void => {
    input.off('end', close).off('close', close).off('keypress', press);
    if (!closed.signal.aborted) input.off('error', close); // more of them may follow
  };
  return { signal: AbortSignal.any([stop, closed.signal]), done };
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

/** Lines that were pasted at once: the questions that follow use them as answers. */
const pasted = new WeakMap<Input, string[]>();

export function plainPrompter(context: Asking): Prompter {
  const { stdin, stderr } = context;
  const lines = pasted.get(stdin()) ?? [];
  pasted.set(stdin(), lines);
  const say = (line: string): void => void stderr.write(`${line}\n`);

  /** @throws InterruptedError */
  const line = async (question: string, isHidden: boolean): Promise<string> => {
    const open = whileOpen(context);
    // With an output that discards it, readline echoes nothing. It turns the terminal's own echo off.
    const output = new Writable({ write: (_chunk, _encoding, done) => done() });
    const reader = createInterface({ input: stdin(), ...(isHidden && { output, terminal: true }) });
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

  /** Asks until the answer can be used. @param read what to say about one that cannot, or the answer in an array */
  const until = async <T>(question: string, read: (text: string) => [T] | string, isHidden = false) => {
    for (;;) {
      const answer = read((await line(question, isHidden)).trim());
      if (typeof answer !== 'string') return answer[0];
      say(`  ${answer}`);
    }
  };
  const list = (question: string, choices: readonly Choice<unknown>[]): void => {
    say(safeText(question));
    for (const [at, { label, hint }] of choices.entries())
      say(`  ${at + 1}. ${safeLine(label)}${hint ? ` (${safeLine(hint)})` : ''}`);
  };
  const text = (question: string, initial = '', check: Check = () => undefined, isHidden = false) => {
    const shown = initial === '' ? '' : ` [${safeLine(initial)}]`;
    const read = (typed: string): [string] | string => check(typed || initial) ?? [typed || initial];
    return until(`${question}${shown}: `, read, isHidden);
  };
  return {
    choose: (question, choices, initial = 0) => {
      list(question, choices);
      return until(`Number [${initial + 1}]: `, (typed) => {
        const chosen = typed === '' ? choices[initial] : choiceOf(typed, choices);
        return chosen ? [chosen.value] : `Type a number from 1 to ${choices.length}.`;
      });
    },
    tick: (question, choices) => {
      list(question, choices);
      const ticked = tickedIn(choices);
      const shown = ticked.map((at) => at + 1).join(' ') || '0';
      const initial = ticked.length === choices.length ? 'all' : shown;
      return until(`Numbers to take, 0 for none [${initial}]: `, (typed) => {
        const words = typed.split(/[\s,]+/).filter(Boolean);
        if (words.length === 0) return [ticked.map((at) => choices[at]!.value)];
        if (words.join() === '0') return [[]];
        const chosen = words.flatMap((word) => choiceOf(word, choices) ?? []);
        const isWhole = chosen.length === words.length;
        return isWhole
          ? [chosen.map(({ value }) => value)]
          : `Type numbers from 1 to ${choices.length}, or 0 for none.`;
      });
    },
    find: (question, choices) =>
      until(`${question} [${safeLine(choices[0]!.label)}]: `, (typed) => {
        const part = typed.toLowerCase();
        if (part === '') return [choices[0]!.value];
        const exact = choices.find(({ value }) => value.toLowerCase() === part);
        const found = exact ? [exact] : choices.filter(({ label }) => label.toLowerCase().includes(part));
        if (found.length === 0) return `Nothing is like "${safeLine(typed)}".`;
        const labels = found.slice(0, 10).map(({ label }) => safeLine(label));
        return found.length === 1 ? [found[0]!.value] : `Which one: ${labels.join(', ')}?`;
      }),
    confirm: (question, initial) =>
      until(`${question} [${initial ? 'Y/n' : 'y/N'}]: `, (typed) => {
        if (typed === '') return [initial];
        return /^(y(es)?|no?)$/i.test(typed) ? [/^y/i.test(typed)] : 'Type y or n.';
      }),
    text: (question, { initial, check } = {}) => text(question, initial, check),
    hidden: (question, { check } = {}) => text(question, undefined, check, true),
    show: (shown) => shown.map(safeLine).forEach(say),
  };
}

/** The indexes of choices that Enter takes. */
export const tickedIn = (choices: readonly Choice<unknown>[]): number[] =>
  [...choices.keys()].filter((at) => choices[at]!.isTicked !== false);

/** The choice of a number as it is shown, from 1. */
const choiceOf = <T>(typed: string, choices: readonly Choice<T>[]): Choice<T> | undefined =>
  /^\d+$/.test(typed) ? choices[Number(typed) - 1] : undefined;
