/**
 * Makes a saved plan from the plan of a dry run (contract §3 "Review before sending"). In a plan, rows count from 1 and
 * `last_row` is inclusive; in a run, rows count from 0 and `end_row` is exclusive.
 */
import { createHash, createHmac } from 'node:crypto';
import { UsageError } from '../errors.js';
import type { PlanChanges } from '../model/plan-changes.js';
import { KINDS, type Kind, kindsOf } from '../model.js';
import type { ImportOptions } from '../options.js';
import type { RequestTotals } from '../plan/estimate.js';
import { acceptedOf, plannedRows, type Scanned } from '../plan/plan.js';
import {
  optionsToSave,
  PLAN_VERSION,
  type SavedPlan,
  type SavedRequest,
  sealed,
} from '../plan/saved-plan.js';
import { ITEM_FORMAT_VERSION, lineOffsets, startsAnywhere } from '../read/index.js';
import type { serialize } from '../send/chunk.js';
import { type Chunk, rangesToRecord } from '../send/chunk.js';
import { content } from '../send/request-record.js';
import type { Scope, State } from '../state/state.js';
import type { ImportDeps } from './deps.js';

/** What a plan takes down before it reads anything, since others may send while it is made. */
export interface PlanStart {
  scope: Scope;
  /** Milliseconds since the epoch. */
  at: number;
  number: number;
  /** Of all kinds (`stateMark`). */
  marks: Record<string, string>;
}

/** Starts a plan to save. @throws UsageError if there is no account, or if what it reads could not be read again */
export async function startPlan(
  run: string,
  at: number,
  paths: readonly string[],
  { scope, state, records }: Pick<ImportDeps, 'scope' | 'state' | 'records'>,
): Promise<PlanStart> {
  if (records) throw new UsageError('a plan of records cannot be saved: they could not be read again');
  if (paths.includes('-'))
    throw new UsageError('a plan of stdin (-) cannot be saved: it could not be read again', {
      hint: 'save the input to a file first',
    });
  if (!scope)
    throw new UsageError('a plan is saved for an account: there is no token, and no account has been named');
  const number = await state.runs.numberPlan(run, scope);
  return { scope, at, number, marks: await stateMark(state, scope, KINDS) };
}

/** Makes the plan to save. */
export async function planToSave(
  from: {
    run: string;
    options: ImportOptions;
    scanned: Scanned;
    totals: RequestTotals;
    changes: PlanChanges | undefined;
    requests: SavedRequest[];
    start: PlanStart;
  },
  deps: Pick<ImportDeps, 'tokenHash'>,
): Promise<SavedPlan> {
  const { options, scanned, totals, changes, requests, start } = from;
  const { scope, marks } = start;
  const inputs = scanned.inputs.map(({ opened, scan }) => {
    const { path, kind, format } = opened;
    return {
      path,
      kind,
      format,
      bytes: scan.size,
      sha256: scan.digest,
      ...scan.rows,
      types: scan.schema.types,
      // Reasons are left out, because they quote cells.
      columns: scan.columns.map(({ column, key, type, conversion, empty }) => ({
        column,
        key,
        type,
        ...(conversion && { conversion }),
        empty,
      })),
    };
  });
  const rows = plannedRows(scanned);
  const { merged, unchanged } = totals;
  const before = changes?.rejected ?? 0;
  const duplicates = [...scanned.duplicates.values()].reduce((sum, found) => sum + found.count, 0);
  return sealed({
    version: PLAN_VERSION,
    totals: {
      read: rows.read,
      filtered: rows.filtered,
      rejected: rows.rejected + before,
      merged,
      unchanged,
      to_send: acceptedOf(rows) - before - merged - unchanged,
      requests: totals.requests,
      bytes: totals.bytes,
      duplicates,
    },
    ...(changes && { changes }),
    ...(await accountOf(scope, inputs, deps)),
    region: scope.region,
    base_url: scope.base_url,
    ...(options.changedOnly && { state: marksOf(marks, kindsOf(inputs)) }),
    item_format: ITEM_FORMAT_VERSION,
    options: optionsToSave(options),
    inputs,
    requests,
    run: from.run,
    created_at: new Date(start.at).toISOString(),
    made_after: { state: marks.id!, number: start.number },
  });
}

/**
 * The account of the plan: its name, or for an account without a name, a hash of the token, base URL and
 * inputs.
 */
async function accountOf(
  scope: Scope,
  inputs: readonly { sha256: string }[],
  { tokenHash }: Pick<ImportDeps, 'tokenHash'>,
): Promise<Pick<SavedPlan, 'account' | 'account_hash'>> {
  if (!tokenHash) return { account: scope.account };
  return {
    account: null,
    account_hash: await tokenHash([scope.base_url, ...inputs.map(({ sha256 }) => sha256)]),
  };
}

/** Hashes a token with texts, for plans of an account without a name. Hexadecimal. */
export const hashToken = (token: string, texts: readonly string[]): string =>
  createHash('sha256')
    .update(JSON.stringify([token, ...texts]))
    .digest('hex');

/** Checks that the plan was made for this service and account. @throws UsageError that names the difference */
export async function checkAccount(
  plan: SavedPlan,
  deps: Pick<ImportDeps, 'scope' | 'tokenHash'>,
): Promise<void> {
  const scope = deps.scope!;
  const { region, account } = plan;
  const refuse = (what: string): never => {
    throw new UsageError(`the plan is for ${what}`, { problem: { code: 'plan_elsewhere', region, account } });
  };
  if (region !== scope.region) refuse(`region ${region}, not for ${scope.region}`);
  if (plan.base_url !== scope.base_url) refuse(`${plan.base_url}, not for ${scope.base_url}`);
  const here = await accountOf(scope, plan.inputs, deps);
  if (account !== here.account) {
    const name = (one: string | null): string =>
      one === null ? 'an account without a name' : `account ${one}`;
    refuse(`${name(account)}, not for ${name(here.account)}`);
  }
  if (plan.account_hash !== here.account_hash) {
    refuse('another token: it was made for an account without a name, which is known by its token');
  }
}

/** Identifies a state, also after it was moved. */
export const stateId = (state: Pick<State, 'secret'>): string =>
  createHmac('sha256', state.secret).update('plan').digest('hex').slice(0, 16);

/**
 * Identifies the state, and what was sent and completed so far. With another state, or later, other rows may
 * count as changed.
 */
export async function stateMark(
  state: State,
  scope: Scope,
  kinds: readonly Kind[],
): Promise<Record<string, string>> {
  const mark: Record<string, string> = { id: stateId(state) };
  for (const kind of kinds) mark[kind] = await state.known.mark(scope, kind);
  return mark;
}

const marksOf = (marks: Record<string, string>, kinds: readonly Kind[]): Record<string, string> =>
  Object.fromEntries(['id', ...kinds].map((name) => [name, marks[name]!]));

/** Adds to each request the byte offset of its first line, if its input can be read from any line. */
export async function addOffsets(
  requests: SavedRequest[],
  { inputs }: Scanned,
  signal: AbortSignal,
): Promise<void> {
  for (const [index, { opened }] of inputs.entries()) {
    if (!startsAnywhere(opened)) continue;
    const own = requests.filter(({ input, rows }) => input === index && rows > 0);
    const lines = own.map(({ first_line }) => first_line);
    const offsets = await lineOffsets(opened, lines, signal);
    for (const [at, request] of own.entries()) request.offset = offsets[at]!;
  }
}

/** A request as a plan has it. */
export function savedRequest(chunk: Chunk, body: ReturnType<typeof serialize>): SavedRequest {
  const [first, ...more] = rangesToRecord(chunk).map(({ first_row, end_row, rows, input, ...lines }) => ({
    range: { input, first_row: first_row + 1, last_row: end_row, ...lines },
    rows,
  }));
  const { rows, merged, unchanged, bytes, digest } = content(chunk, body);
  return {
    ...first!.range,
    offset: undefined, // its place among the others
    ...(more.length > 0 && { more: more.map(({ range, rows }) => ({ ...range, rows })) }),
    rows,
    ...(merged > 0 && { merged }),
    ...(unchanged > 0 && { unchanged }),
    ...(chunk.rejected !== null && { rejected: true as const }),
    bytes,
    sha256: digest,
  };
}
