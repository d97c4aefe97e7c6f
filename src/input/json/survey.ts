/** The plan's look at a batch of JSON: what its fields hold, sizes and identifiers. */

import { TOO_LARGE } from '../item-writer.js';
import type { FieldPart, SurveyPart } from '../parts.js';
import { SurveyRows } from '../survey-rows.js';
import type { OpenedInput, RecordBatch } from '../types.js';
import { addValue, emptyFieldStats, MAX_FIELDS } from './field-stats.js';
import { jsonLayout } from './layout.js';
import { jsonRecords, rejectedItem } from './parse.js';

export function surveyJson(
  input: OpenedInput,
  options: { hashKey: Uint8Array; itemLimitBytes: number },
): (batch: RecordBatch) => SurveyPart {
  const layout = jsonLayout(input);
  return (batch) => {
    const rows = new SurveyRows(input, batch, options.hashKey);
    const fields = new Map<string, FieldPart>();
    for (const record of jsonRecords(batch, input)) {
      const line = batch.lines[record.number]!;
      const laid = layout(record.value, record.text, ({ column, role, key, because }, value) => {
        let part = fields.get(column);
        if (!part) {
          if (fields.size >= MAX_FIELDS) return;
          part = { column, role, key, because, stats: emptyFieldStats() };
          fields.set(column, part);
        }
        addValue(part.stats, value, line);
      });
      if (typeof laid === 'string') {
        rows.reject(rejectedItem(input.path, batch, record, laid));
        continue;
      }
      const size = Buffer.byteLength(laid.item);
      if (size > options.itemLimitBytes) rows.reject(rejectedItem(input.path, batch, record, TOO_LARGE));
      else rows.accept(record.number, laid.id, laid.company, size);
    }
    return rows.finish([...fields.values()]);
  };
}
