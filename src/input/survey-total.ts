/** Adds up what the batches of a survey found. */
import type { ColumnPlan } from '../model.js';
import { type Decision, decide, emptyStats, mergeStats } from './column-stats.js';
import { type Target, targetsOf } from './columns.js';
import type { CsvColumnPart, SurveyPart } from './parts.js';
import { quoted } from './quoted.js';
import type { Tally } from './source.js';
import type { ItemBatch, OpenedInput, Schema, Survey } from './types.js';

export class SurveyTotal {
  readonly rows = { read: 0, rejected: 0 };
  sample = -1;
  readonly unsettled: number[] = [];
  readonly #input: OpenedInput;
  readonly #itemLimitBytes: number;
  readonly #targets: Target[];
  #columns: CsvColumnPart[];
  #decisions: Decision[] = [];
  #bytes = 0;
  #largest = 0;
  #rounded: SurveyPart['rounded'] = { first: null, count: 0 };

  constructor(input: OpenedInput, itemLimitBytes: number) {
    this.#input = input;
    this.#itemLimitBytes = itemLimitBytes;
    this.#targets = targetsOf(input);
    this.#columns = this.#targets.map(() => ({ stats: emptyStats(), outside: 0 }));
  }

  add(part: SurveyPart): void {
    this.rows.read += part.read;
    this.rows.rejected += part.rejected.length;
    this.#bytes += part.bytes;
    this.#largest = Math.max(this.#largest, part.largest);
    if (this.sample < 0) this.sample = part.sample;
    for (const ordinal of part.unsettled) this.unsettled.push(ordinal);
    this.#rounded = {
      first: this.#rounded.first ?? part.rounded.first,
      count: this.#rounded.count + part.rounded.count,
    };
    const columns = part.columns as CsvColumnPart[];
    this.#columns = this.#columns.map(({ stats, outside }, index) => ({
      stats: mergeStats(stats, columns[index]!.stats),
      outside: outside + columns[index]!.outside,
    }));
  }

  /** Decides the types, once all parts are in. */
  schema(): Schema {
    this.#decisions = this.#targets.map(({ pinned, because }, index) => {
      const decided = decide(this.#columns[index]!.stats);
      return pinned ? { type: pinned, reason: because!, warning: null } : decided;
    });
    this.#decisions.forEach(({ type }, index) => {
      const { stats, outside } = this.#columns[index]!;
      // Sizes were counted with quotes around every inferred cell; numbers have none.
      if (this.#inferred(index) && type !== 'string') this.#bytes -= 2 * (stats.cells - outside);
    });
    return { types: this.#decisions.map(({ type }) => type), itemLimitBytes: this.#itemLimitBytes };
  }

  /** Counts rows whose size depended on the types. Gives the sizes of those that are accepted. */
  settle(batch: ItemBatch): Uint32Array<ArrayBuffer> {
    this.rows.rejected += batch.rejected.length;
    this.#bytes += batch.items.length;
    if (batch.ordinals.length > 0) {
      const first = batch.ordinals[0]!;
      if (this.sample < 0 || first < this.sample) this.sample = first;
    }
    const sizes = batch.ends.map((end, index) => end - (batch.ends[index - 1] ?? 0));
    for (const size of sizes) this.#largest = Math.max(this.#largest, size);
    return sizes;
  }

  finish(tally: Tally, sample: unknown): Survey {
    const columns = this.#targets.map((target, index): ColumnPlan => {
      const { type, reason } = this.#decisions[index]!;
      const { empty } = this.#columns[index]!.stats;
      if (target.role === 'ignored') {
        return { column: target.column, key: null, type: null, reason: target.because!, empty };
      }
      if (target.role === 'spread') {
        return { column: target.column, key: target.key, type: 'object', reason: target.because!, empty };
      }
      return { column: target.column, key: target.key, type, reason, empty };
    });
    return {
      digest: tally.digest(),
      size: tally.size,
      rows: this.rows,
      bytes: this.#bytes,
      largestItemBytes: this.#largest,
      columns,
      schema: { types: this.#decisions.map(({ type }) => type), itemLimitBytes: this.#itemLimitBytes },
      sample,
      warnings: this.#warnings(),
      types: columns.flatMap(({ key, type }, index): Survey['types'] =>
        key !== null && this.#targets[index]!.role === 'metadata' ? [[key, type]] : [],
      ),
    };
  }

  #inferred(index: number): boolean {
    const { role, pinned } = this.#targets[index]!;
    return role === 'metadata' && pinned === null;
  }

  #warnings(): string[] {
    const { path } = this.#input;
    const warnings: string[] = [];
    if (this.rows.read === 0) warnings.push(`${path}: no rows`);
    this.#decisions.forEach(({ warning }, index) => {
      const { column } = this.#targets[index]!;
      if (warning && this.#inferred(index)) {
        warnings.push(`${path}: ${column}: ${warning}; --type ${column}=string keeps them`);
      }
    });
    const { first, count } = this.#rounded;
    if (first) {
      const more = count === 1 ? '' : `, and ${count - 1} more`;
      warnings.push(
        `${path}:${first.line}: the identifier ${quoted(first.text)} looks rounded by a spreadsheet${more}; format the column as text and export it again`,
      );
    }
    return warnings;
  }
}
