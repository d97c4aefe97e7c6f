/** A stream that keeps what is written to it, and can look like a terminal. */
import { Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { TextStream } from '../../src/cli/output/terminal.js';

export type Sink = TextStream & {
  /** Everything that was written. */
  text(): string;
  /** Everything that was written since the last call. */
  fresh(): string;
};

interface Looks {
  /** Width of the terminal that it is. Without it, it is a pipe. */
  columns?: number;
  rows?: number;
  /** Hears what is written, in order. */
  hear?: (text: string) => void;
}

export function sink({ hear, columns, rows }: Looks = {}): Sink {
  const chunks: string[] = [];
  let read = 0;
  const decoder = new StringDecoder('utf8');
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      const text = decoder.write(chunk);
      chunks.push(text);
      hear?.(text);
      done();
    },
  });
  return Object.assign(stream, {
    ...(columns !== undefined && { isTTY: true, columns, ...(rows !== undefined && { rows }) }),
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
