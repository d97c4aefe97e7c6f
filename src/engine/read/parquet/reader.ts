/** Reads Parquet. Rows become JSON items, which keeps the types of their values. The libraries are loaded with the first file. */
import { InputError } from '../../errors.js';
import type { InputFormat } from '../format.js';
import { emptyFieldStats, FieldCounter, type FieldPart, JsonTotals } from '../json/fields.js';
import { identify } from '../mapping/identity.js';
import { targeting } from '../mapping/targets.js';
import { ParquetWriter } from './writer.js';

export const parquetFormat: InputFormat<ParquetWriter> = {
  extensions: { parquet: 'parquet', pq: 'parquet' },
  sniff: (start) => /^PAR[1E]/.test(start.toString('latin1')),
  async open(file, options) {
    const { openParquet } = await import('./rows.js');
    const { columns: found, close } = await openParquet(file);
    await close();
    const columns = found.map(({ name }) => name);
    const twice = columns.find((column, at) => columns.indexOf(column) < at);
    if (twice !== undefined) {
      const hint = 'rename or remove one of them';
      throw new InputError(`two columns are both called "${twice}"`, { file: file.path, hint });
    }
    const identity = identify(columns, options);
    const ids = [identity.idColumn, identity.companyIdColumn];
    // Such as integers beside empty cells in pandas.
    const warnings = found.flatMap((column) => {
      const number = ids.includes(column.name) ? column.rounded : null;
      if (number === null) return [];
      const message = `${column.name}: the file has floating-point numbers there, such as ${number}, which are rounded: several identifiers may have become one; export the column as integers or text`;
      return [{ message }];
    });
    return { ...file, delimiter: null, targets: [], warnings, columns, ...identity };
  },
  async *rows(input, { bytes, signal }) {
    for await (const _ of bytes);
    yield* (await import('./rows.js')).parquetRows(input, signal);
  },
  writer: (input) => new ParquetWriter(input),
  counter: (_, writer) => new FieldCounter(writer.values),
  totals(input) {
    const totals = new JsonTotals('row');
    const targetOf = targeting(input, true);
    // A column of nulls may be in no item, but belongs in the plan.
    totals.add(
      input.columns.map(
        (column): FieldPart => ({ ...targetOf(column), stats: emptyFieldStats(), currencies: null }),
      ),
    );
    return totals;
  },
  placeOf: () => 'row',
};
