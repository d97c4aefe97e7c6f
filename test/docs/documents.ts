/** The documents for readers: README.md and the pages in docs/, and the fenced blocks in them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '../..');

/** Paths from the root. */
export const PAGES: readonly string[] = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

export interface Block {
  page: string;
  language: string;
  /** Of the first line of its text, from 1. */
  line: number;
  text: string;
}

/** The fenced blocks of a page, in order. */
export function blocksOf(page: string): Block[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(({ 1: language, 2: block, index }) => ({
    page,
    language: language!,
    line: text.slice(0, index).split('\n').length + 1,
    text: block!,
  }));
}
