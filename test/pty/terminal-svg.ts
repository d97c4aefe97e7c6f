/**
 * Screens of a terminal as a picture: SVG with text that stays text, without scripts and fonts of its own. The screens
 * follow each other once, in seconds, and the last one stays; it is also all there is where nothing may move.
 */
import { widthOf } from '../../src/cli/output/width.js';

export interface Frame {
  /** Lines with SGR sequences, as the terminal shows them. */
  lines: readonly string[];
  /** Seconds until the next one. */
  seconds: number;
}

export interface Picture {
  /** Names the picture for those who do not see it; `description` says what is in it. */
  title: string;
  description: string;
  frames: readonly Frame[];
  columns: number;
}

const FONT_SIZE = 13;
/** Of most monospaced fonts: 0.6 em. Every run of text is stretched to its cells, so other fonts stay aligned. */
const CELL = 7.8;
const LINE = 19;
const PADDING = 18;

/** By SGR code, on a light and on a dark background; each with a contrast of 4.5 at least. */
const COLOURS: Record<string, [light: string, dark: string]> = {
  text: ['#24292f', '#e6edf3'],
  2: ['#57606a', '#9198a1'],
  31: ['#cf222e', '#ff7b72'],
  32: ['#116329', '#3fb950'],
  33: ['#7d4e00', '#d29922'],
  36: ['#0a5d80', '#39c5cf'],
};
const PAPER = { light: '#ffffff', dark: '#0d1117', edge: '#8c959f' };
const BOLD = '1';

export function terminalSvg({ title, description, frames, columns }: Picture): string {
  const width = Math.ceil(columns * CELL + 2 * PADDING);
  const rows = Math.max(...frames.map(({ lines }) => lines.length));
  const height = rows * LINE + 2 * PADDING;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title description">`,
    `<title id="title">${escaped(title)}</title>`,
    `<desc id="description">${escaped(description)}</desc>`,
    `<style>\n${styles(frames)}\n</style>`,
    `<rect class="paper" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8"/>`,
    ...frames.map(({ lines }, index) => `<g class="frame" id="frame-${index}">\n${drawn(lines)}</g>`),
    '</svg>\n',
  ].join('\n');
}

function styles(frames: readonly Frame[]): string {
  const fills = (theme: 0 | 1): string =>
    Object.entries(COLOURS)
      .map(([code, pair]) => `${code === 'text' ? 'text' : `.sgr-${code}`} { fill: ${pair[theme]}; }`)
      .join('\n');
  const fonts = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace';
  return [
    `text { font: ${FONT_SIZE}px ${fonts}; }`,
    `.sgr-${BOLD} { font-weight: bold; }`,
    `.paper { fill: ${PAPER.light}; stroke: ${PAPER.edge}; }`,
    fills(0),
    `@media (prefers-color-scheme: dark) {\n.paper { fill: ${PAPER.dark}; }\n${fills(1)}\n}`,
    '.frame { opacity: 0; }',
    `#frame-${frames.length - 1} { opacity: 1; }`,
    `@media (prefers-reduced-motion: no-preference) {\n${motion(frames)}\n}`,
  ].join('\n');
}

/** Each frame is there for its seconds; the last one comes and stays. */
function motion(frames: readonly Frame[]): string {
  let start = 0;
  const rules = frames.map(({ seconds }, index) => {
    const delay = `${start.toFixed(1)}s`;
    start += seconds;
    const move = index < frames.length - 1 ? `pass ${seconds}s ${delay}` : `stay 1s ${delay} backwards`;
    return `#frame-${index} { animation: ${move}; }`;
  });
  return [
    '@keyframes pass { from, to { opacity: 1; } }',
    '@keyframes stay { from { opacity: 0; } 1%, to { opacity: 1; } }',
    ...rules,
  ].join('\n');
}

function drawn(lines: readonly string[]): string {
  const codes = new Set<string>();
  return lines
    .map((line, row) => {
      const y = PADDING + row * LINE + FONT_SIZE;
      return runsOf(line, codes)
        .map(({ text, column, codes }) => {
          const look = codes.length > 0 ? ` class="${codes.map((code) => `sgr-${code}`).join(' ')}"` : '';
          const place = `x="${cells(column) + PADDING}" y="${y}" textLength="${cells(widthOf(text))}"`;
          return `<text ${place} lengthAdjust="spacingAndGlyphs"${look}>${escaped(text)}</text>\n`;
        })
        .join('');
    })
    .join('');
}

interface Run {
  text: string;
  column: number;
  /** SGR codes in force. */
  codes: string[];
}

/**
 * Pieces of one look, parted where two blanks stand, so that no reader of the file has to keep blanks. `codes` are
 * those in force, which go on from line to line.
 */
function runsOf(line: string, codes: Set<string>): Run[] {
  const runs: Run[] = [];
  let column = 0;
  for (const [piece, sequence] of line.matchAll(/\u001b\[([\d;]*)m|[^\u001b]+/g)) {
    if (sequence !== undefined) {
      for (const code of sequence.split(';')) take(code, codes);
      continue;
    }
    for (const { 0: text, index } of piece.matchAll(/\S+(?: \S+)*/g)) {
      const before = widthOf(piece.slice(0, index));
      runs.push({ text, column: column + before, codes: [...codes] });
    }
    column += widthOf(piece);
  }
  return runs;
}

function take(code: string, codes: Set<string>): void {
  if (code === '' || code === '0') codes.clear();
  else if (code === '22') for (const one of ['1', '2']) codes.delete(one);
  else if (code === '39') for (const one of codes) if (one.startsWith('3')) codes.delete(one);
  if (code === BOLD || (code in COLOURS && code !== 'text')) codes.add(code);
}

const cells = (count: number): number => Math.round(count * CELL * 10) / 10;

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
