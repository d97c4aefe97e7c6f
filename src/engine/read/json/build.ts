/** Builds the items of a batch of JSON. */
import type { ItemBatch } from '../batch.js';
import { type HashOptions, ItemWriter, TOO_LARGE } from '../item-writer.js';
import { rejectedRecord } from '../text/splitter.js';
import type { OpenedInput, RecordBatch, Schema } from '../types.js';
import type { Refusal } from '../wording.js';
import { isLaidOut, jsonLayout } from './layout.js';
import { jsonRecord, recordText } from './parse.js';
import { PlainItem } from './plain-item.js';

export function buildJson(
  input: OpenedInput,
  schema: Schema,
  { hashKey }: HashOptions,
): (batch: RecordBatch) => ItemBatch {
  const plain = new PlainItem(input);
  const appendItem = itemAppender(input, plain);
  // Making an item takes no longer than hashing its record, so records are not hashed.
  const writer = new ItemWriter(schema, hashKey, null);
  return (batch) => {
    writer.begin(batch);
    plain.begin(batch.bytes, batch.values);
    const refused = refusals(batch);
    for (let number = 0; number < batch.lines.length; number++) {
      const reason = refused?.get(number) ?? appendItem(writer, batch, number);
      if (reason === null) continue;
      writer.reject(rejectedRecord(input.path, batch, number, reason, { item: recordText(batch, number) }));
    }
    return writer.finish();
  };
}

/** Why the reader refuses some records of a batch; null if there are none. */
export const refusals = ({ refused }: RecordBatch): ReadonlyMap<number, string> | null =>
  refused ? new Map(refused.map(({ number, reason }) => [number, reason])) : null;

/** Appends the item of a record, or returns why it cannot be sent. @param plain must have begun the batch */
export function itemAppender(
  input: OpenedInput,
  plain: PlainItem,
): (writer: ItemWriter, batch: RecordBatch, number: number) => Refusal | null {
  const layout = jsonLayout(input);
  return (writer, batch, number) => {
    if (
      plain.read(batch.spans[number * 2]!, batch.spans[number * 2 + 1]!, number) &&
      writer.addPlain(number, plain)
    ) {
      return null;
    }
    const { value, text, excess } = jsonRecord(batch, number, input);
    const laid = excess ?? layout(value, text);
    if (!isLaidOut(laid)) return laid;
    return writer.add(number, laid.item, laid.id) ? null : TOO_LARGE;
  };
}
