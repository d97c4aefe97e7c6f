/** Items of a batch of JSON, as the service wants them. */
import { ItemWriter, TOO_LARGE } from '../item-writer.js';
import type { ItemBatch, OpenedInput, RecordBatch, Schema } from '../types.js';
import { jsonLayout } from './layout.js';
import { jsonRecords, rejectedItem } from './parse.js';

export function buildJson(
  input: OpenedInput,
  schema: Schema,
  hashKey: Uint8Array,
): (batch: RecordBatch) => ItemBatch {
  const layout = jsonLayout(input);
  const writer = new ItemWriter(hashKey, schema.itemLimitBytes);
  return (batch) => {
    writer.begin();
    for (const record of jsonRecords(batch, input)) {
      const laid = layout(record.value, record.text);
      let reason = TOO_LARGE;
      if (typeof laid === 'string') reason = laid;
      else if (writer.add(laid.item, laid.id, batch.lines[record.number]!, batch.first + record.number))
        continue;
      writer.reject(rejectedItem(input.path, batch, record, reason));
    }
    return writer.finish();
  };
}
