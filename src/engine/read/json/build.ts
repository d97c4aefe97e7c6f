/** Builds the items of a batch of JSON. */
import type { ItemBatch } from '../batch.js';
import { type HashOptions, ItemWriter, TOO_LARGE } from '../item-writer.js';
import { type Rows, rejectedRecord } from '../rows.js';
import type { OpenedInput, Schema } from '../types.js';
import type { Refusal } from '../wording.js';
import { isLaidOut, jsonLayout } from './layout.js';
import { recordReader, recordText } from './parse.js';

export function buildJson(
  input: OpenedInput,
  schema: Schema,
  { hashKey }: HashOptions,
): (batch: Rows) => ItemBatch {
  const layout = jsonLayout(input);
  const writer = new ItemWriter(schema, hashKey);
  return (batch) => {
    writer.begin(batch);
    const read = recordReader(batch, input);
    const refused = refusals(batch);
    for (let number = 0; number < batch.lines.length; number++) {
      const reason = refused?.get(number) ?? append(number);
      if (reason === null) continue;
      writer.reject(rejectedRecord(input.path, batch, number, reason, { item: recordText(batch, number) }));
    }
    return writer.finish();

    function append(number: number): Refusal | null {
      const record = read(number);
      const laid = record.excess ?? layout(record);
      if (!isLaidOut(laid)) return laid;
      const { out } = writer;
      const start = out.length;
      out.write(laid.item);
      if (!writer.add(number, out.length - start)) return TOO_LARGE;
      writer.ids.add(laid.id);
      return null;
    }
  };
}

/** Why the reader refuses some records of a batch; null if there are none. */
export const refusals = ({ odd }: Rows): ReadonlyMap<number, string | null> | null =>
  odd ? new Map(odd.map(({ number, reason }) => [number, reason])) : null;
