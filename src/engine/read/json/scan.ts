/** Scans a batch of JSON for the plan: its fields, sizes, and identifiers. */
import type { CellType } from '../../model.js';
import { addCurrency, noCurrencies } from '../conversion/currency.js';
import type { Converter } from '../conversion/type.js';
import { converterOf, partsOf } from '../conversion/types.js';
import { TOO_LARGE } from '../item-writer.js';
import type { Target } from '../mapping/targets.js';
import { type Rows, rejectedRecord } from '../rows.js';
import { type RowOptions, type ScanPart, ScanRows } from '../scan-rows.js';
import type { OpenedInput } from '../types.js';
import type { Refusal } from '../wording.js';
import { refusals } from './build.js';
import { isLaidOut, jsonLayout } from './layout.js';
import { recordReader, recordText } from './parse.js';
import { addValue, emptyFieldStats, type FieldPart, MAX_FIELDS } from './totals.js';

export function scanJson(input: OpenedInput, options: RowOptions): (batch: Rows) => ScanPart {
  const layout = jsonLayout(input);
  const rows = new ScanRows(input, options);
  return (batch) => {
    rows.begin(batch);
    const seen = new FieldParts();
    const read = recordReader(batch, input);
    const refused = refusals(batch);
    let line = 0;
    const see = (target: Target, value: unknown): void => seen.add(target, value, line);
    for (let number = 0; number < batch.lines.length; number++) {
      line = batch.lines[number]!;
      const reason = refused?.get(number) ?? accept(number);
      if (reason === null) continue;
      rows.reject(rejectedRecord(input.path, batch, number, reason, { item: recordText(batch, number) }));
    }
    return rows.finish(seen.all(), (number) => ({ item: recordText(batch, number) }));

    function accept(number: number): Refusal | null {
      const record = read(number);
      const laid = record.excess ?? layout(record, see);
      if (!isLaidOut(laid)) return laid;
      const size = Buffer.byteLength(laid.item);
      if (size > options.itemLimitBytes) return TOO_LARGE;
      rows.accept(number, laid.id, laid.company, size);
      return null;
    }
  };
}

/** Counts the fields of a batch. */
class FieldParts {
  readonly #parts = new Map<string, FieldPart>();
  readonly #converters = new Map<CellType, Converter>();

  all(): FieldPart[] {
    return [...this.#parts.values()];
  }

  add(target: Target, value: unknown, line: number): void {
    const part = this.#of(target);
    if (part === null) return;
    addValue(part.stats, value, line);
    if (part.currencies && typeof value === 'string' && this.#isMoney(value, part.pinned!)) {
      addCurrency(part.currencies, value, line);
    }
  }

  #isMoney(text: string, type: CellType): boolean {
    const converter = this.#converters.get(type) ?? converterOf(type)!;
    this.#converters.set(type, converter);
    return converter.json(text) !== null;
  }

  #of({ column, role, key, because, pinned }: Target): FieldPart | null {
    let part = this.#parts.get(column) ?? null;
    if (part === null && this.#parts.size < MAX_FIELDS) {
      const currencies = pinned && partsOf(pinned).name === 'money' ? noCurrencies() : null;
      part = { column, role, key, because, pinned, stats: emptyFieldStats(), currencies };
      this.#parts.set(column, part);
    }
    return part;
  }
}
