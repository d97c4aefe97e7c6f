/** The published schemas are those that files are checked by (npm run reference writes them). */
import { expect, it } from 'vitest';
import * as z from 'zod';
import { fileSchema } from '../src/cli/settings/schema.js';
import { planSchema } from '../src/engine/plan/plan-schema.js';
import { mappingSchema } from '../src/engine/read/mapping/mapping-file.js';

it.each([
  ['config', 'Config file of profiles', fileSchema],
  ['mapping', 'Mapping file of an import', mappingSchema],
  ['plan', 'Saved plan of an import', planSchema],
])('%s', async (name, title, checks) => {
  const { $schema, ...schema } = z.toJSONSchema(checks);
  const text = JSON.stringify({ $schema, title, ...schema }, null, 2);
  await expect(`${text}\n`).toMatchFileSnapshot(`../schemas/${name}.schema.json`);
});
