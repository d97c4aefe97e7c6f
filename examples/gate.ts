/**
 * A gate for CI: exits with 1 when a row would be rejected or a column has changed its type. It contacts no service, needs no
 * token, and keeps no state. Rejected rows are written to `<name>.rejects.csv`.
 *
 *   node gate.js companies.csv
 */
import { planImport } from 'profiles-cli';

/** What the columns of this export have to be. A column that is not named may be anything. */
const EXPECTED = new Map([
  ['zip', 'string'],
  ['employees', 'integer'],
]);

const { plan, summary, valid } = await planImport({ files: process.argv.slice(2) });

for (const { file, line, reason } of summary.rejected) console.log(`${file}:${line}: ${reason}`);

const changed = plan.files.flatMap(({ path, columns }) =>
  columns
    .filter(({ column, type }) => EXPECTED.has(column) && EXPECTED.get(column) !== type)
    .map(({ column, type, reason }) => `${path}: ${column} is ${type}, because of ${reason}`),
);
for (const line of changed) console.log(line);

const { read, rejected } = summary.rows;
console.log(`${read} rows, ${rejected} rejected, ${plan.duplicates} duplicates`);
process.exitCode = valid && changed.length === 0 ? 0 : 1;
