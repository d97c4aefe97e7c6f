/** The rows of a Parquet file, a few thousand at a time. */
import { EMPTY } from '../item-text.js';
import { targeting } from '../mapping/targets.js';
import { type CellColumn, CellLists, type OddRow, type Rows } from '../rows.js';
import { refuseChanged } from '../text/unchanged.js';
import type { OpenedInput } from '../types.js';
import { ArrowColumns, type ArrowStep } from './arrow.js';
import { Column, type Step } from './columns.js';
import { damaged, openParquet, type ParquetFile, stepOf } from './file.js';
import { isText, isWide } from './values.js';

// Exported here so that both are loaded together, with the first file.
export { openParquet } from './file.js';

/** With fewer rows, loading parquet-wasm takes longer than it saves. */
const LEAST_ROWS = 100_000;

/**
 * All rows in order.
 * @throws InputError for a damaged or truncated file, and for one that changed since it was opened; the signal's reason
 * when aborted
 */
export async function* parquetRows(input: OpenedInput, signal?: AbortSignal): AsyncGenerator<Rows> {
  await refuseChanged(input);
  const file = await openParquet(input);
  let arrow: ArrowColumns | null = null;
  try {
    const columns = columnsOf(file, input);
    arrow = new ArrowColumns(file, (at) => file.rows >= LEAST_ROWS && !columns[at]!.member.spread);
    let before = 0;
    for (const group of file.groups) {
      const rows = Number(group.num_rows);
      const most = stepOf(group);
      for (let from = 0; from < rows; from += most) {
        signal?.throwIfAborted();
        yield await batchOf(
          columns,
          { group, from, to: Math.min(from + most, rows), before },
          await arrow.next(),
        );
      }
      before += rows;
    }
  } catch (error) {
    throw signal?.aborted ? error : damaged(input.path, error);
  } finally {
    await arrow?.close();
    await file.close();
  }
  await refuseChanged(input);
}

async function batchOf(columns: readonly Column[], step: Step, values: ArrowStep): Promise<Rows> {
  const first = step.before + step.from;
  const cells: CellColumn[] = [];
  /** With the first bad value of each. */
  const reasons = new Map<number, string>();
  for (const [at, column] of columns.entries()) {
    const found = await column.read(step, values.columns[at]!);
    cells.push(found.cells);
    for (const [row, reason] of found.bad) if (!reasons.has(row)) reasons.set(row, reason);
  }
  const lines = new Uint32Array(step.to - step.from);
  for (let row = 0; row < lines.length; row++) lines[row] = first + row + 1;
  const odd = [...reasons]
    .sort(([a], [b]) => a - b)
    .map(([row, reason]): OddRow => ({ number: row - first, cells: [], reason }));
  return {
    // None of its own: it takes the memory of the cells along.
    bytes: new Uint8Array(values.memory, 0, 0),
    ...new CellLists(0).take(),
    width: cells.length,
    cells,
    lines,
    first,
    ...(odd.length > 0 && { odd }),
  };
}

/** The columns, which know how their values go into items. */
function columnsOf(file: ParquetFile, input: OpenedInput): Column[] {
  const targetOf = targeting(input, true);
  const missing = EMPTY[input.rules.empty];
  return file.columns.map((column) => {
    const { element } = column.node;
    const { role, pinned } = targetOf(column.name);
    return new Column(file, column, {
      rejects: role !== 'ignored' && pinned !== 'string',
      missing: role === 'metadata' ? missing : null,
      asText: pinned !== 'string' ? 'none' : role === 'metadata' ? 'all' : 'integers',
      spread: role === 'spread' && isText(element),
      wide: element.type === 'INT64' && column.bounds.some((bound) => isWide(element, bound)),
    });
  });
}
