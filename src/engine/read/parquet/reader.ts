/** Reads Parquet. Cells are JSON, which keeps their types. The libraries are loaded with the first file. */
import { InputError } from '../../errors.js';
import type { Warning } from '../../problems.js';
import type { InputFormat } from '../format.js';
import { emptyFieldStats, type FieldPart, JsonTotals } from '../json/fields.js';
import { type Identity, identify } from '../mapping/identity.js';
import { targeting } from '../mapping/targets.js';
import type { SourceFile } from '../text/source.js';
import type { ParquetColumn } from './file.js';
import { itemTexts, ParquetCounter, ParquetWriter } from './writer.js';

export const parquetFormat: InputFormat<ParquetWriter> = {
  extensions: { parquet: 'parquet', pq: 'parquet' },
  sniff: (start) => /^PAR[1E]/.test(start.toString('latin1')),
  async open(file, options) {
    const found = await columnsOf(file);
    const columns = namesOf(found);
    const identity = identify(columns, options);
    const form = { delimiter: null, targets: [], warnings: roundedIds(found, identity) };
    return { ...file, ...form, columns, ...identity };
  },
  async *rows(input, { bytes, signal }) {
    for await (const _ of bytes);
    yield* (await import('./rows.js')).parquetRows(input, signal);
  },
  writer: (input) => new ParquetWriter(input),
  counter: (input, writer) => new ParquetCounter(input, writer),
  originals: (input) => (batch) => itemTexts(batch, input).map((item) => ({ item })),
  totals(input) {
    const totals = new JsonTotals('row');
    const targetOf = targeting(input);
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

/** @throws InputError for a damaged file, and for two columns with the same name */
async function columnsOf(file: SourceFile & { maxColumns: number }): Promise<ParquetColumn[]> {
  const found = await (await import('./rows.js')).parquetColumns(file);
  const columns = namesOf(found);
  const seen = new Set<string>();
  const twice = columns.find((column) => seen.size === seen.add(column).size);
  if (twice === undefined) return found;
  throw new InputError(`two columns are both called "${twice}"`, {
    file: file.path,
    hint: 'rename or remove one of them',
  });
}

const namesOf = (columns: readonly ParquetColumn[]): string[] => columns.map(({ name }) => name);

/** Warns about identifiers that became floating-point numbers, such as integers beside empty cells in pandas. */
function roundedIds(columns: readonly ParquetColumn[], { idColumn, companyIdColumn }: Identity): Warning[] {
  const identifiers = columns.filter(({ name }) => name === idColumn || name === companyIdColumn);
  return identifiers.flatMap(({ name, rounded }) => {
    const number = rounded();
    if (number === null) return [];
    const message = `${name}: the file has floating-point numbers there, such as ${number}, which are rounded: several identifiers may have become one; export the column as integers or text`;
    return [{ message }];
  });
}
