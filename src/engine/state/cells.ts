/**
 * Stores short hashes of the cells of sends, to count changes by key (contract §3 "Review before sending").
 */
import { type CellColumns, StoredCells } from '../stored-cells.js';
import type { Reader, Transaction } from './database.js';
import { STORED, storedJson } from './stored-json.js';

/** The table `cells`. Its rows are deleted with their sends. */
export class Cells {
  async put(tx: Transaction, send: number, { keys, bytes }: CellColumns): Promise<void> {
    await tx.run('INSERT INTO cells (send, keys, cells) VALUES (?, ?, ?)', send, JSON.stringify(keys), bytes);
  }

  /** The cells of a send; null if they were not recorded. */
  async of(on: Reader, send: number): Promise<CellColumns | null> {
    const row = await on.get<{ keys: string; cells: Uint8Array }>(
      'SELECT keys, cells FROM cells WHERE send = ?',
      send,
    );
    return row ? { keys: storedJson<string[]>(row.keys, STORED.cellKeys, send), bytes: row.cells } : null;
  }

  /** Deletes the cells of all rows of a send except these. @param rows indexes, ascending */
  async keep(tx: Transaction, send: number, rows: readonly number[]): Promise<void> {
    const stored = await this.of(tx, send);
    if (stored === null) return;
    const { bytes } = new StoredCells(stored).select(rows);
    await tx.run('UPDATE cells SET cells = ? WHERE send = ?', bytes, send);
  }
}
