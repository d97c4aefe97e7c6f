/** The first pass reads, maps, types, and checks every row. Of the rows, it keeps only what the plan shows. */

import type { FileRows, RejectedRow } from '../model.js';
import type { Warning } from '../problems.js';
import { strayDate, textOf } from './conversion/found.js';
import { Notes } from './csv/notes.js';
import type { ColumnTotals } from './format.js';
import { formatOf, placeWord } from './formats.js';
import { alteredWords, oddWords } from './identifier.js';
import { constantWarnings } from './mapping/targets.js';
import { readRecords } from './records.js';
import { addOdd, noneOdd, type ScanPart } from './scan-rows.js';
import { selectRecords } from './selection.js';
import { Output } from './text/output.js';
import { ByteTotals } from './text/source.js';
import type { OpenedInput, Scan, Schema } from './types.js';
import { andMore, type Found, quoted } from './wording.js';
import type { Pool } from './workers/pool.js';

export interface ScanOptions {
  /** Secret of this machine or run. Hashes with different keys cannot be compared. */
  hashKey: Uint8Array;
  /** The largest item, in bytes. A row with a larger one is rejected. */
  itemLimitBytes: number;
  pool: Pool;
  signal?: AbortSignal | undefined;
  /** Whether to read on after the limit of the selection, to count all rows. Default: true. */
  toEnd?: boolean | undefined;
  /** Called in input order. */
  onRejected?: ((row: RejectedRow) => void | Promise<void>) | undefined;
  /** Receives how many rows, and how many bytes of the file, were read so far. */
  onProgress?: ((rows: number, bytes: number) => void) | undefined;
  /** Receives the identifiers of accepted rows, as keyed hashes, and of the first rows also the lines. */
  collectIds?: ((ids: BigUint64Array<ArrayBuffer>, lines: Uint32Array | null) => void) | undefined;
  /** Users only: receives the companies that accepted rows name, hashed like identifiers of companies. */
  collectCompanies?: ((ids: BigUint64Array<ArrayBuffer>) => void) | undefined;
  /** Receives what decides the kind, if the columns fit both. */
  collectKinds?: ((part: Pick<ScanPart, 'ids' | 'companies' | 'companyRepeats'>) => void) | undefined;
}

/**
 * Reads the whole input once.
 * @throws InputError for an input that cannot be read to its end; UsageError for a rule that names an unknown field of
 * a JSON input; the signal's reason when aborted
 */
export async function scanInput(input: OpenedInput, options: ScanOptions): Promise<Scan> {
  const { hashKey, itemLimitBytes, signal } = options;
  const byteTotals = new ByteTotals();
  const totals = new ScanTotals(input, itemLimitBytes);
  const notes = input.csv && new Notes(input.csv.dialect, input.csv.excelText);
  const selected = { toEnd: options.toEnd ?? true, filtered: 0 };
  const records = readRecords(input, { signal, byteTotals, notes, keepIn: options.pool.cache });
  const companies = options.collectCompanies !== undefined;
  const spec = { pass: 'scan' as const, input, hashKey, itemLimitBytes, companies };
  for await (const part of options.pool.run(spec, selectRecords(input, records, selected), signal)) {
    totals.add(part);
    options.collectIds?.(part.ids, part.lines);
    if (part.companies) options.collectCompanies?.(part.companies);
    if (input.eitherKind) options.collectKinds?.(part);
    for (const row of part.rejected) {
      refuseStray(input, row);
      await options.onRejected?.(row);
    }
    options.onProgress?.(totals.rows.read + selected.filtered, byteTotals.size);
  }
  totals.leaveOut(selected.filtered);
  return totals.finish(byteTotals, notes?.warnings());
}

/** Refuses a value that does not fit a date pattern that was found. @throws InputError */
function refuseStray({ found, columns, path }: OpenedInput, { cause, line, original }: RejectedRow): void {
  // A time that a clock change skips does fit the pattern.
  if (!cause || cause.code === 'zone' || !found?.includes(cause.column)) return;
  const text = textOf(original, cause.column, columns) ?? '';
  throw strayDate(path, { line, text }, cause.column, cause.type);
}

/** Adds up what the batches of a scan found. */
class ScanTotals {
  readonly rows: FileRows = { read: 0, filtered: 0, rejected: 0 };
  readonly #input: OpenedInput;
  readonly #itemLimitBytes: number;
  readonly #columns: ColumnTotals;
  #bytes = 0;
  #largest = 0;
  readonly #odd = noneOdd();
  #first: ScanPart['sample'] = null;

  constructor(input: OpenedInput, itemLimitBytes: number) {
    this.#input = input;
    this.#itemLimitBytes = itemLimitBytes;
    this.#columns = formatOf(input).totals(input);
  }

  add(part: ScanPart): void {
    this.rows.read += part.read;
    this.rows.rejected += part.rejected.length;
    this.#bytes += part.bytes;
    this.#largest = Math.max(this.#largest, part.largest);
    this.#first ??= part.sample;
    addOdd(this.#odd, part.odd);
    this.#columns.add(part.columns);
  }

  /** Counts rows that are in no part. */
  leaveOut(filtered: number): void {
    this.rows.read += filtered;
    this.rows.filtered = filtered;
  }

  /** Call this once all parts were added. @throws UsageError for a rule that names an unknown field */
  finish(byteTotals: ByteTotals, odd: readonly Warning[] = []): Scan {
    const { types, surplus } = this.#columns.decide();
    const schema: Schema = { types, itemLimitBytes: this.#itemLimitBytes };
    return {
      digest: byteTotals.digest(),
      marks: byteTotals.marks,
      size: byteTotals.size,
      rows: this.rows,
      bytes: this.#bytes - surplus,
      largestItemBytes: this.#largest,
      columns: this.#columns.plans(this.rows.read - this.rows.filtered),
      schema,
      sample: this.#sample(schema),
      warnings: this.#warnings(odd),
      types: this.#columns.types(),
    };
  }

  /** The first item as it would be sent. */
  #sample({ types }: Schema): unknown {
    if (this.#first === null) return null;
    const writer = formatOf(this.#input).writer(this.#input, types);
    const out = new Output(4096);
    writer.begin(this.#first);
    writer.write(0, out);
    return JSON.parse(out.bytes.toString('utf8', 0, out.length));
  }

  #warnings(odd: readonly Warning[]): Warning[] {
    const warnings = [
      ...(this.#input.warnings ?? []),
      ...odd,
      ...this.#columns.warnings(),
      ...constantWarnings(this.#input.rules),
    ];
    const { read, filtered } = this.rows;
    if (read === 0) warnings.push({ message: 'no rows' });
    else if (read === filtered) warnings.push({ message: `no row is left: all ${read} are filtered` });
    const place = placeWord(this.#input);
    const { idColumn, companyIdColumn } = this.#input;
    const { rounded, altered, idAround, idInside, companyAround, companyInside } = this.#odd;
    warnings.push(...oddWarning(idAround, idInside, idColumn, place));
    warnings.push(...oddWarning(companyAround, companyInside, companyIdColumn ?? '', place));
    for (const { first, count } of [rounded, altered]) {
      if (!first) continue;
      warnings.push({
        message: `${place} ${first.line}${andMore(count)}: the identifier ${quoted(first.text)} ${alteredWords(first.text)}`,
      });
    }
    return warnings;
  }
}

/** One warning, with the first identifier of each sort, because they need different fixes. */
function oddWarning(around: Found, inside: Found, column: string, place: string): Warning[] {
  const sorts = [around, inside].flatMap(({ first, count }) => (first ? [{ first, count }] : []));
  if (sorts.length === 0) return [];
  sorts.sort((a, b) => a.first.line - b.first.line);
  const parts = sorts.map(
    ({ first, count }, index) =>
      `${place} ${first.line}${andMore(count)}: ${index === 0 ? `${column}: ` : ''}${oddWords(first.text)}`,
  );
  const problem = {
    code: 'odd_identifiers' as const,
    column,
    white: around.count > 0,
    inside: inside.count > 0,
  };
  return [{ message: parts.join(', and '), problem }];
}
