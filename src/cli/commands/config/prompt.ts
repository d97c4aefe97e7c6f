/** Questions at a terminal. Their text goes to stderr; a hidden answer is never echoed. */
import { StringDecoder } from 'node:string_decoder';
import { InterruptedError, UsageError } from '../../../engine/errors.js';
import type { Context } from '../../context.js';

export interface Prompter {
  /** One line as the terminal's own editing leaves it. @throws InterruptedError */
  ask(question: string): Promise<string>;
  /** The same without an echo. @throws InterruptedError */
  askHidden(question: string): Promise<string>;
  /** Gives the terminal back. What was typed ahead is dropped. */
  close(): void;
}

/** Opens stdin for questions; one reader serves all of them, so answers that are pasted together are not lost. */
export function openPrompt({ stdin, stderr, stop }: Pick<Context, 'stdin' | 'stderr' | 'stop'>): Prompter {
  const decoder = new StringDecoder('utf8');
  let typed = '';
  let ended = false;
  let wake = (): void => {};
  const onData = (chunk: Buffer | string): void => {
    typed += typeof chunk === 'string' ? chunk : decoder.write(chunk);
    wake();
  };
  const onEnd = (): void => {
    ended = true;
    wake();
  };
  const onStop = (): void => wake();
  stdin.on('data', onData).on('end', onEnd).on('error', onEnd);
  stop.addEventListener('abort', onStop);

  /** The next character; undefined at the end of the input. */
  const next = async (): Promise<string | undefined> => {
    while (typed === '') {
      if (stop.aborted) throw InterruptedError.of(stop);
      if (ended) return undefined;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    const [first = ''] = typed;
    typed = typed.slice(first.length);
    return first;
  };

  const line = async (): Promise<string> => {
    const editor = new LineEditor();
    for (;;) {
      const char = await next();
      switch (char === undefined ? 'end' : editor.take(char)) {
        case 'done':
          return editor.text;
        case 'end':
          if (editor.text !== '') return editor.text;
          throw new UsageError('the input ended before the question was answered', {
            hint: 'type an answer, or give the value by a flag or on stdin',
          });
        case 'interrupt':
          throw new InterruptedError('SIGINT');
      }
    }
  };

  return {
    ask: (question) => {
      stderr.write(question);
      return line();
    },
    askHidden: async (question) => {
      // Before the question is shown: what is typed at once must not be echoed either.
      stdin.setRawMode?.(true);
      stderr.write(question);
      try {
        return await line();
      } finally {
        stdin.setRawMode?.(false);
        stderr.write('\n');
      }
    },
    close: () => {
      stop.removeEventListener('abort', onStop);
      stdin.off('data', onData).off('end', onEnd).off('error', onEnd);
      stdin.pause();
    },
  };
}

const CTRL = {
  c: '\u0003',
  d: '\u0004',
  h: '\b',
  u: '\u0015',
  w: '\u0017',
  delete: '\u007f',
  escape: '\u001b',
};

/** What a terminal's line editing does, for when it is off: one character at a time. */
class LineEditor {
  text = '';
  /** Inside an escape sequence (an arrow key, the marks around pasted text), which is left out. */
  #sequence = '';

  take(char: string): 'more' | 'done' | 'end' | 'interrupt' {
    if (this.#sequence !== '') {
      this.#sequence += char;
      // ESC [ parameters, then a letter or ~; ESC O and one letter; ESC and anything else.
      if (!/^\u001b(?:\[[0-9;?]*|O)?$/.test(this.#sequence)) this.#sequence = '';
      return 'more';
    }
    switch (char) {
      case '\r':
      case '\n':
        return 'done';
      case CTRL.c:
        return 'interrupt';
      case CTRL.d:
        return 'end';
      case CTRL.escape:
        this.#sequence = char;
        return 'more';
      case CTRL.h:
      case CTRL.delete:
        this.text = [...this.text].slice(0, -1).join('');
        return 'more';
      case CTRL.u:
        this.text = '';
        return 'more';
      case CTRL.w:
        this.text = this.text.replace(/\S+\s*$/, '');
        return 'more';
    }
    this.text += char;
    return 'more';
  }
}
