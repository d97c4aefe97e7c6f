/** What must hold after each command, from what arrived at the service. */

import { type Kind, type MaybeSentTwice, rangesIn, type Summary } from '../../src/engine/model.js';
import { ROWS, type RowClass } from '../../src/engine/states.js';
import type { Machine } from './machine.js';
import type { Model, Row, RowOutcome, Run } from './model.js';
import { mayBecome } from './reach.js';
import { type Arrival, appliedOf } from './service.js';

class Violation extends Error {
  constructor(
    readonly property: string,
    what: string,
  ) {
    super(`${property}: ${what}`);
  }
}

export const holds = (condition: boolean, property: string, what: () => string): void => {
  if (!condition) throw new Violation(property, what());
};

/** The class of a row, by its outcome. */
export const CLASS_OF: Record<RowOutcome['outcome'], RowClass> = {
  completed: 'submitted',
  submitted: 'submitted',
  failed: 'submitted',
  short: 'submitted',
  rejected: 'rejected',
  merged: 'merged',
  unchanged: 'unchanged',
  filtered: 'filtered',
  unknown: 'unknown',
  unsent: 'unsent',
};

/** Requests of a run, in the order in which they arrived. */
const arrivalsOf = ({ commands }: Pick<Run, 'commands'>, all: readonly Arrival[]): Arrival[] =>
  all.filter(({ command }) => commands.includes(command));

/** What arrived of one row of a run. */
interface Known {
  arrivals: readonly Arrival[];
  /** The client has read and recorded that it was taken. */
  isAcknowledged: boolean;
  /** It may have arrived, as far as the client can know. */
  isDoubtful: boolean;
}

function knownOf({ id }: Pick<Row, 'id'>, run: Run, all: readonly Arrival[]): Known {
  const arrivals = arrivalsOf(run, all).filter(({ items }) => items.some((item) => item.id === id));
  const isRead = (arrival: Arrival): boolean => arrival.acknowledged && !run.cut.has(arrival.command);
  return {
    arrivals,
    isAcknowledged: arrivals.some(isRead),
    isDoubtful: arrivals.some((arrival) => !isRead(arrival) && !arrival.refused),
  };
}

const CLASSES = ['filtered', 'rejected', 'merged', 'unchanged', 'submitted', 'unknown', 'unsent'] as const;
type Counts = Record<(typeof CLASSES)[number], number>;
/** The classes of rows, each with how many there are. */
const countsOf = (count: (one: keyof Counts) => number | undefined): Counts =>
  Object.fromEntries(CLASSES.map((one) => [one, count(one) ?? 0])) as Counts;

/** The numbers of a summary add up, and it has the first of the rejected rows. */
export function addsUp({ run, rows, rejected: first }: Pick<Summary, 'run' | 'rows' | 'rejected'>): void {
  const counts = countsOf((one) => rows[one]);
  const sum = Object.values(counts).reduce((a, b) => a + b);
  const isRight = sum === rows.read && rows.completed <= rows.submitted;
  const all = isRight && Object.values(rows).every((n) => n >= 0);
  holds(all, 'the numbers add up', () => `${run}: ${JSON.stringify(rows)}`);
  const isThere = first.length === Math.min(20, rows.rejected);
  holds(isThere, 'rejected rows are shown', () => `${run}: ${first.length} of ${rows.rejected}`);
}

/** Each row has an outcome that agrees with what arrived, and that may follow the one before. */
export function outcomesHold(
  run: Run,
  outcomes: ReadonlyMap<string, RowOutcome>,
  machine: Machine,
  kind: Kind,
): void {
  holds(
    outcomes.size === run.rows.length,
    'no row is lost',
    () => `${outcomes.size} of ${run.rows.length} rows`,
  );
  const first = Math.min(...run.commands);
  const sentSince = ({ id }: Row): boolean =>
    machine.service.arrivals.some(
      (other) => other.command > first && other.items.some((item) => item.id === id),
    );
  for (const row of run.rows) {
    const now = outcomes.get(row.id)!;
    const { arrivals, isAcknowledged, isDoubtful } = knownOf(row, run, machine.service.arrivals);
    const said = `${run.id}, line ${row.line} (${row.id} ${row.name}) is ${now.outcome}: ${now.reason}`;
    const about = (): string => `${said}; arrived: ${arrivals.map(textOf).join(', ') || 'never'}`;
    const rowClass = CLASS_OF[now.outcome];
    if (rowClass === 'unsent' || rowClass === 'unknown') {
      holds(!isAcknowledged, 'what was acknowledged stays so', about);
    }
    if (rowClass === 'unsent') holds(!isDoubtful, 'no doubt is erased', about);
    // A process may have died between its record and its request.
    const mayBe = isDoubtful || run.commands.some((command) => run.cut.has(command));
    if (rowClass === 'unknown') holds(mayBe, 'unknown only after a lost answer', about);
    if (rowClass === 'submitted')
      holds(isAcknowledged || isDoubtful, 'submitted only if acknowledged', about);
    if (now.outcome === 'completed') {
      const isIn = ({ job }: Arrival): boolean =>
        job?.isOver === true && appliedOf(job).some((item) => item.id === row.id);
      holds(arrivals.some(isIn), 'completed only if a job says so', about);
    }
    if (rowClass === 'rejected') {
      const isBefore = run.compares === true && wasRejected(row, run, machine.service.arrivals);
      holds(arrivals.some(isAtFault) || isBefore, 'rejected only by the service', about);
    }
    // Said at the plan: a profile that was sent since is no reason to take it back.
    if (
      rowClass === 'unchanged' &&
      CLASS_OF[run.outcomes.get(row.id)?.outcome ?? 'unsent'] !== 'unchanged' &&
      !sentSince(row)
    ) {
      const held = machine.service.held(kind, row.id);
      holds(held === row.name, 'unchanged only if the service holds it', () => `${about()}; held: ${held}`);
    }
    const before = run.outcomes.get(row.id);
    if (before) {
      const from = CLASS_OF[before.outcome];
      holds(
        mayBecome(ROWS, from, rowClass),
        'rows follow the table',
        () => `${said}; it was ${before.outcome}`,
      );
    }
  }
}

const isAtFault = ({ refused, job }: Arrival): boolean => refused || job?.end === 'failed';

/** Whether the service did not take the same content when its identifier was sent last, before a session of the run. */
function wasRejected({ id, name }: Row, { commands }: Run, all: readonly Arrival[]): boolean {
  return commands.some((command) => {
    const last = all.findLast(
      (other) => other.command < command && other.items.some((item) => item.id === id),
    );
    return (
      last !== undefined && isAtFault(last) && last.items.some((item) => item.id === id && item.name === name)
    );
  });
}

/**
 * What a search has rejected is not sent again as it is.
 * @param before the run that has rejected rows
 * @param again the run of the same rows that follows at once, and compares them
 */
export function leavesOutRejected(before: Run, again: Run, model: Model, { service }: Machine): void {
  const isOpen = (arrival: Arrival): boolean =>
    !arrival.refused &&
    (!isKnown(arrival, model) || arrival.job?.isOver !== true || arrival.job.end === 'short');
  const isCut = ({ commands }: Run): boolean => commands.some((command) => model.cut.has(command));
  const open: (readonly Pick<Row, 'id'>[])[] = [
    ...service.arrivals.filter(isOpen).map(({ items }) => items),
    ...[...model.runs.values()].filter(isCut).map(({ rows }) => rows),
  ];
  const idsOf = (all: typeof open): Set<string> => new Set(all.flat().map(({ id }) => id));
  const has = (ids: ReadonlySet<string>) => (items: readonly Pick<Row, 'id'>[]) =>
    items.some(({ id }) => ids.has(id));
  // What is without an end, or may have been sent, is not remembered, nor what is sent together with it.
  const beside = service.arrivals.map(({ items }) => items).filter(has(idsOf(open)));
  const forgotten = idsOf([...open, ...beside]);
  for (const row of before.rows) {
    const { arrivals } = knownOf(row, before, service.arrivals);
    const isRejected = before.outcomes.get(row.id)?.outcome === 'rejected';
    if (!isRejected || arrivals.length === 0 || forgotten.has(row.id)) continue;
    const now = again.outcomes.get(row.id);
    const reason = before.outcomes.get(row.id)!.reason;
    const isSent = knownOf(row, again, service.arrivals).arrivals.length > 0;
    holds(
      !isSent && now?.outcome === 'rejected' && now.reason === reason,
      'what was rejected is not sent again as it is',
      () => `${again.id}, ${row.id}: ${now?.outcome} (${now?.reason}), after ${reason}`,
    );
  }
}

/** The file of outcomes counts what the summary counts. */
export function countsAgree(
  { rows, run }: Pick<Summary, 'rows' | 'run'>,
  outcomes: ReadonlyMap<string, RowOutcome>,
): void {
  const classes = [...outcomes.values()].map(({ outcome }) => CLASS_OF[outcome]);
  const counted = countsOf((one) => classes.filter((other) => other === one).length);
  const said = countsOf((one) => rows[one]);
  const agree = JSON.stringify(counted) === JSON.stringify(said);
  holds(
    agree,
    'summary and outcomes agree',
    () => `${run}: ${JSON.stringify(said)} and ${JSON.stringify(counted)}`,
  );
}

const isIn = (named: readonly MaybeSentTwice[], line: number): boolean =>
  named.flatMap(rangesIn).some(({ first_line, last_line }) => first_line <= line && line <= last_line);

/** Whether the client knows the job of a request, and can ask for it. */
const isKnown = ({ acknowledged, isFollowed, command }: Arrival, { cut }: Pick<Run, 'cut'>): boolean =>
  acknowledged && isFollowed && !cut.has(command);

/**
 * What was acknowledged is sent again only if its job says that rows are missing, or, with `retries`, if no job says
 * anything.
 */
export function isSentOnce(run: Run, retries: boolean, machine: Machine): void {
  const isKept = (arrival: Arrival): boolean =>
    isKnown(arrival, run)
      ? arrival.job?.end === 'completed'
      : !retries && arrival.acknowledged && !run.cut.has(arrival.command) && !arrival.job?.gone;
  for (const { id } of run.rows) {
    const { arrivals } = knownOf({ id }, run, machine.service.arrivals);
    const [first, ...again] = arrivals.slice(arrivals.findIndex((arrival) => isKept(arrival)));
    const isFirst = first === undefined || !isKept(first) || again.length === 0;
    holds(
      isFirst,
      'what was acknowledged is not sent again',
      () => `${run.id}, ${id}: ${arrivals.map(textOf)}`,
    );
  }
}

/** Until a canary of one item has completed, each request has one item. */
export function canaryGoesFirst(run: Run, machine: Machine): void {
  const arrivals = arrivalsOf(run, machine.service.arrivals);
  for (const [nth, arrival] of arrivals.entries()) {
    const isThrough = ({ job }: Arrival): boolean => job?.end === 'completed' && job.due <= arrival.at;
    const isRight = arrival.items.length <= 1 || arrivals.slice(0, nth).some(isThrough);
    holds(isRight, 'a canary goes first', () => `${run.id}: ${arrivals.map(textOf).join(', ')}`);
  }
}

/**
 * Whether a request was on its way when another command sent a profile, beside the request that waited: it had looked for
 * newer data and unfinished jobs before. Which of the two arrives first is chance.
 */
function isBeside(
  { n, command, items }: Arrival,
  profile: Arrival,
  arrivals: readonly Arrival[],
  concurrency: number,
): boolean {
  const first = new Map<string, number>();
  for (const other of arrivals) {
    const [{ id }] = other.items as [Arrival['items'][number]];
    if (other.command === command && !first.has(id)) first.set(id, other.n);
  }
  const since = [...first.values()].filter((at) => at > profile.n && at <= n);
  return profile.command > command && first.get(items[0]!.id) === n && since.length < concurrency;
}

/** A command that waits for jobs sends nothing of what another unfinished job has. */
export function waitsForJobs(command: number, concurrency: number, model: Model, machine: Machine): void {
  const { arrivals } = machine.service;
  for (const arrival of arrivals.filter((other) => other.command === command)) {
    const ids = arrival.items.map(({ id }) => id);
    const under = arrivals.find(
      (other) =>
        other.n < arrival.n &&
        isKnown(other, model) &&
        other.job!.due > arrival.at &&
        other.items.some(({ id }) => ids.includes(id)) &&
        !isBeside(arrival, other, arrivals, concurrency),
    );
    holds(!under, 'a request waits for unfinished jobs', () => `${textOf(arrival)} after ${textOf(under!)}`);
  }
}

/** What was accepted, or may have been, and was sent again in this run is named, unless its job failed. */
export function isNamed(run: Run, summary: Pick<Summary, 'maybe_sent_twice'>, machine: Machine): void {
  const { maybe_sent_twice: named } = summary;
  for (const row of run.rows) {
    const { arrivals } = knownOf(row, run, machine.service.arrivals);
    for (const [at, earlier] of arrivals.slice(0, -1).entries()) {
      if (earlier.refused || (earlier.acknowledged && earlier.job?.end === 'failed')) continue;
      // Refused before it was carried out: there is no harm, and the run may know better.
      const later = arrivals.slice(at + 1).some(({ accepted }) => accepted);
      holds(
        !later || isIn(named, row.line),
        'what is sent again is named',
        () =>
          `${run.id}, line ${row.line} (${row.id}): ${arrivals.map(textOf).join(', ')}; named: ${JSON.stringify(named)}`,
      );
    }
  }
  for (const entry of named) {
    holds(entry.rows > 0, 'what is named has rows', () => `${run.id}: ${JSON.stringify(entry)}`);
  }
}

/** No request of this command carries older data than what the service has, or than what was found unchanged. */
export function isNewest(command: number, concurrency: number, model: Model, machine: Machine): void {
  const { arrivals } = machine.service;
  const ages = new Map(
    [...model.runs.values()].flatMap(({ commands, age }) => commands.map((n) => [n, age])),
  );
  for (const [n, age] of model.profiles) ages.set(n, age);
  const ageOf = (arrival: Arrival): number => ages.get(arrival.command)!;
  for (const arrival of arrivals.filter((other) => other.command === command)) {
    for (const { id, name } of arrival.items) {
      const has = (other: Arrival): boolean => other.items.some((item) => item.id === id);
      const sent = arrivals
        .filter((other) => other.n < arrival.n && has(other) && other.accepted && other.job!.end !== 'failed')
        .filter((other) => !isBeside(arrival, other, arrivals, concurrency))
        .map((other) => ({
          name: other.items.find((item) => item.id === id)!.name,
          age: ageOf(other),
          how: 'sent',
        }));
      const found = model.verified
        .filter((other) => other.id === id && other.after <= arrival.n)
        .map((other) => ({ ...other, how: 'found unchanged' }));
      const newest = [...sent, ...found].reduce((a, b) => (b.age > a.age ? b : a), { name, age: 0, how: '' });
      holds(
        newest.age <= ageOf(arrival) || newest.name === name,
        newest.how === 'sent' ? 'newer data is not overwritten' : 'what was found unchanged is newer',
        () =>
          `${id} ${name} (age ${ageOf(arrival)}) was sent over ${newest.name} (age ${newest.age}, ${newest.how})`,
      );
    }
  }
}

const textOf = ({ n, accepted, acknowledged, refused, job, command }: Arrival): string =>
  `request ${n} of command ${command} (${accepted ? `accepted, ${job?.end}${acknowledged ? '' : ', answer lost'}` : refused ? 'refused' : 'lost'})`;
