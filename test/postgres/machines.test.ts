/** What docs/machines.md says to type as an administrator, and that an import needs no more than that. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli } from '../support/cli.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { hasPostgres } from './support.js';

const page = readFileSync(resolve(import.meta.dirname, '../../docs/machines.md'), 'utf8');
const [forOwner, forLoader] = [...page.matchAll(/```sql\n(.*?)```/gs)].map(([, sql]) => sql!);
const FILE = resolve(import.meta.dirname, '../../fixtures/companies.csv');

describe.runIf(hasPostgres)('roles with the rights that the documentation lists', () => {
  let server: TestPostgres;
  beforeAll(async () => {
    server = await startPostgres();
    server.sql('CREATE DATABASE crm; REVOKE ALL ON DATABASE crm FROM PUBLIC');
    server.sql(forOwner!, 'crm');
  });
  afterAll(() => server?.remove());

  const as = (user: string, password: string) => {
    const url = server.url('profiles', { user, password }).replace('/postgres?', '/crm?');
    return (...argv: string[]) => cli(argv, { env: { PROFILES_STATE: url } });
  };
  const owner = () => as('profiles', 'a long random password');
  const loader = () => as('loader', 'another long random password');

  test('one that owns its schema makes the tables, and imports', async () => {
    const sent = await owner()('import', FILE, '--region', 'sandbox');
    expect(sent.code, sent.stderr).toBe(0);
  });

  test('one that may not create tables imports, resumes, checks, and unlocks', async () => {
    server.sql(forLoader!, 'crm');
    const again = await loader()('import', FILE, '--region', 'sandbox', '--changed-only', '--json');
    expect(again.code, again.stderr).toBe(0);
    expect(JSON.parse(again.stdout).rows).toMatchObject({ unchanged: 12 });
    const full = await loader()('import', FILE, '--region', 'sandbox', '--full');
    expect(full.code, full.stderr).toBe(0);
    for (const words of [['state', 'info'], ['state', 'check'], ['state', 'unlock'], ['runs']]) {
      const done = await loader()(...words);
      expect(done.code, done.stderr).toBe(0);
    }
    const run = JSON.parse((await loader()('runs', '--json')).stdout)[0].run;
    expect((await loader()('runs', '--forget', run)).code).toBe(0);
  });

  test('but makes no state of its own', async () => {
    const url = server
      .url('another', { user: 'loader', password: 'another long random password' })
      .replace('/postgres?', '/crm?');
    const refused = await cli(['runs'], { env: { PROFILES_STATE: url } });
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('grant loader the rights on schema another'),
    ]);
  });
});
