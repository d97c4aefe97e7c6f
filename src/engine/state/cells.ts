/** Short hashes of the cells of sends (contract §3 "Review before sending"), if changes are counted by key. */
import { type CellColumns, StoredCells } from '../stored-cells.js';
import type { Reader, Transaction } from './database.js';

/** The table `cells`: its rows are deleted with their sends. */
export class Cells {
  async put(tx: Transaction, send: number, { keys, bytes }: CellColumns): Promise<void> {
    await tx.run('INSERT INTO cells (send, keys, cells) VALUES (?, ?, ?)', send, JSON.stringify(keys), bytes);
  }

  /** Null if they are not remembered. */
  async of(on: Reader, send: number): Promise<CellColumns | null> {
    const row = await on.get<{ keys: string; cells: Uint8Array }>(
      'SELECT keys, cells FROM cells WHERE send = ?',
      send,
    );
    return row ? { keys: JSON.parse(row.keys) as string[], bytes: row.cells } : null;
  }

  /** Keeps the cells of some rows of a send, and drops the others. */
  async keep(tx: Transaction, send: number, rows: readonly number[]): Promise<void> {
    const stored = await this.of(tx, send);
    if (stored === null) return;
    const { bytes } = new StoredCells(stored).select(rows);
    await tx.run('UPDATE cells SET cells = ? WHERE send = ?', bytes, send);
  }
}
