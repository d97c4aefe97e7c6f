/**
 * The record of a request: made for a new one, and checked and updated before an earlier or planned one is sent. Leaves
 * out rows whose ids were sent later: nothing older may overwrite newer data (contract §4 "A retry never overtakes").
 */
import { createHash } from 'node:crypto';
import { InputError } from '../errors.js';
import { shortId } from '../state/history.js';
import type { RequestRecord } from '../state/requests.js';
import { isDoubtful, isInDoubt, requestStatus, wasAcknowledged } from '../states.js';
import { count } from '../util/numbers.js';
import { type Chunk, type LeftOut, rangesToRecord, serialize } from './chunk.js';
import { type DeliverDeps, pathsOf } from './follow.js';
import { leave } from './pick.js';
import { FOUND, UNSENT } from './request.js';
import { placeOf, placeText } from './row-counts.js';

/** The body of a chunk as it is sent, and the fields of its record that describe it. */
export interface Prepared {
  body: Buffer<ArrayBuffer>;
  content: ReturnType<typeof content>;
}

/** Makes the body of a chunk and its digest. Done ahead, so that a connection that is free does not wait for it. */
export function prepare(chunk: Chunk): Prepared {
  const serialized = serialize(chunk);
  return { body: serialized.body, content: content(chunk, serialized) };
}

/** The fields of a request record that describe its content. */
export function content(chunk: Chunk, { body, items, merged }: ReturnType<typeof serialize>) {
  return {
    rows: items,
    merged,
    unchanged: chunk.unchanged,
    ...countLeftOut(chunk),
    bytes: body.length,
    digest: createHash('sha256').update(body).digest('hex'),
  };
}

function countLeftOut({ leftOut }: Chunk) {
  const having = (before: LeftOut['before']): number => leftOut.filter((row) => row.before === before).length;
  return {
    left_out: leftOut.length,
    overtaken: having('submitted'),
    doubtful: having('unknown'),
    left_out_by: [...new Set(leftOut.map(({ by }) => by))].join(', ') || null,
  };
}

/** Makes the record of a request that was not sent yet, and adds it to `requests`. */
export function newRecord(
  chunk: Chunk,
  given: Prepared['content'] & Partial<RequestRecord>,
  { requests }: DeliverDeps,
): RequestRecord {
  const [first, ...more] = rangesToRecord(chunk);
  const record = { ...first!, more, seq: requests.next, parent: null, ...UNSENT, ...given };
  requests.add(record);
  return record;
}

/** Why a run that this one has replaced may have sent some of the rows; null if none. */
export function lostBefore({ ids }: Chunk, { lost }: DeliverDeps): string | null {
  const id = lost.size === 0 ? undefined : ids.find((one) => lost.has(one));
  return id === undefined ? null : lost.get(id)!;
}

/** Why the service may have carried out a request whose rows this one sends again; null if it has not. */
export function acceptedBefore(record: RequestRecord, { requests }: DeliverDeps): string | null {
  for (const of of requests.chainOf(record).slice(1)) {
    const status = requestStatus(of);
    if (status === 'untraceable' || status === 'gone')
      return 'it was accepted, and no job tells what became of it';
    if (status === 'short')
      return `its job completed ${of.job?.completed_rows ?? 0} of ${count(of.rows, 'row')}, and does not say which`;
  }
  return null;
}

/** Why a request whose rows this one sends may have arrived, if nothing has told since; otherwise null. */
export function doubtBefore(record: RequestRecord, { requests }: DeliverDeps): string | null {
  const last = requests
    .chainOf(record)
    .slice(1)
    .find((of) => wasAcknowledged(of) || isDoubtful(of));
  return !last || wasAcknowledged(last) ? null : (last.possibleDuplicate ?? last.reason ?? FOUND);
}

/**
 * Updates the record of an earlier or planned request with its current content, before it is sent again.
 * @returns the new record, which also replaces the old one in `requests`; an acknowledged one as it is
 * @throws InputError if the content differs from what may have arrived, or from the plan
 */
export async function repeated(
  chunk: Chunk,
  now: Prepared['content'],
  recorded: RequestRecord,
  deps: DeliverDeps,
): Promise<RequestRecord> {
  const status = requestStatus(recorded);
  if (status === 'accepted') return recorded;
  await markSent(chunk, recorded, deps);
  if (now.digest !== recorded.digest) {
    if (isInDoubt(status)) await checkRepeats(chunk, recorded, deps);
    else if (deps.options.plan && recorded.parent === null) checkPlanned(chunk, recorded, deps);
  }
  const again = { ...recorded, ...now, ...countLeftOut(chunk) };
  // One that has only its intent is reported as possibly sent twice.
  if (again.state === 'intent') Object.assign(again, { state: 'unknown', reason: FOUND });
  deps.requests.replace(again);
  return again;
}

/**
 * Checks a request that may have arrived: it must be repeated as it was (contract §4). With `changedOnly`, or
 * if some ids were sent later, fewer of its rows may be left to send. If the rows are the same, the body must
 * be the same.
 * @throws InputError if it differs
 */
async function checkRepeats(chunk: Chunk, recorded: RequestRecord, deps: DeliverDeps): Promise<void> {
  const before = await deps.state.sends.idsOf(deps.run, recorded.seq);
  const { ids } = chunk;
  const sameRows = before.length === ids.length && ids.every((id, at) => id === before[at]);
  if ((deps.options.changedOnly || chunk.leftOut.length > 0) && !sameRows) return;
  throw differs(recorded, 'what was sent the first time, so it was not sent again', deps, {
    hint: 'resume with the version of profiles that began the run, or start a new import of the file',
  });
}

/**
 * Checks a request of a saved plan: it must be sent as planned (contract §3 "Review before sending"), except
 * for rows that other runs have sent since, or that the service has by now.
 * @throws InputError if it differs
 */
function checkPlanned(chunk: Chunk, planned: RequestRecord, deps: DeliverDeps): void {
  if (chunk.leftOut.length > 0 || chunk.unchanged > planned.unchanged) return;
  throw differs(planned, 'what was planned, so it was not sent', deps, {
    hint: 'apply the plan with the version of profiles that made it, or make a new one',
  });
}

const differs = (r: RequestRecord, what: string, deps: DeliverDeps, advice: { hint: string }): InputError =>
  new InputError(`${placeText(placeOf(r, pathsOf(deps)))}: the content differs from ${what}`, advice);

/**
 * @param root the request of which all these rows are, which is sent or repeated; null for a new one. Rows that it found
 * unchanged stay so
 * @returns the same chunk if nothing of it was sent later
 */
export async function leaveOut(
  chunk: Chunk,
  root: RequestRecord | null,
  { run, sentLater, state }: Pick<DeliverDeps, 'run' | 'sentLater' | 'state'>,
): Promise<Chunk> {
  const by = (await sentLater(root)) ?? (() => null);
  const had = root && root.unchanged > 0 ? await state.history.ofRequest(run, root.seq) : null;
  const sent = had && new Set(Object.values(had).flatMap((ids) => [...ids]));
  const isUnchanged = (id: bigint): boolean => sent !== null && !sent.has(shortId(id));
  if (!chunk.ids.some((id) => isUnchanged(id) || by(id) !== null)) return chunk;
  // Another import could send them because this one has lost its lock.
  state.locks.check();
  return leave(chunk, by, isUnchanged);
}

/**
 * Marks the rows that a chunk leaves out, if an earlier attempt sent them, or another request whose rows this one sends
 * again. What was acknowledged stays so, whatever was in doubt before.
 */
export async function markSent(
  { leftOut }: Pick<Chunk, 'leftOut'>,
  record: RequestRecord,
  { run, requests, state }: Pick<DeliverDeps, 'run' | 'requests' | 'state'>,
): Promise<void> {
  if (leftOut.length === 0) return;
  const sent = { submitted: new Set<bigint>(), unknown: new Set<bigint>() };
  for (const of of requests.chainOf(record)) {
    const before = sentBefore(of);
    if (before) for (const id of await state.sends.idsOf(run, of.seq)) sent[before].add(shortId(id));
    const rows = of.overtaken + of.doubtful > 0 ? await state.history.ofRequest(run, of.seq) : null;
    for (const id of rows?.overtaken ?? []) sent.submitted.add(id);
    for (const id of rows?.doubtful ?? []) sent.unknown.add(id);
  }
  for (const row of leftOut) {
    const id = shortId(row.id);
    row.before = sent.submitted.has(id) ? 'submitted' : sent.unknown.has(id) ? 'unknown' : null;
  }
}

const sentBefore = (r: RequestRecord): LeftOut['before'] =>
  wasAcknowledged(r) ? 'submitted' : isDoubtful(r) ? 'unknown' : null;
