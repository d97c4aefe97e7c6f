/** The report section about requests and their jobs, with a timeline. */
import { formatDuration } from '../../../engine/duration.js';
import { rangesIn } from '../../../engine/model.js';
import { count, grouped, lineRange } from '../../../engine/numbers.js';
import { placeOf } from '../../../engine/send/row-counts.js';
import { failureReason, isFinal, isShort } from '../../../engine/service/names.js';
import type { RequestRecord, RequestState } from '../../../engine/state/requests.js';
import type { Facts, Wait, Wording } from './facts.js';
import { fitting, foreign, type Html, html } from './html.js';
import { cutNote, type Room, section, type Tone, tag } from './parts.js';
import { type Scale, type Span, scaleOf, WIDTH } from './scale.js';

/** The words for requests without a job. */
const STATES: Record<RequestState, { words: string; tone: Tone }> = {
  intent: { words: 'sent; no reply recorded', tone: 'warn' },
  unknown: { words: 'sent; reply lost', tone: 'warn' },
  acknowledged: { words: 'accepted', tone: 'none' },
  settled: { words: 'accepted; no job to follow', tone: 'warn' },
  rejected: { words: 'refused; rows rejected', tone: 'bad' },
  withdrawn: { words: 'not sent', tone: 'warn' },
  waiting: { words: 'to be sent', tone: 'none' },
  refused: { words: 'refused', tone: 'bad' },
  divided: { words: 'split without being sent', tone: 'none' },
  failed: { words: 'given up', tone: 'bad' },
  unsent: { words: 'given up', tone: 'bad' },
};

interface Row {
  request: RequestRecord;
  words: string;
  tone: Tone;
  /** From acceptance to the end of the job, or to the last poll; null without a job. */
  span: Span | null;
  waits: readonly Wait[];
}

export function jobsSection(facts: Facts, wording: Wording, room: Room): Html | null {
  const waits = new Map<number, Wait[]>();
  for (const wait of facts.waits) waits.set(wait.request, [...(waits.get(wait.request) ?? []), wait]);
  const rows = facts.requests
    .filter((r) => r.rows > 0 || r.left_out > 0)
    .map((r) => rowOf(r, facts, waits.get(r.seq) ?? []));
  if (rows.length === 0) return null;
  const chosen = new Set([...rows].sort((a, b) => attention(b) - attention(a)).slice(0, room.most));
  const kept = rows.filter((row) => chosen.has(row));
  const scale = scaleOf(kept.flatMap(({ span, waits }) => [...(span ? [span] : []), ...waits.map(spanOf)]));
  const { shown, more } = fitting(kept, room, (row) => jobRow(row, scale, facts, wording));
  const left = more + rows.length - kept.length;
  const retries = facts.requests.reduce((sum, r) => sum + r.retries, 0);
  return section(
    'jobs',
    'Requests and jobs',
    html`<p class="quiet">A bar begins when the service accepted the request, and ends when its job ended or was last seen, by the clock of this machine.${retries > 0 && waitNote(facts)}${scale.breaks.map(
      ([from, until]) => html` A break of ${formatDuration(until - from)} is drawn shorter than it was.`,
    )}</p>
<table class="jobs cards">
<caption>Requests, their jobs, and when they ran</caption>
<thead><tr><th scope="col">Request</th><th scope="col">Job</th><th scope="col" class="number">Rows completed</th><th scope="col" class="time"><span>Time</span>${axis(scale)}</th></tr></thead>
<tbody>
${shown}</tbody>
</table>
${cutNote(left, 'request', 'Those that need attention come first when requests are left out.')}`,
  );
}

function waitNote({ waits, stored }: Facts): string {
  if (stored) return ' The state counts retries, but does not record when they were: waits are not drawn.';
  return waits.length > 0
    ? ' Hatched stretches are waits before a retry.'
    : ' Waits of earlier sessions are not drawn: only retries are counted.';
}

function rowOf(request: RequestRecord, { seen }: Facts, waits: readonly Wait[]): Row {
  const { job, state } = request;
  const times = request.job_id === null ? undefined : seen.get(request.job_id);
  const base = { request, waits, span: times && job ? spanOfJob(times, job.end_time) : null };
  if (!job) {
    if (request.rows === 0) return { ...base, words: 'sent later by another run', tone: 'warn' };
    return { ...base, ...STATES[state] };
  }
  if (state === 'rejected') return { ...base, words: `${job.status}; rows rejected`, tone: 'bad' };
  if (isShort(job, request.rows)) return { ...base, words: `${job.status}, short`, tone: 'warn' };
  const tone = job.status === 'completed' ? 'good' : job.status === 'failed' ? 'bad' : 'none';
  return { ...base, words: job.status, tone };
}

/**
 * From acceptance to the end of a job. The service's `end_time` is used only if it is an ISO 8601 time
 * between the two times that this machine recorded, because the specification does not show its format (spec:
 * Job).
 */
function spanOfJob({ submitted_at, seen_at }: { submitted_at: string; seen_at: string }, end: unknown): Span {
  const [from, seen] = [Date.parse(submitted_at), Date.parse(seen_at)];
  const isTime = typeof end === 'string' && /^\d{4}-\d\d-\d\dT/.test(end);
  const ended = isTime ? Date.parse(end) : Number.NaN;
  return [from, ended >= from && ended <= seen ? ended : Math.max(from, seen)];
}

const spanOf = ({ from, until }: Wait): Span => [from, until];

const attention = ({ tone, request }: Row): number =>
  tone === 'bad' ? 3 : tone === 'warn' ? 2 : request.retries > 0 ? 1 : 0;

function jobRow(row: Row, scale: Scale, { paths }: Facts, wording: Wording): Html {
  const { request: r, words, tone, span, waits } = row;
  const ranges = rangesIn(placeOf(r, paths));
  const lines = ranges.slice(0, SHOWN_RANGES).map(({ file, first_line, last_line }, index) => {
    const where = first_line === 0 ? 'no rows sent' : lineRange(first_line, last_line);
    return html`${index > 0 && html`<br>`}${paths.length > 1 && html`${foreign(file, 80)}, `}${where}`;
  });
  const notes = [
    ...(r.parent === null ? [] : [`part of request ${r.parent}`]),
    ...(ranges.length > SHOWN_RANGES ? [`and of ${count(ranges.length - SHOWN_RANGES, 'more file')}`] : []),
    ...(r.retries > 0 ? [count(r.retries, 'retry', 'retries')] : []),
    ...(r.left_out > 0 ? [`${count(r.left_out, 'row')} sent later by ${r.left_out_by}`] : []),
  ];
  const done = r.job === null ? 0 : (r.job.completed_rows ?? (r.job.status === 'completed' ? r.rows : 0));
  const why = r.reason ?? failureReason(r.job ?? {});
  const reason = why === null ? null : wording.text(why);
  return html`<tr><th scope="row" data-label="Request">${r.seq}<small>${lines}</small>${notes.map((note) => html`<small>${foreign(note, 120)}</small>`)}</th><td class="job" data-label="Job">${tag(tone, foreign(words, 80))}${
    r.job_id !== null && html`<small><code>${foreign(r.job_id, 80)}</code></small>`
  }${reason !== null && html`<small>${foreign(reason, 240)}</small>`}</td><td class="number" data-label="Rows completed">${grouped(done)} of ${grouped(r.rows)}</td><td class="time" data-label="Time">${bar(span, waits, scale, { tone, open: r.job !== null && !isFinal(r.job.status) })}<small>${timeText(span, waits, scale)}</small></td></tr>
`;
}

/** The maximum number of line ranges shown for a request. */
const SHOWN_RANGES = 3;

function timeText(span: Span | null, waits: readonly Wait[], { from }: Scale): string {
  const waited = waits.reduce((sum, wait) => sum + wait.until - wait.from, 0);
  return [
    ...(waited > 0 ? [`waited ${formatDuration(waited)}`] : []),
    ...(span
      ? [`accepted at ${formatDuration(span[0] - from)}, took ${formatDuration(span[1] - span[0])}`]
      : []),
  ].join(', ');
}

/** Draws a bar. The text below it says the same. */
function bar(
  span: Span | null,
  waits: readonly Wait[],
  scale: Scale,
  look: { tone: Tone; open: boolean },
): Html {
  const rect = ([from, until]: Span, kind: string): Html => {
    const x = scale.x(from);
    return html`<rect class="${kind}" x="${Math.min(x, WIDTH - LEAST)}" y="3" width="${Math.max(LEAST, scale.x(until) - x)}" height="10"/>`;
  };
  const marks = scale.breaks.map(([from, until]) => {
    const x = scale.x(from);
    return html`<rect class="break" x="${x}" y="0" width="${scale.x(until) - x}" height="16"/>`;
  });
  return html`<svg class="bar" viewBox="0 0 ${WIDTH} 16" preserveAspectRatio="none" aria-hidden="true"><rect class="ground" x="0" y="3" width="${WIDTH}" height="10"/>${marks}${waits.map((wait) => rect(spanOf(wait), 'wait'))}${span && rect(span, `job ${look.tone}${look.open ? ' open' : ''}`)}</svg>`;
}

/** Minimum width, so that short times are visible. */
const LEAST = 6;

function axis({ from, until, breaks }: Scale): Html {
  const moments = breaks.length === 0 ? [0, (until - from) / 2, until - from] : [0, until - from];
  return html`<span class="axis" aria-hidden="true">${moments.map((ms) => html`<span>${ms === 0 ? '0' : formatDuration(ms)}</span>`)}</span>`;
}
