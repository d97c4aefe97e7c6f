/** One row as it would be sent, without the batch that it stands in. */
import type { RejectedRow } from '../model.js';
import { itemText } from './csv/build.js';
import { csvLayout } from './csv/layout.js';
import { jsonLayout } from './json/layout.js';
import type { OpenedInput, Schema } from './types.js';

/** The item of an accepted row. @param original the row as it stands in the input */
export function itemOf(input: OpenedInput, schema: Schema, original: RejectedRow['original']): unknown {
  if ('cells' in original) return JSON.parse(itemText(csvLayout(input), schema)(original.cells));
  const text = String(original.item);
  const laid = jsonLayout(input)(JSON.parse(text), text);
  return typeof laid === 'string' ? null : JSON.parse(laid.item);
}
