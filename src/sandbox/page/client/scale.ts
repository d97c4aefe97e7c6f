/** A time axis for jobs: stretches in which none was under way take no more room than a gap. */

export interface Span {
  from: number;
  until: number;
}

export interface Scale {
  /** From a moment to 0…1. */
  at(ms: number): number;
  /** Where time was left out, 0…1. */
  gaps: number[];
}

/** Share of the axis that a gap takes. */
const GAP = 0.02;
/** Rest between two jobs that is left out, as a share of the time in which jobs were under way. */
const LONG = 0.25;

export function scaleOf(spans: readonly Span[]): Scale {
  const busy = merged(spans);
  const active = busy.reduce((sum, { from, until }) => sum + until - from, 0) || 1;
  const stretches: Span[] = [];
  for (const span of busy) {
    const last = stretches.at(-1);
    if (last && span.from - last.until <= active * LONG) last.until = span.until;
    else stretches.push({ ...span });
  }
  const breaks = Math.max(0, stretches.length - 1);
  const total = stretches.reduce((sum, { from, until }) => sum + until - from, 0) || 1;
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

/** In order, those that touch as one. */
function merged(spans: readonly Span[]): Span[] {
  const sorted = [...spans].sort((a, b) => a.from - b.from);
  const found: Span[] = [];
  for (const span of sorted) {
    const last = found.at(-1);
    if (last && span.from <= last.until) last.until = Math.max(last.until, span.until);
    else found.push({ ...span });
  }
  return found;
}
