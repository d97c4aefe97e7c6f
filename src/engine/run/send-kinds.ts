/**
 * Sends the rows of a run, companies before users, until all are sent or an error or a signal ends the
 * session.
 */
import type { ImportEvent } from '../events.js';
import { kindsOf } from '../model.js';
import type { ImportOptions } from '../options.js';
import { acceptedOf, plannedRows, type Scanned, scansOf } from '../plan/plan.js';
import { typesOf } from '../plan/type-changes.js';
import type { OpenedInput } from '../read/index.js';
import { isCanaryDue } from '../send/canary.js';
import type { Chunks } from '../send/chunker.js';
import type { Deadline } from '../send/deadline.js';
import { type ChunkDeps, chunksOfKind } from '../send/read-chunks.js';
import { Remembering } from '../send/remembering.js';
import { send } from '../send/send.js';
import type { ImportDeps } from './deps.js';
import type { KnownProfiles } from './known.js';
import type { OpenRun } from './open-run.js';
import type { Rejecting } from './rejecting.js';
import { lostIn, repeatRules, sentLater } from './sent-later.js';
import { isDone } from './summary.js';

interface Sending {
  scanned: Scanned;
  opened: readonly OpenedInput[];
  chunkDeps: ChunkDeps;
  run: OpenRun;
  options: ImportOptions;
  deps: ImportDeps;
  deadline: Deadline;
  rejecting: Rejecting;
  known: KnownProfiles;
  /** Whether to send rows also if their ids were sent later. */
  overtakes: boolean;
}

/** @returns the error that ended sending early, or null */
export async function* sendKinds({
  scanned,
  opened,
  chunkDeps,
  run,
  options: given,
  deps,
  deadline,
  rejecting,
  known,
  overtakes,
}: Sending): AsyncGenerator<ImportEvent, unknown> {
  const { id, scope, requests } = run;
  const options = { ...given, canary: run.canaryOf(given) };
  const client = await deps.client();
  const stop = deadline.signal;
  const rows = plannedRows(scanned);
  let items = options.chunkSize;
  for (const kind of kindsOf(opened)) {
    await known.renew(kind);
    await deps.state.known.setColumnTypes(scope, kind, typesOf(scansOf(scanned, kind)));
    const open = (most: number): Chunks =>
      chunksOfKind(scanned, kind, {
        ...chunkDeps,
        limits: { ...chunkDeps.limits, items: most },
        signal: stop,
      });
    const ended = yield* send(open, {
      ...deps,
      run: id,
      scope,
      client,
      options,
      items,
      requests,
      sentLater: overtakes
        ? async () => null
        : await sentLater(run, kind, deps.state, repeatRules(run, options).isSentAgain),
      lost: await lostIn(run.replaces, kind, deps.state),
      remembering: new Remembering(kind, deps.state.secret, options.trackKeys === true),
      inputs: opened,
      totalRows: acceptedOf(rows),
      stop,
      reject: async (chunk, reason, emit, of) => {
        const files = await rejecting.refused(chunk, reason, emit, { signal: deps.abort, of });
        for (const [input, file] of files) await run.nameRejects(input, file);
      },
    });
    if (ended.failure) return ended.failure;
    items = ended.items;
    if (
      stop.aborted &&
      !isDone(rows, requests, { ...options, wait: options.wait || isCanaryDue(options.canary, requests) })
    ) {
      return deadline.failure;
    }
  }
  return null;
}
