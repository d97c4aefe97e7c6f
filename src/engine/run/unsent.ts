/**
 * The valid rows of a run that sent nothing. If only the rows that it rejected are fixed and imported, the others would
 * be forgotten, so such an import names them (contract §3 "Rejects").
 */
import type { NotSent } from '../model.js';
import type { ImportOptions } from '../options.js';
import type { Scanned } from '../plan/plan.js';
import type { WrittenRejects } from '../state/rejects.js';
import type { StoredRun } from '../state/runs.js';
import { sameScope } from '../state/scopes.js';
import type { State } from '../state/state.js';
import { count } from '../util/numbers.js';
import type { Session } from './session.js';
import { sealed } from './stored-options.js';
import type { Ending } from './summary.js';

/** What a run had to send, as the records of its rejects files keep it. */
export interface Unsent {
  /** Number of rows to send. */
  rows: number;
  /** `valid` and `filtered`: numbers of rows. */
  inputs: { path: string; digest: string; valid: number; filtered: number }[];
  /** How it read them: `ImportOptions` without private values. */
  options: unknown;
  /** The folder that its paths begin in. */
  cwd: string;
}

/** Null if it sent its rows, or had none to send. */
export function unsentOf(
  { inputs }: Scanned,
  { mode, rows }: Pick<Ending, 'mode' | 'rows'>,
  options: ImportOptions,
  { state, cwd }: { state: State; cwd: string },
): Unsent | null {
  if (mode === 'sent' || !rows.unsent) return null;
  return {
    rows: rows.unsent,
    inputs: inputs.map(({ opened, scan: { digest, rows } }) => ({
      path: opened.path,
      digest,
      valid: rows.read - rows.filtered - rows.rejected,
      filtered: rows.filtered,
    })),
    options: sealed(options, state.secret),
    cwd,
  };
}

/** What the runs of these rejects files did not send, and no later run has sent to the same service. */
export async function notSentBefore(session: Session, { inputs }: Scanned): Promise<NotSent[]> {
  const { state } = session.deps;
  // Without a token, of any service.
  const scope = session.isRecorded ? session.scope : session.deps.scope;
  const runs = new Set(inputs.flatMap(({ opened }) => opened.again?.runs ?? []));
  if (runs.size === 0) return [];
  const here = new Set(inputs.map(({ scan }) => scan.digest));
  const known = (await state.runs.all()).filter((run) => scope === null || sameScope(run.scope, scope));
  const found = new Map<string, NotSent>();
  for (const run of runs) {
    const beside = inputs.flatMap(({ opened }) => opened.again?.beside ?? []);
    for (const record of [...(await state.rejects.ofRun(run)), ...beside.filter((one) => one.run === run)]) {
      const unsent = record.unsent as Unsent | null;
      const left = unsent?.inputs.filter(
        (input) => input.valid > 0 && !here.has(input.digest) && !isSentSince(record, input, known),
      );
      if (!unsent || !left?.length) continue;
      const rows = left.reduce((sum, { valid }) => sum + valid, 0);
      found.set(record.owner, {
        run: record.run,
        files: left.map(({ path }) => path),
        rows: Math.min(rows, unsent.rows),
      });
    }
  }
  return [...found.values()];
}

/** Whether a later run has sent all that the input had to send. */
function isSentSince(
  { written_at }: Pick<WrittenRejects, 'written_at'>,
  { digest, filtered }: Unsent['inputs'][number],
  known: readonly StoredRun[],
): boolean {
  return known.some(({ started_at, status, finished, inputs, summary }) => {
    if (started_at < written_at || summary === null) return false;
    if (['rejected', 'held', 'superseded'].includes(status) || (!finished && summary.rows.unsent))
      return false;
    return inputs.some(
      (input, at) => input.digest === digest && (summary.files[at]?.rows.filtered ?? 0) <= filtered,
    );
  });
}

export const notSentWarnings = (found: readonly NotSent[], { inputs }: Scanned): string[] => [
  ...found.map(
    ({ run, files, rows }) =>
      `${count(rows, 'valid row')} of ${files.join(', ')} ${rows === 1 ? 'was' : 'were'} not sent by run ${run}`,
  ),
  ...inputs
    .filter(({ opened }) => opened.isRejects && !opened.again)
    .map(
      ({ opened }) =>
        `${opened.path}: this state does not know its run; if that sent nothing, its valid rows are still to be sent`,
    ),
];
