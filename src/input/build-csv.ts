/** Items of a batch of CSV, as JSON text: keys are written once, and cells go in as they are. */
import { type ColumnType, ID_FIELD } from '../model.js';
import { constantsOf, targetsOf } from './columns.js';
import { batchRows, refusal, rejectedRow, shapeOf, TOO_LARGE } from './csv-rows.js';
import { ItemWriter } from './item-writer.js';
import { jsonString } from './json-text.js';
import { membersText } from './members.js';
import { ownMembers } from './survey-csv.js';
import type { ItemBatch, OpenedInput, RecordBatch, Schema } from './types.js';

interface Entry {
  index: number;
  /** `,"key":` */
  key: string;
  type: ColumnType;
}

export function buildCsv(
  input: OpenedInput,
  schema: Schema,
  hashKey: Uint8Array,
): (batch: RecordBatch) => ItemBatch {
  const targets = targetsOf(input);
  const shape = shapeOf(targets);
  const constants = membersText(constantsOf(input.rules));
  const constantKeys = new Set(input.rules.set.map(([key]) => key));
  const entries: Entry[] = targets.flatMap((target, index) =>
    target.role === 'metadata'
      ? [{ index, key: `,${jsonString(target.key!)}:`, type: schema.types[index]! }]
      : [],
  );
  const idKey = `{"${ID_FIELD[input.kind]}":`;
  const emptyValue = { omit: null, null: 'null', string: '""' }[input.rules.empty];

  const itemOf = (row: string[]): string => {
    let members = '';
    for (const { index, key, type } of entries) {
      const cell = row[index]!;
      if (cell === '') {
        if (emptyValue !== null) members += key + emptyValue;
      } else if (type === 'string') members += key + jsonString(cell);
      else if (type === 'boolean') members += key + cell.toLowerCase();
      else members += key + cell;
    }
    const spread = shape.spread >= 0 ? row[shape.spread]! : '';
    if (spread !== '') {
      members += membersText(ownMembers(spread, (key) => constantKeys.has(key) || isSet(key, row)));
    }
    members += constants;
    const company = shape.company >= 0 ? row[shape.company]! : '';
    const head =
      idKey + jsonString(row[shape.id]!) + (company === '' ? '' : `,"company_id":${jsonString(company)}`);
    return members === '' ? `${head}}` : `${head},"metadata":{${members.slice(1)}}}`;
  };

  /** Whether a column of its own gives a row this key. */
  const isSet = (key: string, row: string[]): boolean =>
    targets.some(
      (target, index) =>
        target.role === 'metadata' && target.key === key && (row[index] !== '' || emptyValue !== null),
    );

  return (batch) => {
    const rows = batchRows(batch, input.delimiter!);
    const writer = new ItemWriter(batch, { hashKey, itemLimitBytes: schema.itemLimitBytes });
    for (let number = 0; number < rows.length; number++) {
      const row = rows[number]!;
      const line = batch.lines[number]!;
      let reason = refusal(row, shape, input);
      if (reason === null) {
        if (writer.add(itemOf(row), row[shape.id]!, line, batch.first + number)) continue;
        reason = TOO_LARGE;
      }
      writer.rejected.push(rejectedRow(input.path, batch, number, reason, row));
    }
    return writer.finish(rows.length);
  };
}
