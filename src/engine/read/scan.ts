/** The first pass: every row read, mapped, typed and checked. Nothing is kept of them but what the plan says. */
import type { RejectedRow } from '../model.js';
import { ChangedRows, type Known } from '../plan/changed.js';
import { buildOrdinals } from './ordinals.js';
import { readRecords } from './records.js';
import { ScanTotal } from './scan-total.js';
import { Tally } from './text/source.js';
import type { OpenedInput, Scan } from './types.js';
import type { Pool } from './workers/pool.js';

export interface ScanOptions {
  /** Secret of this machine or run: hashes of different keys cannot be compared. */
  hashKey: Uint8Array;
  /** An item of more bytes than this is a rejected row. */
  itemLimitBytes: number;
  pool: Pool;
  /** What need not be sent again: then rows that must be are kept, where that can be told in one pass. */
  known?: Known | undefined;
  signal?: AbortSignal | undefined;
  /** Called in input order, but for rows whose size could only be judged at the end. */
  onRejected?: ((row: RejectedRow) => void | Promise<void>) | undefined;
  /** Rows read so far, and bytes of the file. */
  onProgress?: ((rows: number, bytes: number) => void) | undefined;
  /** Identifiers of accepted rows, as keyed hashes. */
  collectIds?: ((ids: BigUint64Array<ArrayBuffer>) => void) | undefined;
  /** Users only: the companies that accepted rows name, hashed as a company's identifier is. */
  collectCompanies?: ((ids: BigUint64Array<ArrayBuffer>) => void) | undefined;
}

/**
 * Reads the whole input once.
 * @throws InputError for an input that cannot be read as a whole; UsageError for a rule that names an
 * unknown field of a JSON input; the signal's reason when aborted
 */
export async function scanInput(input: OpenedInput, options: ScanOptions): Promise<Scan> {
  const { hashKey, itemLimitBytes } = options;
  const tally = new Tally();
  const total = new ScanTotal(input, itemLimitBytes);
  const changed = new ChangedRows(input, options.known);
  const companies = options.collectCompanies !== undefined;
  const spec = { pass: 'scan' as const, input, hashKey, itemLimitBytes, companies, held: changed.held };
  const batches = readRecords(input, { signal: options.signal, tally });
  for await (const part of options.pool.run(spec, batches, options.signal)) {
    total.add(part);
    changed.add(part.sifted);
    options.collectIds?.(part.ids);
    if (part.companies) options.collectCompanies?.(part.companies);
    for (const row of part.rejected) await options.onRejected?.(row);
    options.onProgress?.(total.rows.read, tally.size);
  }
  const schema = total.schema();
  if (total.unsettled.length > 0) {
    for await (const batch of buildOrdinals(input, schema, total.unsettled, {
      ...options,
      planned: tally.marks,
    })) {
      total.settle(batch);
      options.collectIds?.(batch.ids);
      for (const row of batch.rejected) await options.onRejected?.(row);
    }
  }
  // What was left open until now is in no part.
  const whole = total.unsettled.length === 0;
  return { ...total.finish(tally), changed: whole ? changed.decide(schema) : null };
}
