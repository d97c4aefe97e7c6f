/** The documents for readers, and the fenced blocks in them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '../..');

export const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const documentsIn = (folder: string): string[] =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));

/** For users, by their paths from the root: their commands are run. */
export const PAGES: readonly string[] = ['README.md', ...documentsIn('docs')];
export const DOCUMENTS: readonly string[] = [
  ...documentsIn('.'),
  ...['docs', 'bench', 'examples', 'fixtures', 'fixtures/wire'].flatMap(documentsIn),
];

export interface Block {
  page: string;
  language: string;
  /** Of the first line of its text, from 1. */
  line: number;
  text: string;
  /** Why no test runs it, from the comment `<!-- not run: … -->` above it. */
  notRun: string | null;
}

const FENCE = /^(?:<!-- not run: (.+) -->\n)?( *)```(\w*)\n([\s\S]*?)^\2```$/gm;

/** The fenced blocks of a page, in order. */
export function blocksOf(page: string): Block[] {
  const text = read(page);
  return [...text.matchAll(FENCE)].map(({ 1: notRun, 3: language, 4: block, index }) => ({
    page,
    language: language!,
    line: text.slice(0, index).split('\n').length + (notRun ? 2 : 1),
    text: block!,
    notRun: notRun ?? null,
  }));
}

/** What stands in backquotes in the text of a page, outside of its blocks. */
export function codeOf(page: string): string[] {
  const prose = read(page).replace(FENCE, '');
  return [...prose.matchAll(/(?<!`)`([^`\n]+)`(?!`)/g)].map(([, code]) => code!);
}
