/** The plan's look at a batch of CSV: types, sizes and identifiers of its rows. */
import { ID_FIELD } from '../model.js';
import { addCell, type ColumnStats, emptyStats } from './column-stats.js';
import { constantsOf, targetsOf } from './columns.js';
import { batchRows, refusal, rejectedRow, shapeOf, TOO_LARGE } from './csv-rows.js';
import { jsonString, jsonStringBytes } from './json-text.js';
import { membersOf, membersText } from './members.js';
import type { SurveyPart } from './parts.js';
import { SurveyRows } from './survey-rows.js';
import type { OpenedInput, RecordBatch } from './types.js';

/** Bytes that a row's metadata takes in its item, counted without building it. */
interface Entry {
  index: number;
  stats: ColumnStats;
  /** `,"key":` */
  keyBytes: number;
  inferred: boolean;
  text: boolean;
}

export function surveyCsv(
  input: OpenedInput,
  options: { hashKey: Uint8Array; itemLimitBytes: number },
): (batch: RecordBatch) => SurveyPart {
  const targets = targetsOf(input);
  const shape = shapeOf(targets);
  const constantsBytes = Buffer.byteLength(membersText(constantsOf(input.rules)));
  const constantKeys = new Set(input.rules.set.map(([key]) => key));
  const idBytes = `{"${ID_FIELD[input.kind]}":}`.length;
  const companyBytes = ',"company_id":'.length;
  // A comma stands before each member but the first.
  const metadataBytes = ',"metadata":{}'.length - 1;
  const emptyBytes = { omit: 0, null: 4, string: 2 }[input.rules.empty];
  /** Columns whose cells are only counted. */
  const others = [...targets.keys()].filter((index) => targets[index]!.role !== 'metadata');
  const { itemLimitBytes } = options;

  return (batch) => {
    const rows = batchRows(batch, input.delimiter!);
    const columns = targets.map(() => ({ stats: emptyStats(), outside: 0 }));
    const entries: Entry[] = targets.flatMap((target, index) => {
      if (target.role !== 'metadata') return [];
      const keyBytes = Buffer.byteLength(`,${jsonString(target.key!)}:`);
      const text = target.pinned === null || target.pinned === 'string';
      return [{ index, stats: columns[index]!.stats, keyBytes, inferred: target.pinned === null, text }];
    });
    const accepted = new SurveyRows(input, batch, options.hashKey);

    /** A row that is not sent still belongs to its columns: it may come back mended. */
    const countOutside = (row: string[], line: number, counted: boolean): void => {
      for (let index = 0; index < targets.length; index++) {
        const column = columns[index]!;
        const cell = row[index]!;
        if (!counted) addTo(column.stats, cell, line, targets[index]!.pinned === null);
        if (cell !== '') column.outside++;
      }
    };

    for (let number = 0; number < rows.length; number++) {
      const row = rows[number]!;
      const line = batch.lines[number]!;
      const reason = refusal(row, shape, input);
      if (reason !== null) {
        accepted.reject(rejectedRow(input.path, batch, number, reason, row));
        if (row.length === shape.width) countOutside(row, line, false);
        continue;
      }
      const id = row[shape.id]!;
      let size = idBytes + jsonStringBytes(id);
      let members = constantsBytes;
      /** Cells that may yet turn out as numbers, which take two bytes less. */
      let perhapsNumbers = 0;
      for (const { index, stats, keyBytes, inferred, text } of entries) {
        const cell = row[index]!;
        if (cell === '') {
          stats.empty++;
          if (emptyBytes > 0) members += keyBytes + emptyBytes;
          continue;
        }
        if (inferred) {
          addCell(stats, cell, line);
          if (stats.notNumber === null) perhapsNumbers++;
        } else {
          stats.cells++;
        }
        members += keyBytes + (text ? jsonStringBytes(cell) : cell.length);
      }
      if (shape.spread >= 0) {
        const cell = row[shape.spread]!;
        if (cell !== '') {
          const own = ownMembers(cell, (key) => constantKeys.has(key) || isSet(key, row));
          members += Buffer.byteLength(membersText(own));
        }
      }
      const company = shape.company >= 0 ? row[shape.company]! : '';
      if (company !== '') size += companyBytes + jsonStringBytes(company);
      if (members > 0) size += metadataBytes + members;
      for (const index of others) addTo(columns[index]!.stats, row[index]!, line, false);

      if (size > itemLimitBytes) {
        if (size - 2 * perhapsNumbers > itemLimitBytes) {
          accepted.reject(rejectedRow(input.path, batch, number, TOO_LARGE, row));
        } else {
          accepted.unsettled.push(batch.first + number);
        }
        countOutside(row, line, true);
        continue;
      }
      accepted.accept(number, id, company, size);
    }
    return accepted.finish(columns);
  };

  /** Whether a column of its own gives a row this key. */
  function isSet(key: string, row: string[]): boolean {
    return targets.some(
      (target, index) =>
        target.role === 'metadata' && target.key === key && (row[index] !== '' || emptyBytes > 0),
    );
  }
}

function addTo(stats: ColumnStats, cell: string, line: number, inferred: boolean): void {
  if (cell === '') stats.empty++;
  else if (inferred) addCell(stats, cell, line);
  else stats.cells++;
}

/** Members of a `metadata` cell, without those that the row has from elsewhere. */
export function ownMembers(cell: string, taken: (key: string) => boolean): [string, string][] {
  const members = membersOf(cell);
  return typeof members === 'string' ? [] : members.filter(([key]) => !taken(key));
}
