/** Builds the items of a batch of CSV. */
import type { ItemBatch } from '../batch.js';
import { type HashOptions, ItemWriter, TOO_LARGE } from '../item-writer.js';
import { type Rows, rejectedRecord } from '../rows.js';
import type { OpenedInput, Schema } from '../types.js';
import { BLANK, csvLayout } from './layout.js';
import { CsvRow } from './row.js';
import { CsvWriter } from './writer.js';

export function buildCsv(
  input: OpenedInput,
  schema: Schema,
  { hashKey }: HashOptions,
): (batch: Rows) => ItemBatch {
  const layout = csvLayout(input);
  const row = new CsvRow(input);
  const writer = new CsvWriter(layout, schema.types);
  const items = new ItemWriter(schema, hashKey);
  return (batch) => {
    row.begin(batch);
    items.begin(batch);
    for (let number = 0; number < batch.lines.length; number++) {
      let reason = row.read(number) ?? layout.refusal(row);
      if (reason === BLANK) continue;
      if (reason === null) {
        if (items.add(number, writer.write(row, items.out))) {
          if (layout.lower(layout.id)) items.ids.add(row.text(layout.id).toLowerCase());
          else row.hash(layout.id, items.ids);
          continue;
        }
        reason = TOO_LARGE;
      }
      items.reject(rejectedRecord(input.path, batch, number, reason, { cells: row.original(number) }));
    }
    return items.finish();
  };
}
