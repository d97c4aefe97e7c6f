/** The published schema of what `--json` prints. */
import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'vitest';
import { cli, scratch } from '../../support/cli.js';
import { environmentOf, test } from '../../support/sandbox.js';

const schema = JSON.parse(readFileSync('schemas/import.schema.json', 'utf8')) as {
  properties: Record<string, unknown>;
};
const validate = new Ajv2020({ strict: false, allErrors: true }).compile(schema);

test.for([
  ['completed', 'good.csv'],
  ['planned', 'good.csv --dry-run'],
  ['submitted', 'good.csv --no-wait'],
  ['rejected', 'bad.csv'],
  ['partial', 'bad.csv --skip-invalid'],
  ['held', 'good.csv --changed-only --max-changed 0'],
] as const)('a document with the status %s is as the schema says', async ([status, line], { sandbox }) => {
  const cwd = scratch({ 'good.csv': 'company_id,name\n1,A\n', 'bad.csv': 'company_id,name\n1,A\n,B\n' });
  const words = ['import', ...line.split(' '), '--json', '-o', 'interval=1ms'];
  const { stdout } = await cli(words, { cwd, env: environmentOf(sandbox) });
  const document = JSON.parse(stdout) as Record<string, unknown>;
  expect(document).toMatchObject({ version: 1, status });
  expect(validate(document), JSON.stringify(validate.errors)).toBe(true);
  // Every member is described.
  expect(Object.keys(document).filter((name) => !(name in schema.properties))).toEqual([]);
});
