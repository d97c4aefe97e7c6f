/** Asks questions at a terminal. The questions go to stderr; a hidden answer is never echoed. */
import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import { InterruptedError, UsageError } from '../../../engine/errors.js';
import type { Context } from '../../context.js';

export interface Prompter {
  /** Asks for one line. @throws InterruptedError; UsageError if stdin ends first */
  ask(question: string): Promise<string>;
  /** Asks a yes/no question: `y` and `yes` mean yes, anything else means no. Throws like `ask`. */
  confirms(question: string): Promise<boolean>;
  /** Asks for one line without echoing it. Throws like `ask`. */
  askHidden(question: string): Promise<string>;
}

/**
 * Prepares questions on stdin. If several lines are pasted at once, the next questions use the others as
 * answers.
 */
export function openPrompt({ stdin, stderr, stop }: Pick<Context, 'stdin' | 'stderr' | 'stop'>): Prompter {
  const lines: string[] = [];

  const answer = async (question: string, reader: Interface): Promise<string> => {
    reader.on('line', (line) => lines.push(line));
    const typed = nextLine(reader, stop);
    try {
      stderr.write(question);
      if (lines.length === 0) await typed;
      return lines.shift()!;
    } finally {
      typed.catch(() => {}); // if the answer was there already, closing the reader rejects this
      reader.close(); // this also makes the terminal echo again
    }
  };

  const ask = (question: string): Promise<string> => answer(question, createInterface({ input: stdin() }));
  return {
    ask,
    confirms: async (question) => /^y(es)?$/i.test((await ask(question)).trim()),
    askHidden: async (question) => {
      // readline echoes to its output, which discards it here. It turns the terminal's own echo off before
      // the question is shown.
      const output = new Writable({ write: (_chunk, _encoding, done) => done() });
      try {
        return await answer(question, createInterface({ input: stdin(), output, terminal: true }));
      } finally {
        stderr.write('\n');
      }
    },
  };
}

function nextLine(reader: Interface, stop: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const interrupted = (): void => reject(InterruptedError.of(stop));
    const ended = (): void =>
      reject(
        new UsageError('the input ended before the question was answered', {
          hint: 'type an answer, or pass the value with a flag or on stdin',
        }),
      );
    if (stop.aborted) interrupted();
    stop.addEventListener('abort', interrupted, { once: true });
    reader
      .once('line', () => resolve())
      .once('SIGINT', () => reject(new InterruptedError('SIGINT')))
      .once('error', ended)
      .once('close', ended)
      .once('close', () => stop.removeEventListener('abort', interrupted));
  });
}
