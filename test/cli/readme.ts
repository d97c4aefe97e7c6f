/** The README's examples, as they stand there. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const README = readFileSync(resolve(import.meta.dirname, '../../README.md'), 'utf8');

export interface Block {
  language: string;
  /** Of the line in the README on which its first line stands. */
  line: number;
  text: string;
}

/** Fenced blocks, in their order. */
export const blocks: readonly Block[] = [...README.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(
  ({ 1: language, 2: text, index }) => ({
    language: language!,
    line: README.slice(0, index).split('\n').length + 1,
    text: text!,
  }),
);
