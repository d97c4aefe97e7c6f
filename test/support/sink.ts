/** A stream that keeps what is written to it, and can look like a terminal. */
import { Writable } from 'node:stream';
import type { TextStream } from '../../src/cli/output/terminal.js';

export type Sink = TextStream & {
  /** Everything that was written. */
  text(): string;
  /** Everything that was written since the last call. */
  fresh(): string;
};

/** Makes a pipe; with `columns`, a terminal of that width. */
export function sink(terminal: { columns?: number; rows?: number } = {}): Sink {
  const chunks: string[] = [];
  let read = 0;
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      chunks.push(chunk.toString('utf8'));
      done();
    },
  });
  return Object.assign(stream, {
    ...(terminal.columns === undefined ? {} : { isTTY: true, ...terminal }),
    text: () => chunks.join(''),
    fresh: () => {
      const text = chunks.slice(read).join('');
      read = chunks.length;
      return text;
    },
  });
}

/** The text without colors and cursor movements. */
export const bare = (text: string): string => text.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '');
