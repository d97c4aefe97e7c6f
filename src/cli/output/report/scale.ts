/** Maps times to positions on a timeline. Pure. */

/** Start and end, in milliseconds. */
export type Span = readonly [from: number, until: number];

export interface Scale {
  from: number;
  until: number;
  /** The position of a time, from 0 to `WIDTH`. */
  x(moment: number): number;
  /** Long pauses, which are drawn with a fixed width. */
  breaks: Span[];
}

export const WIDTH = 1_000;
/** Width of a break, in the units of `WIDTH`. */
const BREAK = 40;
/** A pause is drawn to scale if it is shorter than this (milliseconds), or than all the work together. */
const LEAST_BREAK = 30_000;

/** Makes a scale that shortens long pauses: an import may be resumed the next day. */
export function scaleOf(spans: readonly Span[]): Scale {
  const busy: [number, number][] = [];
  for (const [from, until] of [...spans].sort((a, b) => a[0] - b[0])) {
    const last = busy.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], until);
    else busy.push([from, until]);
  }
  const [from, until] = [busy[0]?.[0] ?? 0, busy.at(-1)?.[1] ?? 0];
  const worked = busy.reduce((sum, [begin, end]) => sum + end - begin, 0);
  const breaks = busy
    .slice(1)
    .map(([begin], index): Span => [busy[index]![1], begin])
    .filter(([begin, end]) => end - begin >= Math.max(LEAST_BREAK, worked));
  // If breaks would take more than half of the width, pauses are drawn to scale.
  const most = breaks.length * BREAK > WIDTH / 2 ? [] : breaks;
  const drawn = until - from - most.reduce((sum, [begin, end]) => sum + end - begin, 0);
  const unit = (WIDTH - most.length * BREAK) / Math.max(1, drawn);
  const x = (moment: number): number => {
    let at = Math.min(Math.max(moment, from), until) - from;
    let width = 0;
    for (const [begin, end] of most) {
      if (moment <= begin) break;
      const passed = Math.min(moment, end) - begin;
      at -= passed;
      width += (passed / (end - begin)) * BREAK;
    }
    return Math.round((at * unit + width) * 10) / 10;
  };
  return { from, until, x, breaks: most };
}
