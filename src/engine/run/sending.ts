/**
 * Sends the rows of a session, companies before users, until all are sent or an error or a signal ends it. A run that
 * continues must not overwrite newer data (contract §4 "A retry never overtakes").
 */

import type { ImportEvent } from '../events.js';
import type { RequestRecord } from '../model/requests.js';
import type { Kind } from '../model.js';
import { typesOf } from '../plan/key-checks.js';
import { acceptedOf, type Scanned, scansOf } from '../plan/plan.js';
import type { Chunk } from '../send/chunk.js';
import type { Limits } from '../send/chunker.js';
import { isCanaryDue, nextStep, rulesOf } from '../send/next.js';
import { type ChunkDeps, chunksOf } from '../send/read-chunks.js';
import { Remembering } from '../send/remembering.js';
import { type DeliverDeps, whyInDoubt } from '../send/request-record.js';
import { send } from '../send/send.js';
import type { SentIds } from '../state/sends.js';
import type { Session } from './session.js';
import { isDone } from './summary.js';

/** @param rows how many the run sends, those of earlier sessions included @returns the error that ended sending early, or null */
export async function* sendRows(session: Session, rows: number): AsyncGenerator<ImportEvent, unknown> {
  const { id, scope, requests: recorded, deps, deadline, scanned, rejecting, planned } = session;
  const { state } = deps;
  const options = { ...session.options, canary: session.canary };
  const stop = deadline.signal;
  const client = await deps.client();
  const reject: DeliverDeps['reject'] = (chunk, reason, emit, of) =>
    rejecting!.refused(chunk, reason, emit, { signal: deps.abort, of });
  let items = options.chunkSize;
  for (const kind of session.kinds) {
    if (scanned) await state.known.setColumnTypes(scope, kind, typesOf(scansOf(scanned, kind)));
    const chunks = async function* (limits: Limits): AsyncGenerator<Chunk> {
      if (!scanned) return;
      yield* chunksOf(scanned, kind, { ...chunkDepsOf(session, scanned), limits, signal: stop });
      // Nothing more is read, and the last jobs may take hours.
      if (scanned.inputs.at(-1)?.opened.kind === kind) await session.pool.close();
    };
    const ended = yield* send(chunks, {
      ...deps,
      run: id,
      scope,
      client,
      options,
      items,
      requests: recorded,
      sentLater: await sentLater(session, kind),
      doubtsOfReplaced: await doubtsOfReplaced(session, kind),
      remembering: new Remembering(kind, state.secret, options.trackKeys),
      inputs: session.inputs,
      totalRows: Math.min(rows, acceptedOf(planned)),
      stop,
      reject,
    });
    if (ended.failure) return ended.failure;
    items = ended.items;
    const wait = options.wait || isCanaryDue(options.canary, recorded);
    if (stop.aborted && !isDone(planned, recorded, { ...options, wait })) return deadline.failure;
  }
  return null;
}

/** What `send/read-chunks.ts` needs to split rows into requests. */
export function chunkDepsOf(session: Session, scanned: Scanned): ChunkDeps {
  const { options, deps, opened, requests, changes, pool } = session;
  return {
    options,
    limits: { items: options.chunkSize, bytes: options.chunkBytes },
    hashKey: deps.state.secret,
    pool,
    signal: deps.stop,
    known: (kind) => changes.known(kind),
    compared: (kind, known) => changes.compared(scanned, kind, known),
    recorded: (kind) => requests.all.filter((r) => r.parent === null && opened[r.input]!.kind === kind),
    isSentAgain: again(session),
  };
}

/** Whether anything is left to do for the rows of a request without a parent. */
function again({ requests, options }: Session): (r: RequestRecord) => boolean {
  const rules = rulesOf(options);
  return (r) => nextStep(r, requests, rules) !== null;
}

/** Protects the rows that a new run found unchanged from older data, if there is any that may still be sent. */
export async function keepVerified(
  { id, scope, deps, kinds, changes }: Session,
  scanned: Scanned,
): Promise<void> {
  const { sends } = deps.state;
  for (const kind of kinds) {
    if (!(await sends.mayBeOverwritten(id, kind))) continue;
    await sends.keepVerified(id, scope, kind, await changes.unchangedIds(scanned, kind));
  }
}

/**
 * Makes `DeliverDeps.sentLater` for a kind. Rows that are sent again may also have been sent later by this run, in a
 * later request.
 */
async function sentLater(session: Session, kind: Kind): Promise<DeliverDeps['sentLater']> {
  const { id: run, scope, overtakes, deps } = session;
  if (overtakes) return async () => null;
  const { sends } = deps.state;
  const own = await sentByRun(session, kind);
  return async (repeats) => {
    // Read again for each request: `identify` may send a profile at any time, without a lock.
    const others = await sends.later(run, scope, kind);
    if (others.isEmpty && !own) return null;
    if (!repeats) return (id) => others.by(id, 0);
    const { seq } = repeats;
    // For ids that its last send had, only later sends matter. Its other ids were not sent then.
    const send = await sends.last(run, seq);
    const ids = new Set(await sends.idsOf(run, seq));
    return (id) => others.by(id, ids.has(id) ? send : 0) ?? own?.by(id, seq) ?? null;
  };
}

/**
 * The ids that this run has sent, each with its last request; null if no request is sent again. A part of a
 * request counts as that request. Requests that are sent again do not count: they go out in order, so none of
 * them overwrites a later one.
 */
async function sentByRun(session: Session, kind: Kind): Promise<SentIds | null> {
  const { requests, id, scope, deps } = session;
  const isSentAgain = again(session);
  const seqs = new Set(requests.all.flatMap((r) => (r.parent === null && isSentAgain(r) ? r.seq : [])));
  if (seqs.size === 0) return null;
  return deps.state.sends.byRun(id, scope, kind, (seq) => {
    const r = requests.of(seq);
    const root = r ? requests.chainOf(r).at(-1)!.seq : 0;
    return seqs.has(root) ? 0 : root;
  });
}

/** What runs that this one replaces may have sent. @returns by id: why it may have arrived */
async function doubtsOfReplaced({ replaces, deps }: Session, kind: Kind): Promise<Map<bigint, string>> {
  const doubts = new Map<bigint, string>();
  for (const run of replaces) {
    for (const [id, request] of await deps.state.sends.inDoubt(run, kind))
      doubts.set(id, `run ${run} may have sent it: ${whyInDoubt(request)}`);
  }
  return doubts;
}
