// What one writes by hand: the bulk helper of Elasticsearch's own client over a stream of csv-parse. Runs in the folder that it is installed in.
//   node peers-elastic.mjs <file> <url>
import { createReadStream } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(join(process.cwd(), 'package.json'));
const { Client } = require('@elastic/elasticsearch');
const { parse } = require('csv-parse');

const [file, node] = process.argv.slice(2);
const client = new Client({ node });
const { failed } = await client.helpers.bulk({
  datasource: createReadStream(file).pipe(parse({ columns: true })),
  onDocument: ({ company_id }) => ({ index: { _index: 'companies', _id: company_id } }),
  // About 1,000 rows, as the others send.
  flushBytes: 380_000,
  concurrency: 8,
  refreshOnCompletion: false,
});
await client.close();
process.exitCode = failed > 0 ? 1 : 0;
