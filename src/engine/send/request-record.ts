/**
 * The record of a request: made for a new one, and checked and updated before an earlier or planned one is sent. Leaves
 * out rows whose ids were sent later: nothing older may overwrite newer data (contract §4 "A retry never overtakes").
 */
import { hash } from 'node:crypto';
import { InputError } from '../errors.js';
import type { ImportEvent } from '../events.js';
import { placeOf, placeText, type RequestRecord } from '../model/requests.js';
import type { RunRequests, Totals } from '../model/run-requests.js';
import type { Kind } from '../model.js';
import type { ImportOptions, SendOptions } from '../options.js';
import type { ServiceClient } from '../service/client.js';
import type { IntentRows } from '../state/backend.js';
import { shortId } from '../state/history.js';
import type { Scope, State } from '../state/state.js';
import { isDoubtful, isInDoubt, requestStatus, wasAcknowledged } from '../states.js';
import type { Clock } from '../util/clock.js';
import { count } from '../util/numbers.js';
import { type Chunk, type LeftOut, rangesToRecord, rowsToRecord, serialize } from './chunk.js';
import { leave } from './pick.js';
import type { Remembering } from './remembering.js';

export interface DeliverDeps {
  run: string;
  scope: Scope;
  state: State;
  client: ServiceClient;
  clock: Clock;
  random: () => number;
  /** `plan`: its requests must be sent as planned. */
  options: SendOptions & Pick<ImportOptions, 'plan'>;
  /** The most items that a request may have now. */
  mostItems(): number;
  /**
   * Whether other requests are under way, and more may begin: then the intent of one waits for theirs (`record`). The first
   * one does not wait, nor one after which no other may begin.
   */
  isMoreToCome(): boolean;
  /** Called when the service refused a request with this many items as too large. */
  tooLarge(items: number): void;
  /** All requests of the run. New ones are added here. */
  requests: RunRequests;
  /** Totals of `requests`. */
  totals: Totals;
  inputs: readonly { path: string; kind: Kind }[];
  /** Makes the fingerprints of requests of this kind. */
  remembering: Remembering;
  /**
   * Returns a function that finds the run that sent an id later: after this request, which is sent again, or for rows
   * that are sent for the first time, after the data of this run was read. Null if nothing was sent later.
   */
  sentLater(again: RequestRecord | null): Promise<((id: bigint) => string | null) | null>;
  /** Ids that a run which this one has replaced may have sent, each with the reason. */
  doubtsOfReplaced: ReadonlyMap<bigint, string>;
  /** Number of rows to send from all inputs, for progress events. */
  totalRows: number;
  emit(event: ImportEvent): void;
  /** Ends all waiting, but not requests in flight. */
  stop: AbortSignal;
  /** Ends requests in flight. */
  abort: AbortSignal;
  /**
   * Writes the rows of a request that the service refused for good to the rejects file.
   * @param of during a search for rows at fault, the chunk that contains them: more of its rows may follow
   */
  reject(chunk: Chunk, reason: string, emit: (event: ImportEvent) => void, of?: Chunk): Promise<void>;
}

/** The lines of a request, for messages. */
export const whereIs = (record: RequestRecord, deps: Pick<DeliverDeps, 'inputs'>): string =>
  placeText(placeOf(record, pathsOf(deps)));

export const pathsOf = ({ inputs }: Pick<DeliverDeps, 'inputs'>): string[] => inputs.map(({ path }) => path);

/** The state of a request before its first attempt. */
export const UNTRIED = {
  state: 'intent',
  reason: null,
  failure: null,
  retries: 0,
  possibleDuplicate: null,
  job_id: null,
  job: null,
} as const satisfies Partial<RequestRecord>;

/** The reason of a request that was found after a crash with only its intent. */
const ONLY_INTENT = 'the import ended before the answer was read';

/** Why a request may have arrived. */
export const whyInDoubt = (r: RequestRecord): string => r.possibleDuplicate ?? r.reason ?? ONLY_INTENT;

const MADE = new WeakMap<Chunk, ReturnType<typeof serialize> & { digest: string }>();

function made(chunk: Chunk) {
  const serialized = serialize(chunk);
  return { ...serialized, digest: hash('sha256', serialized.body) };
}

/**
 * Gives the body of a chunk as it is sent, and the fields of its record that describe it. The body and its digest are made
 * once: the sender asks ahead, so that a connection that is free does not wait for them.
 */
export function prepare(chunk: Chunk) {
  const known = MADE.get(chunk) ?? made(chunk);
  MADE.set(chunk, known);
  const { body, items: rows, merged, digest } = known;
  const { leftOut, unchanged } = chunk;
  const having = (before: LeftOut['before']): number => leftOut.filter((row) => row.before === before).length;
  const content = {
    ...{ rows, merged, unchanged },
    left_out: leftOut.length,
    left_out_by: [...new Set(leftOut.map(({ by }) => by))].join(', ') || null,
    overtaken: having('submitted'),
    doubtful: having('unknown'),
    ...{ bytes: body.length, digest },
  };
  return { body, content };
}

/** Makes the record of a request that was not sent yet, and adds it to `requests`. */
export function newRecord(
  chunk: Chunk,
  { requests }: DeliverDeps,
  given: Partial<RequestRecord> = {},
): RequestRecord {
  const [first, ...more] = rangesToRecord(chunk);
  const { content } = prepare(chunk);
  const record = { ...first!, more, seq: requests.next, parent: null, ...UNTRIED, ...content, ...given };
  requests.add(record);
  return record;
}

/** The rows of a request, as they are recorded with its intent. */
export const intentRows = (chunk: Chunk, { remembering }: Pick<DeliverDeps, 'remembering'>): IntentRows => ({
  prints: remembering.printsOf(chunk),
  shared: chunk.shared,
  rows: rowsToRecord(chunk),
});

/** Why a run that this one has replaced may have sent some of the rows; null if none. */
export const doubtOfReplaced = ({ ids }: Chunk, { doubtsOfReplaced: all }: DeliverDeps): string | null =>
  all.size === 0 ? null : (all.get(ids.find((id) => all.has(id)) ?? -1n) ?? null);

/**
 * Why rows that a request sends again may have arrived before. `accepted`: the service may have carried them out. `doubt`:
 * they may have arrived, and nothing has told since.
 */
export function doubtsBefore(record: RequestRecord, { requests }: DeliverDeps) {
  const [, ...before] = requests.chainOf(record);
  const last = before.find((of) => wasAcknowledged(of) || isDoubtful(of));
  return {
    accepted: before.map(whyAccepted).find((why) => why !== null) ?? null,
    doubt: last && !wasAcknowledged(last) ? whyInDoubt(last) : null,
  };
}

function whyAccepted(r: RequestRecord): string | null {
  const status = requestStatus(r);
  if (status === 'untraceable' || status === 'gone')
    return 'it was accepted, and no job tells what became of it';
  if (status !== 'short') return null;
  return `its job completed ${r.job?.completed_rows ?? 0} of ${count(r.rows, 'row')}, and does not say which`;
}

/**
 * Updates the record of an earlier or planned request with its current content, before it is sent again.
 * @returns the new record, which also replaces the old one in `requests`; an acknowledged one as it is
 * @throws InputError if the content differs from what may have arrived, or from the plan
 */
export async function repeated(
  chunk: Chunk,
  recorded: RequestRecord,
  deps: DeliverDeps,
): Promise<RequestRecord> {
  if (requestStatus(recorded) === 'accepted') return recorded;
  const now = prepare(chunk).content;
  if (now.digest !== recorded.digest) await checkContent(chunk, recorded, deps);
  const again = { ...recorded, ...now };
  // One that has only its intent is reported as possibly sent twice.
  if (again.state === 'intent') Object.assign(again, { state: 'unknown', reason: ONLY_INTENT });
  deps.requests.replace(again);
  return again;
}

/**
 * Checks a request whose body differs from the recorded one. One that may have arrived must be repeated as it was (contract
 * §4): with `changedOnly`, or if some ids were sent later, fewer of its rows may be left to send, but the same rows must
 * have the same body. One of a saved plan must be sent as planned (contract §3 "Review before sending"), except for rows
 * that other runs have sent since, or that the service has by now.
 * @throws InputError
 */
async function checkContent(chunk: Chunk, recorded: RequestRecord, deps: DeliverDeps): Promise<void> {
  const { run, state, options } = deps;
  const { ids, leftOut, unchanged } = chunk;
  const isRepeated = isInDoubt(recorded);
  if (isRepeated) {
    const before = await state.sends.idsOf(run, recorded.seq);
    const isSame = before.length === ids.length && ids.every((id, at) => id === before[at]);
    if (!isSame && (options.changedOnly || leftOut.length > 0)) return;
  } else if (!options.plan || recorded.parent !== null) return;
  else if (leftOut.length > 0 || unchanged > recorded.unchanged) return;
  const [what, hint] = isRepeated
    ? [
        'what was sent the first time, so it was not sent again',
        'resume with the version of profiles that began the run, or start a new import of the file',
      ]
    : [
        'what was planned, so it was not sent',
        'apply the plan with the version of profiles that made it, or make a new one',
      ];
  throw new InputError(`${whereIs(recorded, deps)}: the content differs from ${what}`, { hint });
}

/**
 * @param root the request of which all these rows are, which is sent or repeated; null for a new one. Rows that it found
 * unchanged stay so
 * @param sends the request that sends them again, if its rows are to be marked (`markSent`)
 * @returns the same chunk if nothing of it was sent later
 */
export async function leaveOut(
  chunk: Chunk,
  root: RequestRecord | null,
  deps: DeliverDeps,
  sends: RequestRecord | null = null,
): Promise<Chunk> {
  const { run, sentLater, state } = deps;
  const found = await sentLater(root);
  const had = root && root.unchanged > 0 ? await state.history.ofRequest(run, root.seq) : null;
  const sent = had && new Set(Object.values(had).flatMap((ids) => [...ids]));
  const by = found ?? (() => null);
  const isUnchanged = (id: bigint): boolean => sent !== null && !sent.has(shortId(id));
  const isLess = (found || sent) !== null && chunk.ids.some((id) => isUnchanged(id) || by(id) !== null);
  // Another import could send them because this one has lost its lock.
  if (isLess) state.locks.check();
  const rest = isLess ? leave(chunk, by, isUnchanged) : chunk;
  if (sends) await markSent(rest, sends, deps);
  return rest;
}

/**
 * Marks the rows that a chunk leaves out, if an earlier attempt sent them, or another request whose rows this one sends
 * again. What was acknowledged stays so, whatever was in doubt before.
 */
export async function markSent(
  { leftOut }: Pick<Chunk, 'leftOut'>,
  record: RequestRecord,
  { run, requests, state }: DeliverDeps,
): Promise<void> {
  if (leftOut.length === 0) return;
  const sent = { submitted: new Set<bigint>(), unknown: new Set<bigint>() };
  for (const of of requests.chainOf(record)) {
    const before = wasAcknowledged(of) ? 'submitted' : isDoubtful(of) ? 'unknown' : null;
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
