/** Rejected rows of a CSV in a rejects file: the cells that it keeps, and the faults that it does not show. */
import type { RejectedRow } from '../../model.js';
import type { Hashes } from '../hashes.js';
import { TOO_LARGE } from '../items.js';
import { EXTRA, idBefore, idText, keptColumns, movedBy, OWN_PREFIX, rowHashes } from '../rejects-rows.js';
import { Output } from '../text/bytes.js';
import type { OpenedInput } from '../types.js';
import { CsvWriter } from './writer.js';

export function quotedCell(cell: string, delimiter: string): string {
  const plain = !cell.includes('"') && !cell.includes(delimiter) && !/[\r\n]|^\s|\s$/.test(cell);
  return plain ? cell : `"${cell.replaceAll('"', '""')}"`;
}

/** A row's cells, one for each column, and as one cell its surplus, with that which an earlier file kept. */
export function rejectedCells(
  columns: readonly string[],
  delimiter: string,
): (cells: readonly string[]) => { kept: string[]; extra: string } {
  const own = keptColumns(columns);
  const added = columns.findIndex((column) => column.startsWith(OWN_PREFIX));
  const earlier = columns.indexOf(EXTRA);
  const asCell = (cells: readonly string[]): string =>
    cells.some((cell) => cell !== '') ? cells.map((cell) => quotedCell(cell, delimiter)).join(delimiter) : '';
  return (cells) => {
    const aligned = [...cells];
    const moved = aligned.splice(added, movedBy(cells, columns));
    const extra = [asCell(moved), aligned[earlier] ?? '', asCell(aligned.slice(columns.length))];
    return {
      kept: own.map((index) => aligned[index] ?? ''),
      extra: extra.filter((text) => text !== '').join(delimiter),
    };
  };
}

/**
 * What an import of the rejects file must recognize. Rows that were rejected for their shape have as many cells there as
 * any other, and would be valid: their hashes recognize them as long as they are not edited; rows with surplus cells show
 * them. Identifiers that are numbers may lose their zeros in a spreadsheet.
 */
export class Unedited {
  readonly #columns: readonly string[];
  readonly #hashes: Hashes;
  readonly #writer: CsvWriter;
  readonly #scratch = new Output(4096);
  /** Null for an input that is not text. */
  readonly #cellsOf: ReturnType<typeof rejectedCells> | null;
  readonly #ids: readonly string[];
  readonly #idBefore: ReturnType<typeof idBefore>;
  #all = new BigUint64Array(0);

  /** @param key of the hashes, hexadecimal */
  constructor(input: OpenedInput, key: string) {
    this.#columns = input.columns;
    this.#hashes = rowHashes(key);
    this.#cellsOf = input.delimiter === null ? null : rejectedCells(input.columns, input.delimiter);
    this.#ids = [input.idColumn, input.companyIdColumn ?? []].flat();
    this.#idBefore = idBefore(input);
    // The header of a rejects file has additional columns, so no row repeats it.
    const csv = input.csv && { csv: { ...input.csv, header: [] } };
    this.#writer = new CsvWriter({ ...input, again: undefined, ...csv }, null);
  }

  /** Adds the identifiers of a rejected row. */
  addIds(original: RejectedRow['original']): void {
    if (!('cells' in original)) return;
    for (const column of this.#ids) {
      const id = original.cells[this.#columns.indexOf(column)]?.trim() ?? '';
      if (/^\d+$/.test(id)) this.#hashes.add(idText(column, this.#idBefore(id, column) ?? id));
    }
  }

  /** Adds a row that the plan rejected. */
  add({ original, reason }: Pick<RejectedRow, 'original' | 'reason'>): void {
    if (this.#cellsOf === null || !('cells' in original) || reason === TOO_LARGE) return;
    this.#writer.row.put(this.#columns.map((_, index) => original.cells[index] ?? ''));
    this.#scratch.length = 0;
    if (this.#writer.append(this.#scratch) !== null) return; // it is rejected again for the same reason
    const { kept, extra } = this.#cellsOf(original.cells);
    if (extra === '') this.#hashes.add(JSON.stringify(kept));
  }

  /** In ascending order. */
  hashes(): BigUint64Array {
    const [before, added] = [this.#all, this.#hashes.take()];
    this.#all = new BigUint64Array(before.length + added.length);
    this.#all.set(before);
    this.#all.set(added, before.length);
    return this.#all.sort();
  }
}
