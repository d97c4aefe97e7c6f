/** Items of a batch of JSON, as the service wants them. */
import { ItemWriter, TOO_LARGE } from '../item-writer.js';
import type { ItemBatch, OpenedInput, RecordBatch, Schema } from '../types.js';
import { jsonLayout } from './layout.js';
import { jsonRecord, rejectedItem } from './parse.js';
import { PlainItem } from './plain-item.js';

export function buildJson(
  input: OpenedInput,
  schema: Schema,
  hashKey: Uint8Array,
): (batch: RecordBatch) => ItemBatch {
  const layout = jsonLayout(input);
  const plain = new PlainItem(input);
  const writer = new ItemWriter(hashKey, schema.itemLimitBytes);
  return (batch) => {
    const spans = batch.spans!;
    writer.begin();
    plain.begin(batch.bytes);
    for (let number = 0; number < batch.lines.length; number++) {
      const line = batch.lines[number]!;
      const ordinal = batch.first + number;
      if (plain.read(spans[number * 2]!, spans[number * 2 + 1]!) && writer.addPlain(plain, line, ordinal))
        continue;
      const record = jsonRecord(batch, number, input);
      const laid = layout(record.value, record.text);
      let reason = TOO_LARGE;
      if (typeof laid === 'string') reason = laid;
      else if (writer.add(laid.item, laid.id, line, ordinal)) continue;
      writer.reject(rejectedItem(input.path, batch, record, reason));
    }
    return writer.finish();
  };
}
