/** What can be asked, and what ends a question without an answer. */
import { isatty } from 'node:tty';
import { InterruptedError, type ProfilesError } from '../../engine/errors.js';
import type { Context, Input } from '../context.js';

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
