/** Adds up what the batches of a scan found. */

import { quoted } from './mapping/quoted.js';
import { type ColumnsTotal, columnsTotal, placeOf } from './mapping/total.js';
import type { ScanPart } from './parts.js';
import { itemOf } from './sample.js';
import type { Tally } from './text/source.js';
import type { ItemBatch, OpenedInput, Scan, Schema } from './types.js';

export class ScanTotal {
  readonly rows = { read: 0, rejected: 0 };
  readonly unsettled: number[] = [];
  readonly #input: OpenedInput;
  readonly #schema: Schema;
  readonly #columns: ColumnsTotal;
  #bytes = 0;
  #largest = 0;
  #rounded: ScanPart['rounded'] = { first: null, count: 0 };
  #first: ScanPart['sample'] = null;
  /** The first item, where it was only known once the types were decided. */
  #built: string | null = null;

  constructor(input: OpenedInput, itemLimitBytes: number) {
    this.#input = input;
    this.#schema = { types: [], itemLimitBytes };
    this.#columns = columnsTotal(input);
  }

  add(part: ScanPart): void {
    this.rows.read += part.read;
    this.rows.rejected += part.rejected.length;
    this.#bytes += part.bytes;
    this.#largest = Math.max(this.#largest, part.largest);
    this.#first ??= part.sample;
    for (const ordinal of part.unsettled) this.unsettled.push(ordinal);
    this.#rounded = {
      first: this.#rounded.first ?? part.rounded.first,
      count: this.#rounded.count + part.rounded.count,
    };
    this.#columns.add(part.columns);
  }

  /** Once all parts are in. @throws UsageError for a rule that names an unknown field */
  schema(): Schema {
    const { types, surplus } = this.#columns.decide();
    this.#bytes -= surplus;
    this.#schema.types = types;
    return this.#schema;
  }

  /** Counts rows whose size depended on the types. */
  settle(batch: ItemBatch): void {
    this.rows.rejected += batch.rejected.length;
    this.#bytes += batch.items.length;
    const [ordinal] = batch.ordinals;
    if (ordinal !== undefined && (this.#first === null || ordinal < this.#first.ordinal)) {
      this.#built ??= Buffer.from(batch.items.subarray(0, batch.ends[0])).toString();
    }
    let start = 0;
    for (const end of batch.ends) {
      this.#largest = Math.max(this.#largest, end - start);
      start = end;
    }
  }

  finish(tally: Tally): Omit<Scan, 'changed'> {
    return {
      digest: tally.digest(),
      marks: tally.marks,
      size: tally.size,
      rows: this.rows,
      bytes: this.#bytes,
      largestItemBytes: this.#largest,
      columns: this.#columns.plans(this.rows.read),
      schema: this.#schema,
      sample: this.#sample(),
      warnings: this.#warnings(),
      types: this.#columns.types(),
    };
  }

  #sample(): unknown {
    if (this.#built !== null) return JSON.parse(this.#built);
    return this.#first && itemOf(this.#input, this.#schema, this.#first.original);
  }

  #warnings(): string[] {
    const warnings = this.#columns.warnings();
    if (this.rows.read === 0) warnings.push('no rows');
    const { first, count } = this.#rounded;
    if (first) {
      const more = count === 1 ? '' : ` (and ${count - 1} more)`;
      warnings.push(
        `${placeOf(this.#input)} ${first.line}${more}: the identifier ${quoted(first.text)} looks rounded by a spreadsheet; format its column as text and export it again`,
      );
    }
    return warnings;
  }
}
