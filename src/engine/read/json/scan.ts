/** Scans a batch of JSON for the plan: its fields, sizes, and identifiers. */
import type { CellType } from '../../model.js';
import { ChangeDetector } from '../change-detector.js';
import { type Converter, converterOf, partsOf } from '../conversion/converter.js';
import { addCurrency, noCurrencies } from '../conversion/currency.js';
import { TOO_LARGE } from '../item-writer.js';
import type { Target } from '../mapping/targets.js';
import { type RowOptions, type ScanPart, ScanRows } from '../scan-rows.js';
import { rejectedRecord } from '../text/splitter.js';
import type { OpenedInput, RecordBatch } from '../types.js';
import { itemAppender, refusals } from './build.js';
import { isLaidOut, jsonLayout } from './layout.js';
import type { Members } from './members.js';
import { jsonRecord, recordText } from './parse.js';
import { PlainItem, typeNumberOf } from './plain-item.js';
import { addValue, countType, emptyFieldStats, type FieldPart, MAX_FIELDS, note } from './totals.js';

export function scanJson(input: OpenedInput, options: RowOptions): (batch: RecordBatch) => ScanPart {
  const layout = jsonLayout(input);
  const plain = new PlainItem(input);
  const { known, hashKey } = options;
  const rows = new ScanRows(input, options, known && new ChangeDetector(known, hashKey, () => null));
  const append = itemAppender(input, plain);
  return (batch) => {
    const spans = batch.spans;
    rows.begin(batch);
    const seen = new FieldParts();
    plain.begin(batch.bytes, batch.values);
    const refused = refusals(batch);
    for (let number = 0; number < batch.lines.length; number++) {
      const line = batch.lines[number]!;
      const refusal = refused?.get(number);
      if (refusal !== undefined) {
        rows.reject(rejectedRecord(input.path, batch, number, refusal, { item: recordText(batch, number) }));
        continue;
      }
      const isPlain = plain.read(spans[number * 2]!, spans[number * 2 + 1]!, number);
      if (isPlain && plain.size <= options.itemLimitBytes) {
        seen.addMembers(plain.flat, plain.bytes, line);
        seen.addMembers(plain.nested, plain.bytes, line, plain.flat);
        rows.acceptPlain(number, plain);
        continue;
      }
      const record = jsonRecord(batch, number, input);
      const laid =
        record.excess ?? layout(record.value, record.text, (target, value) => seen.add(target, value, line));
      if (!isLaidOut(laid)) {
        rows.reject(rejectedRecord(input.path, batch, record.number, laid, { item: record.text }));
        continue;
      }
      const size = Buffer.byteLength(laid.item);
      if (size > options.itemLimitBytes)
        rows.reject(rejectedRecord(input.path, batch, record.number, TOO_LARGE, { item: record.text }));
      else rows.accept(number, laid.id, laid.company, size);
    }
    return rows.finish(
      seen.all(),
      (number) => ({ item: recordText(batch, number) }),
      (writer, number) => append(writer, batch, number),
    );
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

  /** @param beside members of the same item: what is there already counts once */
  addMembers(members: Members, bytes: Buffer, line: number, beside?: Members): void {
    for (let index = 0; index < members.count; index++) {
      const field = members.fields[index]!;
      if (field.target.role === 'spread') continue;
      field.part ??= this.#of(field.target);
      if (field.part === null || (beside && hasPart(beside, field.part))) continue;
      const { stats } = field.part;
      const type = typeNumberOf(members, index);
      if (!countType(stats, type)) continue;
      const value = bytes.toString('utf8', members.starts[index], members.ends[index]);
      note(stats, type, JSON.parse(value), line);
    }
  }

  #isMoney(text: string, type: CellType): boolean {
    const converter = this.#converters.get(type) ?? converterOf(type)!;
    this.#converters.set(type, converter);
    return converter.size(text) >= 0;
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

function hasPart({ fields, count }: Members, part: FieldPart): boolean {
  for (let index = 0; index < count; index++) if (fields[index]!.part === part) return true;
  return false;
}
