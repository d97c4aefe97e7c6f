/** Builds the items of a batch of CSV as JSON text. Keys are encoded once, and cells are copied. */
import type { ItemBatch } from '../batch.js';
import { COMPANY, METADATA_CLOSE, METADATA_OPEN } from '../item-text.js';
import { type HashOptions, ItemWriter, TOO_LARGE } from '../item-writer.js';
import { jsonString } from '../json/text.js';
import { rejectedRecord } from '../text/splitter.js';
import type { OpenedInput, RecordBatch, Schema } from '../types.js';
import { BLANK, type CsvLayout, csvLayout } from './layout.js';
import { plainRow } from './plain-row.js';
import { rowReader } from './rows.js';

export function buildCsv(
  input: OpenedInput,
  schema: Schema,
  { hashKey }: HashOptions,
): (batch: RecordBatch) => ItemBatch {
  const layout = csvLayout(input);
  const itemOf = itemText(layout, schema);
  const writer = new ItemWriter(schema, hashKey);
  const plain = plainRow(input, layout, schema.types);
  const read = rowReader(input);
  return (batch) => {
    const rows = read(batch);
    plain?.begin(batch);
    writer.begin(batch);
    for (let number = 0; number < batch.lines.length; number++) {
      if (plain?.read(number) && writer.addPlain(number, plain)) continue;
      const cells = rows.cells(number);
      const row = layout.clean ? layout.clean(cells) : cells;
      let reason = rows.broken?.get(number) ?? layout.refusal(row);
      if (reason === BLANK) continue;
      if (reason === null) {
        if (writer.add(number, itemOf(row), layout.idOf(row))) continue;
        reason = TOO_LARGE;
      }
      writer.reject(rejectedRecord(input.path, batch, number, reason, { cells: rows.cells(number) }));
    }
    return writer.finish();
  };
}

/** The item of an accepted row, as JSON text. */
export function itemText(layout: CsvLayout, { types }: Schema): (row: readonly string[]) => string {
  const { metadata, head, constants, empty } = layout;
  const columns = metadata.map(({ index, key, converter }) => ({
    index,
    key,
    converter,
    type: types[index]!,
  }));
  return (row) => {
    let members = '';
    for (const { index, key, converter, type } of columns) {
      const cell = row[index]!;
      if (cell === '') {
        if (empty !== null) members += key + empty;
      } else if (converter !== null) members += key + converter.json(cell);
      else if (type === 'string') members += key + jsonString(cell);
      else members += key + cell;
    }
    members += layout.spread(row);
    members += constants;
    const company = layout.companyOf(row);
    let item = head + jsonString(layout.idOf(row));
    if (company !== '') item += COMPANY + jsonString(company);
    if (members !== '') item += METADATA_OPEN + members.slice(1) + METADATA_CLOSE;
    return `${item}}`;
  };
}

/** The version of the rules by which a record becomes an item. Runs begun under other rules are not continued. */
export const ITEM_FORMAT_VERSION = 4;
