/** Reads Parquet. Rows become JSON objects, which keep their types. The libraries are loaded with the first file. */
import { InputError } from '../../errors.js';
import type { BinaryReader } from '../format.js';
import { jsonReader } from '../json/reader.js';
import { emptyFieldStats, type FieldPart, JsonTotals, placeOf } from '../json/totals.js';
import { identify } from '../mapping/id-column.js';
import { targeting } from '../mapping/targets.js';
import type { SourceFile } from '../text/source.js';

const { scan, build, original, item } = jsonReader;

export const parquetReader: BinaryReader = {
  scan,
  build,
  original,
  item,
  extensions: { parquet: 'parquet', pq: 'parquet' },
  recognize: (start) => /^PAR[1E]/.test(start.toString('latin1')),
  async open(file, options) {
    const columns = await columnsOf(file);
    return { ...file, delimiter: null, body: null, targets: [], columns, ...identify(columns, options) };
  },
  columns: columnsOf,
  slow: true,
  async *records(input, signal) {
    yield* (await import('./records.js')).parquetRows(input, signal);
  },
  totals(input) {
    const totals = new JsonTotals(input);
    const targetOf = targeting(input);
    // A column of nulls may be in no item, but belongs in the plan.
    totals.add(
      input.columns.map(
        (column): FieldPart => ({ ...targetOf(column), stats: emptyFieldStats(), currencies: null }),
      ),
    );
    return totals;
  },
  placeOf,
};

/** @throws InputError for a damaged file, and for two columns with the same name */
async function columnsOf(file: SourceFile): Promise<string[]> {
  const columns = await (await import('./records.js')).parquetColumns(file);
  const twice = columns.find((column, index) => columns.indexOf(column) !== index);
  if (twice === undefined) return columns;
  throw new InputError(`two columns are both called "${twice}"`, {
    file: file.path,
    hint: 'rename or remove one of them',
  });
}
