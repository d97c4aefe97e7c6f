/** Text measured in terminal cells: a CJK character or an emoji takes two, a combining mark none. */
import stringWidth from 'string-width';

const ASCII = /^[\x20-\x7e]*$/;
const graphemes = new Intl.Segmenter();

/** Cells that a line takes. Escape sequences count as nothing. */
export function widthOf(line: string): number {
  return ASCII.test(line) ? line.length : stringWidth(line);
}

/** The line cut to at most `cells`, ending in `…` where something was cut. No character is halved. The line carries no style yet. */
export function cutTo(line: string, cells: number): string {
  if (widthOf(line) <= cells) return line;
  if (cells <= 0) return '';
  if (ASCII.test(line)) return `${line.slice(0, cells - 1)}…`;
  let kept = '';
  let used = 0;
  for (const { segment } of graphemes.segment(line)) {
    const width = stringWidth(segment);
    if (used + width > cells - 1) break;
    kept += segment;
    used += width;
  }
  return `${kept}…`;
}

/** The line filled up with spaces to `cells`; a wider one stays as it is. */
export function pad(line: string, cells: number, align: 'left' | 'right' = 'left'): string {
  const gap = ' '.repeat(Math.max(0, cells - widthOf(line)));
  return align === 'left' ? line + gap : gap + line;
}
