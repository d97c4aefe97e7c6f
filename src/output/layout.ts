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

/** Parts in their order, two spaces between them; the least important are dropped, and the last one is cut, until they fit. */
export function layout(parts: readonly Part[], columns: number, indent = ''): string {
  let kept = parts.filter((part) => part.text !== '');
  const room = columns - widthOf(indent);
  const width = (): number => kept.reduce((sum, part) => sum + widthOf(part.text) + 2, -2);
  while (kept.length > 1 && width() > room) {
    const least = kept.reduce((a, b) => (b.rank >= a.rank ? b : a));
    kept = kept.filter((part) => part !== least);
  }
  const only = kept.length === 1;
  return indent + kept.map(({ text, style }) => (style ?? same)(only ? cutTo(text, room) : text)).join('  ');
}

const same: Style = (text) => text;
