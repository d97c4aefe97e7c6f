/** A stream that keeps what is written to it, and says of itself what a test wants. */
import { Writable } from 'node:stream';
import type { TextStream } from '../../src/cli/output/terminal.js';

export type Sink = TextStream & {
  /** All that was written. */
  text(): string;
  /** What was written since the last call. */
  fresh(): string;
};

/** A pipe; with `columns`, a terminal of that width. */
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

/** Text without color and cursor movements. */
export const bare = (text: string): string => text.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '');
