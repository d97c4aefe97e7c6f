/** The first pass reads, maps, types, and checks every row. Of the rows, it keeps only what the plan shows. */

import type { CellType, FileRows, RejectedRow } from '../model.js';
import type { Warning } from '../problems.js';
import { strayDate } from './conversion/found.js';
import { Notes } from './csv/dialect.js';
import type { Inferred } from './format.js';
import { formatOf, placeWord } from './formats.js';
import { alteredWords, oddWords } from './identifier.js';
import { valuesIn } from './item-text.js';
import { constantWarnings } from './mapping/targets.js';
import { readRecords, selectRecords, startsAnywhere } from './records.js';
import type { Rows } from './rows.js';
import { addOdd, noneOdd, type Odd, type ScanPart } from './scan-rows.js';
import { Output } from './text/bytes.js';
import { ByteTotals } from './text/unchanged.js';
import type { OpenedInput, Scan } from './types.js';
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
  /** Users only: whether to collect the companies that accepted rows name, hashed like identifiers of companies. */
  companies?: boolean | undefined;
  /** Of how many rows, from the first, to keep the hashes of identifiers for later passes. Default: none. */
  idRows?: number | undefined;
}

/** A part, and how much was read so far. */
export interface ScannedPart extends ScanPart {
  soFar: {
    rows: number;
    /** Of the file. */
    bytes: number;
  };
}

export interface Scanning {
  /**
   * Reads the whole input once, in order.
   * @throws InputError for an input that cannot be read to its end; the signal's reason when aborted
   */
  parts: AsyncGenerator<ScannedPart>;
  /** After all parts: the columns whose cells decide their type. */
  inferred(): Inferred[];
  /**
   * After all parts.
   * @param texts keys that are text because of other inputs, and why
   * @throws UsageError for a rule that names an unknown field of a JSON input
   */
  result(texts?: ReadonlyMap<string, string>): Scan;
}

export function scanInput(input: OpenedInput, options: ScanOptions): Scanning {
  const { hashKey, itemLimitBytes, signal, companies = false } = options;
  const idRows = startsAnywhere(input) ? (options.idRows ?? 0) : 0;
  const byteTotals = new ByteTotals();
  const notes = input.csv && new Notes(input.csv.dialect, input.csv.excelText);
  const selected = { toEnd: options.toEnd ?? true, filtered: 0 };
  const ids: BigUint64Array<ArrayBuffer>[] = [];
  const totals = formatOf(input).totals(input);
  const odd = noneOdd();
  let [read, rejected, bytes, largestItemBytes] = [0, 0, 0, 0];
  let first: ScanPart['sample'] = null;
  async function* parts(): AsyncGenerator<ScannedPart> {
    const records = readRecords(input, { signal, byteTotals, notes, keepIn: options.pool.cache });
    const spec = { pass: 'scan' as const, input, hashKey, itemLimitBytes, companies };
    for await (const part of options.pool.run(spec, selectRecords(input, records, selected), signal)) {
      read += part.read;
      rejected += part.rejected.length;
      bytes += part.bytes;
      if (read <= idRows) ids.push(part.ids);
      largestItemBytes = Math.max(largestItemBytes, part.largest);
      first ??= part.sample;
      addOdd(odd, part.odd);
      totals.add(part.columns);
      for (const row of part.rejected) refuseStray(input, row);
      yield { ...part, soFar: { rows: read + selected.filtered, bytes: byteTotals.size } };
    }
  }
  const result = (texts?: ReadonlyMap<string, string>): Scan => {
    const { types, surplus } = totals.decide(texts);
    const rows = { read: read + selected.filtered, filtered: selected.filtered, rejected };
    return {
      ...byteTotals.digested(),
      ...{ ids, rows, bytes: bytes - surplus, largestItemBytes },
      columns: totals.plans(read),
      schema: { types, itemLimitBytes },
      sample: first && itemOf(first, input, types),
      warnings: [
        ...(input.warnings ?? []),
        ...(notes?.warnings() ?? []),
        ...totals.warnings(),
        ...constantWarnings(input.rules),
        ...rowWarnings(rows),
        ...oddWarnings(odd, input),
      ],
      types: totals.types(),
    };
  };
  return { parts: parts(), inferred: () => totals.inferred?.() ?? [], result };
}

/** Refuses a value that does not fit a date pattern that was found. @throws InputError */
function refuseStray({ found, columns, path }: OpenedInput, { cause, line, original }: RejectedRow): void {
  // A time that a clock change skips does fit the pattern.
  if (!cause || cause.code === 'zone' || !found?.includes(cause.column)) return;
  const text = valuesIn(columns)(original)(cause.column) ?? '';
  throw strayDate(path, { line, text }, cause.column, cause.type);
}

/** The item of a single row, as it would be sent. */
function itemOf(row: Rows, input: OpenedInput, types: readonly CellType[]): unknown {
  const writer = formatOf(input).writer(input, types);
  const out = new Output(4096);
  writer.begin(row);
  writer.write(0, out);
  return JSON.parse(out.bytes.toString('utf8', 0, out.length));
}

function rowWarnings({ read, filtered }: FileRows): Warning[] {
  if (read === 0) return [{ message: 'no rows' }];
  return read === filtered ? [{ message: `no row is left: all ${read} are filtered` }] : [];
}

function oddWarnings(odd: Odd, input: OpenedInput): Warning[] {
  const place = placeWord(input);
  return [
    ...aroundWarning(odd.idAround, odd.idInside, input.idColumn, place),
    ...aroundWarning(odd.companyAround, odd.companyInside, input.companyIdColumn ?? '', place),
    ...[odd.rounded, odd.altered].flatMap(({ first, count }): Warning[] => {
      if (!first) return [];
      const what = `the identifier ${quoted(first.text)} ${alteredWords(first.text)}`;
      return [{ message: `${place} ${first.line}${andMore(count)}: ${what}` }];
    }),
  ];
}

/** One warning, with the first identifier of each sort, because they need different fixes. */
function aroundWarning(around: Found, inside: Found, column: string, place: string): Warning[] {
  const sorts = [around, inside].flatMap(({ first, count }) => (first ? [{ first, count }] : []));
  if (sorts.length === 0) return [];
  sorts.sort((a, b) => a.first.line - b.first.line);
  const parts = sorts.map(({ first, count }, index) => {
    return `${place} ${first.line}${andMore(count)}: ${index === 0 ? `${column}: ` : ''}${oddWords(first.text)}`;
  });
  const sides = { white: around.count > 0, inside: inside.count > 0 };
  return [{ message: parts.join(', and '), problem: { code: 'odd_identifiers', column, ...sides } }];
}
