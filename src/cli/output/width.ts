/**
 * Measures text in terminal cells (a CJK character or an emoji has two, a combining mark none), and fits
 * lines to a width.
 */
import stringWidth from 'string-width';
import type { Style } from './terminal.js';

/** Printable ASCII and what lines begin and end with: a cell each. Preparing to measure other text takes 30 ms. */
const isPlain = (line: string): boolean => /^[ -~✓✗…]*$/.test(line);

/** Width of a line in cells. Escape sequences have no width. */
export const widthOf = (line: string): number => (isPlain(line) ? line.length : stringWidth(line));

/** Cuts a line to at most `cells`, with `…` at the end. Never splits a character. Do not pass styled text. */
export function cutTo(line: string, cells: number): string {
  if (widthOf(line) <= cells) return line;
  if (cells <= 0) return '';
  if (isPlain(line)) return `${line.slice(0, cells - 1)}…`;
  let used = 0;
  const cut = [...new Intl.Segmenter().segment(line)].find(({ segment }) => {
    used += widthOf(segment);
    return used > cells - 1;
  });
  return `${line.slice(0, cut?.index)}…`;
}

/** Breaks a line into lines of at most `cells`, at spaces where it has any. Later lines keep its indent. */
export function wrapTo(line: string, cells: number): string[] {
  const indent = /^ */.exec(line)![0];
  const lines: string[] = [];
  let rest = line;
  while (widthOf(rest) > cells) {
    const fits = cutTo(rest, cells + 1).slice(0, -1); // without its ellipsis
    const space = rest[fits.length] === ' ' ? fits.length : fits.lastIndexOf(' ');
    const end = space > indent.length ? space : fits.length;
    if (end <= indent.length) break;
    lines.push(rest.slice(0, end).trimEnd());
    rest = indent + rest.slice(end).trimStart();
  }
  return [...lines, rest];
}

/** Pads a line with spaces to `cells`; a wider line stays as it is. */
export function pad(line: string, cells: number, align: 'left' | 'right' = 'left'): string {
  const gap = ' '.repeat(Math.max(0, cells - widthOf(line)));
  return align === 'left' ? line + gap : gap + line;
}

export interface Part {
  /** Safe text without style. An empty part is left out. */
  text: string;
  /** If the line is too long, parts with the highest rank are dropped first. */
  rank: number;
  style?: Style | undefined;
}

/**
 * The parts in their order, separated by two spaces: the most important ones that fit completely. If not even
 * the most important one fits, it is cut.
 */
export function layout(parts: readonly Part[], columns: number, indent = ''): string {
  const byRank = parts.filter((part) => part.text !== '').sort((a, b) => a.rank - b.rank);
  const kept = new Map<Part, string>();
  let room = columns - widthOf(indent);
  for (const part of byRank) {
    const text = kept.size === 0 ? cutTo(part.text, room) : part.text;
    const width = widthOf(text) + (kept.size === 0 ? 0 : 2);
    if (kept.size > 0 && width > room) continue;
    kept.set(part, text);
    room -= width;
  }
  const shown = parts.filter((part) => kept.has(part));
  return indent + shown.map((part) => (part.style ?? String)(kept.get(part)!)).join('  ');
}

/** Two columns: terms, and texts, which wrap within their column. @param left least width of the terms and their gap */
export function twoColumns(
  rows: readonly (readonly [term: string, text: string])[],
  { left = 0, width = 80 }: { left?: number; width?: number } = {},
): string {
  const at = Math.max(left, ...rows.map(([term]) => term.length + 2));
  const indent = `\n${' '.repeat(at + 2)}`;
  return rows
    .map(([term, text]) => `  ${term.padEnd(at)}${wrapTo(text, width - at - 2).join(indent)}`.trimEnd())
    .join('\n');
}
