/** What a page says about a run, from the events of an import or from what the state recorded. */

import { ProfilesError } from '../../engine/errors.js';
import type { ImportEvent } from '../../engine/events.js';
import { placeOf, type RequestRecord } from '../../engine/model/requests.js';
import { type Plan, type RunStatus, rangesIn, type Summary } from '../../engine/model.js';
import { failureReason, isFinal, isShort } from '../../engine/service/names.js';
import type { StoredRun } from '../../engine/state/runs.js';
import type { State } from '../../engine/state/state.js';
import { count } from '../../engine/util/numbers.js';
import type { Commands } from '../advice/commands.js';
import { inOneLine } from '../advice/hint.js';
import type { Known, Step } from '../advice/next.js';
import { errorWords, warningText } from '../advice/words.js';
import { type Facts, factsOf, type Heard, type Told, type Warned } from './index.js';
import { type Text, Texts, type Tone, toneOf } from './outcome.js';
import TEXTS from './texts.json' with { type: 'json' };

/** Start and end, in milliseconds since 1970. */
export type Span = readonly [from: number, until: number];

export interface Session {
  /** Milliseconds since 1970. */
  now: number;
  startedAt: number;
  service: Pick<Summary, 'account' | 'region' | 'base_url'>;
  /** The inputs, as they were given on the command line. */
  paths: readonly string[];
  run: string | null;
  status: RunStatus | 'running' | 'crashed' | 'superseded';
  /** Null if no session has ended. */
  facts: Facts | null;
  /** Null for a run loaded from the state, and for one that failed before its plan. */
  plan: Plan | null;
  requests: readonly RequestRecord[];
  /** By job id: when it was accepted and last polled, as ISO 8601 by this machine's clock. */
  seen: ReadonlyMap<string, { submitted_at: string; seen_at: string }>;
  /** The waits before retries of this session, by request. The state counts retries, but does not record their times. */
  waits: ReadonlyMap<number, readonly Span[]>;
  /** The error that ended the import early, or null. */
  failure: { message: Text; hint: string | null } | null;
  /** Whether the session is about a stored run: the state keeps no causes, warnings, or columns. */
  stored: boolean;
  /** Whether the run had earlier sessions. */
  resumed: boolean;
  next: readonly Step[];
}

/** The maximum number of retries that are drawn. */
const MOST_WAITS = 10_000;

/** What was heard of an import: puts its events into words, and says at its end what a page shows. */
export class Hearing {
  readonly #startedAt: number;
  readonly #warnings: Warned[] = [];
  readonly #waits = new Map<number, Span[]>();
  #retries = 0;
  #plan: Plan | null = null;
  #facts: Facts | null = null;

  constructor(private readonly context: { clock: { now(): number }; commands: Commands }) {
    this.#startedAt = context.clock.now();
  }

  /** @param known with a summary */
  tell(
    event: ImportEvent,
    { requests = [], ...known }: Omit<Known, 'commands'> & Pick<Heard, 'requests'> = { failed: [] },
  ): Told {
    const { clock, commands } = this.context;
    if (event.type === 'plan') this.#plan = event.plan;
    if (event.type === 'retry' && this.#retries++ < MOST_WAITS) {
      const from = clock.now();
      const before = this.#waits.get(event.request) ?? [];
      this.#waits.set(event.request, [...before, [from, from + event.delay_ms]]);
    }
    if (event.type === 'summary') {
      const heard = { plan: this.#plan, warnings: this.#warnings, requests };
      this.#facts = factsOf(event.summary, { commands, ...known }, heard);
      return { type: 'summary', facts: this.#facts };
    }
    if (event.type !== 'warning') return event;
    const text = warningText(event, commands);
    const message = inOneLine(text);
    const { isKnown } = event;
    const warned = { message, ...(text !== message && { text }), ...(isKnown && { isKnown }) };
    this.#warnings.push(warned);
    return { type: 'warning', ...warned };
  }

  /** @param error that ended it early, or null */
  async session(
    { service, ...about }: Pick<Session, 'service' | 'paths' | 'resumed'>,
    error: unknown,
    state: State,
  ): Promise<Session> {
    const now = this.context.clock.now();
    const facts = this.#facts;
    const { summary, next = [] } = facts ?? {};
    const run = summary?.run ?? null;
    const plan = summary?.plan ?? this.#plan;
    const requests = run === null ? [] : await state.requests.of(run);
    const cut = (all: Span[]): Span[] => all.map(([from, end]) => [from, Math.min(end, now)]);
    const texts = new Texts(plan, requests);
    return {
      ...{ ...about, now, run, facts, plan, requests, startedAt: this.#startedAt, next, stored: false },
      service: summary ?? service,
      paths: (summary ?? plan)?.files.map(({ path }) => path) ?? about.paths,
      status: summary?.status ?? 'stopped',
      seen: run === null ? new Map() : await seenOf(state, run),
      waits: new Map([...this.#waits].map(([request, all]) => [request, cut(all)])),
      failure: error === null ? null : failureOf(error, this.context.commands, texts),
    };
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** A hint may contain cells, such as the one for a wrong encoding, so it is for nobody else. */
function failureOf(error: unknown, commands: Commands, texts: Texts): NonNullable<Session['failure']> {
  if (!(error instanceof ProfilesError)) return { message: texts.of(messageOf(error)), hint: null };
  const { message, hint = null } = errorWords(error, commands);
  return { message: texts.of(message, error.errorCode), hint };
}

/** A run that the state has recorded. */
export const storedSession = async (
  { run, status, paths, scope, named_account, started_at }: StoredRun,
  about: Pick<Session, 'now' | 'facts' | 'requests' | 'next'>,
  state: State,
): Promise<Session> => ({
  ...{ ...about, run, status, paths, plan: null, failure: null, stored: true, resumed: true },
  startedAt: Date.parse(started_at),
  service: { ...scope, account: named_account },
  seen: await seenOf(state, run),
  waits: new Map(),
});

const seenOf = async (state: State, run: string): Promise<Session['seen']> =>
  new Map((await state.jobs.all()).flatMap((job) => (job.run === run ? [[job.job_id, job]] : [])));

export type RequestFact = ReturnType<typeof requestFacts>[number];

/** Whether there is anything to say about a request. */
export const isShown = ({ rows, left_out }: RequestRecord): boolean => rows > 0 || left_out > 0;

/** What became of each request. `span`: from acceptance to the end of the job, or to the last poll; null without a job. */
export function requestFacts({ requests, paths, seen, waits, plan }: Session) {
  const texts = new Texts(plan, requests);
  return requests.filter(isShown).map((r) => {
    const { job, job_id, seq, rows, retries } = r;
    const times = job_id === null ? undefined : seen.get(job_id);
    const [words, tone] = wordsFor(r);
    const why = r.reason ?? failureReason(job ?? {});
    return {
      ...{ seq, rows, retries, job: job_id, words, tone, waits: waits.get(seq) ?? [] },
      done: job?.completed_rows ?? (job?.status === 'completed' ? rows : 0),
      isOpen: job !== null && !isFinal(job.status),
      reason: why === null ? null : texts.of(why),
      ranges: rangesIn(placeOf(r, paths)),
      notes: [
        ...(r.parent === null ? [] : [`part of request ${r.parent}`]),
        ...(retries > 0 ? [count(retries, 'retry', 'retries')] : []),
        ...(r.left_out > 0 ? [`${count(r.left_out, 'row')} sent later by ${r.left_out_by}`] : []),
      ],
      span: times && job ? spanOfJob(times, job.end_time) : null,
    };
  });
}

function wordsFor({ job, state, rows }: RequestRecord): [words: string, tone: Tone] {
  if (!job && rows === 0) return ['sent later by another run', 'warn'];
  const { words, tone } = TEXTS.requests[state];
  if (!job) return [words, tone as Tone];
  if (state === 'rejected') return [`${job.status}; rows rejected`, 'bad'];
  return isShort(job, rows) ? [`${job.status}, short`, 'warn'] : [job.status, toneOf(job.status)];
}

/**
 * From acceptance to the end of a job. The service's `end_time` is used only if it is an ISO 8601 time between the two
 * times that this machine recorded, because the specification does not show its format (spec: Job).
 */
function spanOfJob({ submitted_at, seen_at }: { submitted_at: string; seen_at: string }, end: unknown): Span {
  const [from, seen] = [Date.parse(submitted_at), Date.parse(seen_at)];
  const ended = typeof end === 'string' && /^\d{4}-\d\d-\d\dT/.test(end) ? Date.parse(end) : Number.NaN;
  return [from, ended >= from && ended <= seen ? ended : Math.max(from, seen)];
}
