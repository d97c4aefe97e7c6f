/**
 * The valid rows of a run that sent nothing. If only the rows that it rejected are fixed and imported, the others would
 * be forgotten, so such an import names them (contract §3 "Rejects").
 */
import type { NotSent } from '../model.js';
import type { ImportOptions } from '../options.js';
import type { Scanned } from '../plan/plan.js';
import { sameScope } from '../state/access.js';
import type { WrittenRejects } from '../state/rejects.js';
import type { StoredRun } from '../state/runs.js';
import type { Scope, State } from '../state/state.js';
import { count } from '../util/numbers.js';
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

/**
 * What the runs of these rejects files did not send, and no later run has sent to the same service; and the warnings
 * about it.
 * @param scope null: any service
 */
export async function notSentBefore(
  { inputs }: Scanned,
  { state, scope }: { state: State; scope: Scope | null },
): Promise<{ notSent: NotSent[]; warnings: string[] }> {
  const records = inputs.flatMap(({ opened }) => opened.again?.records ?? []);
  const all = records.length === 0 ? [] : await state.runs.all();
  const known = all.filter((run) => scope === null || sameScope(run.scope, scope));
  const here = new Set(inputs.map(({ scan }) => scan.digest));
  const found = new Map<string, NotSent>();
  for (const record of records) {
    const { rows = 0, inputs = [] } = (record.unsent ?? {}) as Partial<Unsent>;
    const left = inputs.filter(
      (input) => input.valid > 0 && !here.has(input.digest) && !isSentSince(record, input, known),
    );
    if (left.length === 0) continue;
    const valid = left.reduce((sum, input) => sum + input.valid, 0);
    const files = left.map(({ path }) => path);
    found.set(record.owner, { run: record.run, files, rows: Math.min(valid, rows) });
  }
  const notSent = [...found.values()];
  const warnings = notSent.map(
    ({ run, files, rows }) =>
      `${count(rows, 'valid row')} of ${files.join(', ')} ${rows === 1 ? 'was' : 'were'} not sent by run ${run}`,
  );
  const unknown = inputs.flatMap(({ opened: { path, isRejects, again } }) =>
    isRejects && !again
      ? `${path}: this state does not know its run; if that sent nothing, its valid rows are still to be sent`
      : [],
  );
  return { notSent, warnings: [...warnings, ...unknown] };
}

/** Whether a later run has sent all that the input had to send. */
const isSentSince = (
  { written_at }: Pick<WrittenRejects, 'written_at'>,
  { digest, filtered }: Unsent['inputs'][number],
  known: readonly StoredRun[],
): boolean =>
  known.some(({ started_at, status, finished, inputs, summary }) => {
    if (started_at < written_at || summary === null) return false;
    if (['rejected', 'held', 'superseded'].includes(status) || (!finished && summary.rows.unsent))
      return false;
    return inputs.some(
      (input, at) => input.digest === digest && (summary.files[at]?.rows.filtered ?? 0) <= filtered,
    );
  });
