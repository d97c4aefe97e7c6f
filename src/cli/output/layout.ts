/** One line out of parts, as many as the width allows. */
import type { Style } from './style.js';
import { cutTo, widthOf } from './width.js';

export interface Part {
  /** Safe, without style. An empty part is left out. */
  text: string;
  /** 0 is kept longest; where the line is too long, the highest goes first. */
  rank: number;
  style?: Style | undefined;
}

/**
 * Parts in their order, two spaces between them: the most important ones that fit, each whole. Where not even the first
 * of them fits, it is cut.
 */
export function layout(parts: readonly Part[], columns: number, indent = ''): string {
  let room = columns - widthOf(indent);
  const byRank = parts.filter((part) => part.text !== '').sort((a, b) => a.rank - b.rank);
  const [first, ...others] = byRank;
  if (!first) return indent;
  const text = cutTo(first.text, room);
  const kept = new Map<Part, string>([[first, text]]);
  room -= widthOf(text);
  for (const part of others) {
    const width = 2 + widthOf(part.text);
    if (width > room) continue;
    kept.set(part, part.text);
    room -= width;
  }
  const inOrder = parts.filter((part) => kept.has(part));
  return indent + inOrder.map((part) => (part.style ?? same)(kept.get(part)!)).join('  ');
}

const same: Style = (text) => text;
