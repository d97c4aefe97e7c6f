/** The CSV half of a public conformance suite (csv-spectrum): cells as its JSON files have them. */
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { NO_RULES } from '../../../../src/engine/read/index.js';
import { read } from '../reading.js';

const folder = dirname(createRequire(import.meta.url).resolve('csv-spectrum/package.json'));
const files = readdirSync(join(folder, 'csvs'));

/** Columns that hold a distinct, non-empty value in every row of their file. */
const IDENTIFIERS: Record<string, string> = {
  'comma_in_quotes.csv': 'first',
  'empty.csv': 'a',
  'empty_crlf.csv': 'a',
  'escaped_quotes.csv': 'a',
  'json.csv': 'key',
  'location_coordinates.csv': 'Contact Phone Number',
  'newlines.csv': 'a',
  'newlines_crlf.csv': 'a',
  'quotes_and_newlines.csv': 'a',
  'simple.csv': 'a',
  'simple_crlf.csv': 'a',
  'utf8.csv': 'a',
};

/** Where the suite's JSON says something else than its CSV: a telephone number that was blanked in one of them. */
const SLIPS: Record<string, object> = {
  'location_coordinates.csv': { 'Contact Phone Number': '2095257564' },
};

it('has the files that are known here', () => {
  expect(files.sort()).toEqual(Object.keys(IDENTIFIERS).sort());
});

describe.each(Object.entries(IDENTIFIERS))('%s', (name, id) => {
  it('is read as the suite says', async () => {
    const expected = JSON.parse(readFileSync(join(folder, 'json', name.replace('.csv', '.json')), 'utf8'));
    const { items, reasons } = await read(join(folder, 'csvs', name), {
      kind: 'companies',
      id,
      rules: { ...NO_RULES, infer: false, empty: 'string' },
    });
    expect(reasons).toEqual([]);
    const rows = (items as { company_id: string; metadata?: object }[]).map(({ company_id, metadata }) => ({
      [id]: company_id,
      ...metadata,
    }));
    expect(rows).toEqual([expected].flat().map((row) => ({ ...row, ...SLIPS[name] })));
  });
});
