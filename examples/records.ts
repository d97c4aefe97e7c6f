/**
 * Imports what a program has at hand, such as the rows of a query, without a file in between.
 *
 *   SERVICE_URL=https://… SERVICE_TOKEN=… node records.js
 */
import { runImport } from 'profiles-cli';

const { SERVICE_URL = '', SERVICE_TOKEN = '', STATE_DIR = '.profiles-state' } = process.env;

/** A page of accounts, as a database or another API gives them. */
async function pageOf(number: number): Promise<{ id: number; name: string; seats: bigint; since: Date }[]> {
  const first = number * 100;
  return Array.from({ length: number < 3 ? 100 : 0 }, (_, i) => ({
    id: first + i,
    name: `Account ${first + i}`,
    seats: BigInt(i),
    since: new Date(Date.UTC(2024, 0, 1 + i)),
  }));
}

/** Pages are asked for as they are needed. Identifiers are text. */
async function* accounts(): AsyncGenerator<object> {
  for (let page = 0; ; page++) {
    const rows = await pageOf(page);
    if (rows.length === 0) return;
    for (const { id, ...metadata } of rows) yield { company_id: String(id), metadata };
  }
}

const { summary, exit, failure } = await runImport({
  records: accounts(),
  kind: 'companies',
  service: { baseUrl: SERVICE_URL, token: SERVICE_TOKEN },
  stateDir: STATE_DIR,
  changedOnly: true,
}).result();

const { read, submitted, unchanged } = summary.rows;
console.log(`${summary.status}: ${read} read, ${submitted} sent, ${unchanged} unchanged`);
if (failure instanceof Error) console.error(failure.message);
process.exitCode = exit;
