/** The requests and their jobs, with a timeline. */
import { formatDuration } from '../../../engine/util/duration.js';
import { grouped } from '../../../engine/util/numbers.js';
import { linesOf } from '../../facts/outcome.js';
import { type RequestFact, requestFacts, type Session, type Span } from '../../facts/session.js';
import type { Form } from '../../facts/text.js';
import { code, foreign, type Html, html, type Part, type Room, table, tag } from './markup.js';

export function jobsBody(session: Session, form: Form, room: Room): Part {
  const requests = requestFacts(session);
  if (requests.length === 0) return null;
  const chosen = new Set([...requests].sort((a, b) => attention(b) - attention(a)).slice(0, room.most));
  const kept = requests.filter((request) => chosen.has(request));
  const scale = scaleOf(kept.flatMap(({ span, waits }) => [...(span ? [span] : []), ...waits]));
  const { paths, waits, stored } = session;
  const waitNote = stored
    ? ' The state counts retries, but does not record when they were: waits are not drawn.'
    : waits.size > 0
      ? ' Hatched stretches are waits before a retry.'
      : ' Waits of earlier sessions are not drawn: only retries are counted.';
  const breaks = scale.breaks.map(
    ([from, until]) => html` A break of ${formatDuration(until - from)} is drawn shorter than it was.`,
  );
  const rows = table({
    kind: 'jobs cards',
    caption: 'Requests, their jobs, and when they ran',
    heads: ['Request', 'Job||job', 'Rows completed|number', ['Time|time', axis(scale)]],
    rows: kept,
    cells: ({ seq, words, tone, done, rows, job, reason, ranges, notes, ...request }) => [
      [
        seq,
        small(foreign(linesOf(ranges, paths.length > 1), 250)),
        notes.map((note) => small(foreign(note, 120))),
      ],
      [
        tag(tone, foreign(words, 80)),
        job !== null && small(code(job, 80)),
        reason !== null && small(foreign(reason[form], 240)),
      ],
      `${grouped(done)} of ${grouped(rows)}`,
      [bar({ tone, ...request }, scale), small(timeText(request, scale))],
    ],
    ...{ room, noun: 'request' },
    cut: [requests.length - kept.length, 'Those that need attention come first when requests are left out.'],
  });
  return html`<p class="quiet">A bar begins when the service accepted the request, and ends when its job ended or was last seen, by the clock of this machine.${requests.some(({ retries }) => retries > 0) && waitNote}${breaks}</p>
${rows}`;
}

const small = (text: Html | string): Html => html`<small>${text}</small>`;

const attention = ({ tone, retries }: RequestFact): number =>
  tone === 'bad' ? 3 : tone === 'warn' ? 2 : retries > 0 ? 1 : 0;

type Times = Pick<RequestFact, 'span' | 'waits'>;

function timeText({ span, waits }: Times, { from }: Scale): string {
  const waited = waits.reduce((sum, [begin, end]) => sum + end - begin, 0);
  return [
    ...(waited > 0 ? [`waited ${formatDuration(waited)}`] : []),
    ...(span
      ? [`accepted at ${formatDuration(span[0] - from)}, took ${formatDuration(span[1] - span[0])}`]
      : []),
  ].join(', ');
}

/** Width of the timeline, of a break in it, and the minimum width of a bar, so that short times are visible. */
const [WIDTH, BREAK, LEAST] = [1_000, 40, 6];

/** Draws a bar. The text below it says the same. */
function bar(
  { span, waits, tone, isOpen }: Times & Pick<RequestFact, 'tone' | 'isOpen'>,
  scale: Scale,
): Html {
  const rect = ([from, until]: Span, kind: string): Html => {
    const x = scale.x(from);
    return html`<rect class="${kind}" x="${Math.min(x, WIDTH - LEAST)}" y="3" width="${Math.max(LEAST, scale.x(until) - x)}" height="10"/>`;
  };
  const marks = scale.breaks.map(([from, until]) => {
    const x = scale.x(from);
    return html`<rect class="break" x="${x}" y="0" width="${scale.x(until) - x}" height="16"/>`;
  });
  return html`<svg class="bar" viewBox="0 0 ${WIDTH} 16" preserveAspectRatio="none" aria-hidden="true"><rect class="ground" x="0" y="3" width="${WIDTH}" height="10"/>${marks}${waits.map((wait) => rect(wait, 'wait'))}${span && rect(span, `job ${tone}${isOpen ? ' open' : ''}`)}</svg>`;
}

function axis({ from, until, breaks }: Scale): Html {
  const moments = breaks.length === 0 ? [0, (until - from) / 2, until - from] : [0, until - from];
  return html`<span class="axis" aria-hidden="true">${moments.map((ms) => html`<span>${ms === 0 ? '0' : formatDuration(ms)}</span>`)}</span>`;
}

interface Scale {
  from: number;
  until: number;
  /** The position of a time, from 0 to `WIDTH`. */
  x(moment: number): number;
  /** Long pauses, which are drawn with a fixed width. */
  breaks: Span[];
}

/** A pause is drawn to scale if it is shorter than this (milliseconds), or than all the work together. */
const LEAST_BREAK = 30_000;

/** Maps times to positions. Shortens long pauses: an import may be resumed the next day. */
export function scaleOf(spans: readonly Span[]): Scale {
  const busy: [number, number][] = [];
  for (const [from, until] of [...spans].sort((a, b) => a[0] - b[0])) {
    const last = busy.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], until);
    else busy.push([from, until]);
  }
  const [from, until] = [busy[0]?.[0] ?? 0, busy.at(-1)?.[1] ?? 0];
  const total = (some: readonly Span[]): number => some.reduce((sum, [begin, end]) => sum + end - begin, 0);
  const long = busy
    .slice(1)
    .map(([begin], index): Span => [busy[index]![1], begin])
    .filter((pause) => total([pause]) >= Math.max(LEAST_BREAK, total(busy)));
  // If breaks would take more than half of the width, pauses are drawn to scale.
  const breaks = long.length * BREAK > WIDTH / 2 ? [] : long;
  const unit = (WIDTH - breaks.length * BREAK) / Math.max(1, until - from - total(breaks));
  const x = (moment: number): number => {
    let at = Math.min(Math.max(moment, from), until) - from;
    let width = 0;
    for (const [begin, end] of breaks.filter(([begin]) => moment > begin)) {
      const passed = Math.min(moment, end) - begin;
      at -= passed;
      width += (passed / (end - begin)) * BREAK;
    }
    return Math.round((at * unit + width) * 10) / 10;
  };
  return { from, until, x, breaks };
}
