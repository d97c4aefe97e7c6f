/** The record of a request: made for a new one, and checked and updated before an earlier or planned one is sent. */
import { createHash } from 'node:crypto';
import { InputError } from '../errors.js';
import type { RequestRecord } from '../state/requests.js';
import type { serialize } from './body.js';
import { type Chunk, type LeftOut, rangesToRecord } from './chunk.js';
import { type DeliverDeps, pathsOf } from './follow.js';
import { markSent } from './leave-out.js';
import { isUnanswered } from './recorded-ranges.js';
import { foundAfterCrash, UNSENT } from './request.js';
import { placeOf, placeText } from './row-counts.js';

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
  const count = (before: LeftOut['before']): number => leftOut.filter((row) => row.before === before).length;
  return {
    left_out: leftOut.length,
    overtaken: count('submitted'),
    doubtful: count('unknown'),
    left_out_by: [...new Set(leftOut.map(({ by }) => by))].join(', ') || null,
  };
}

/** Makes the record of a request that was not sent yet, and adds it to `requests`. */
export function newRecord(
  chunk: Chunk,
  given: ReturnType<typeof content> & Partial<RequestRecord>,
  { requests }: DeliverDeps,
): RequestRecord {
  const [first, ...more] = rangesToRecord(chunk);
  const record: RequestRecord = {
    ...first!,
    more,
    seq: requests.next,
    parent: null,
    ...UNSENT,
    ...given,
  };
  requests.add(record);
  return record;
}

/**
 * Updates the record of an earlier or planned request with its current content, before it is sent again.
 * @returns the new record, which also replaces the old one in `requests`; an acknowledged one as it is
 * @throws InputError if the content differs from what may have arrived, or from the plan
 */
export async function repeated(
  chunk: Chunk,
  now: ReturnType<typeof content>,
  recorded: RequestRecord,
  deps: DeliverDeps,
): Promise<RequestRecord> {
  if (recorded.state === 'acknowledged') return recorded;
  await markSent(chunk, recorded, deps);
  if (isUnanswered(recorded)) await checkRepeats(chunk, recorded, now.digest, deps);
  if (recorded.state === 'withdrawn') checkPlanned(chunk, recorded, now.digest, deps);
  const again = { ...foundAfterCrash(recorded), ...now, ...countLeftOut(chunk) };
  deps.requests.replace(again);
  return again;
}

/**
 * Checks a request that may have arrived: it must be repeated as it was (contract §4). With `changedOnly`, or
 * if some ids were sent later, fewer of its rows may be left to send. If the rows are the same, the body must
 * be the same.
 * @throws InputError if it differs
 */
async function checkRepeats(
  chunk: Chunk,
  recorded: RequestRecord,
  digest: string,
  deps: DeliverDeps,
): Promise<void> {
  if (digest === recorded.digest) return;
  const before = await deps.state.sends.idsOf(deps.run, recorded.seq);
  const { ids } = chunk.prints;
  const sameRows = before.length === ids.length && ids.every((id, at) => id === before[at]);
  if ((deps.options.changedOnly || chunk.leftOut.length > 0) && !sameRows) return;
  throw new InputError(
    `${placeText(placeOf(recorded, pathsOf(deps)))}: the content differs from what was sent the first time, so it was not sent again`,
    {
      hint: 'resume with the version of profiles that began the run, or start a new import of the file',
    },
  );
}

/**
 * Checks a request of a saved plan: it must be sent as planned (contract §3 "Review before sending"), except
 * for rows that other runs have sent since, or that the service has by now.
 * @throws InputError if it differs
 */
function checkPlanned(chunk: Chunk, planned: RequestRecord, digest: string, deps: DeliverDeps): void {
  if (digest === planned.digest || chunk.leftOut.length > 0 || chunk.unchanged > planned.unchanged) return;
  throw new InputError(
    `${placeText(placeOf(planned, pathsOf(deps)))}: the content differs from what was planned, so it was not sent`,
    { hint: 'apply the plan with the version of profiles that made it, or make a new one' },
  );
}
