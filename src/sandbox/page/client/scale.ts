/** A time axis for jobs. Long pauses without a job are drawn as narrow gaps. */

export interface Span {
  from: number;
  until: number;
}

export interface Scale {
  /** The position of a time, from 0 to 1. */
  at(ms: number): number;
  /** The positions of the gaps, from 0 to 1. */
  gaps: number[];
}

/** The share of the axis that a gap takes. */
const GAP = 0.02;
/** A pause is left out if it is longer than this share of the time in which jobs ran. */
const LONG = 0.25;

export function scaleOf(spans: readonly Span[]): Scale {
  const busy = joined(spans, 0);
  const stretches = joined(busy, (lengthOf(busy) || 1) * LONG);
  const breaks = Math.max(0, stretches.length - 1);
  const total = lengthOf(stretches) || 1;
  const room = 1 - Math.min(0.5, breaks * GAP);
  const gap = breaks === 0 ? 0 : (1 - room) / breaks;

  let start = 0;
  const placed = stretches.map(({ from, until }) => {
    const width = ((until - from) / total) * room;
    const one = { from, until, start, width };
    start += width + gap;
    return one;
  });
  return {
    at(ms) {
      const within = placed.findLast(({ from }) => ms >= from) ?? placed[0];
      if (within === undefined) return 0;
      const { from, until, start: left, width } = within;
      const share = until === from ? 0 : (Math.min(Math.max(ms, from), until) - from) / (until - from);
      return left + share * width;
    },
    gaps: placed.slice(1).map((one) => one.start - gap / 2),
  };
}

const lengthOf = (spans: readonly Span[]): number =>
  spans.reduce((sum, { from, until }) => sum + until - from, 0);

/** Sorted, and those merged that are at most `pause` apart. */
function joined(spans: readonly Span[], pause: number): Span[] {
  const found: Span[] = [];
  for (const span of [...spans].sort((a, b) => a.from - b.from)) {
    const last = found.at(-1);
    if (last && span.from - last.until <= pause) last.until = Math.max(last.until, span.until);
    else found.push({ ...span });
  }
  return found;
}
