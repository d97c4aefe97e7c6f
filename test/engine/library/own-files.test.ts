/** Files that an import of a program reads or writes: the outcomes of rows replace none of them. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { runImport } from '../../../src/engine/index.js';
import { scratch } from '../../support/cli.js';
import { test } from '../../support/sandbox.js';

test.for(['map.json', 'companies.rejects.csv'])(
  'outcomes in %s are refused before anything is sent',
  async (outcomes, { sandbox }) => {
    const cwd = scratch();
    writeFileSync(join(cwd, 'companies.csv'), 'company_id,name\nc1,Ada\n');
    writeFileSync(join(cwd, 'map.json'), '{"kind": "companies"}');
    const service = { baseUrl: sandbox.url, lookupBaseUrl: sandbox.lookupUrl, token: sandbox.token };
    const request = { files: ['companies.csv'], mapping: 'map.json', cwd, service, stateDir: '.state' };
    await expect(runImport({ ...request, outcomes }).result()).rejects.toMatchObject({
      problem: { code: 'outcomes_file' },
    });
    expect(sandbox.ledger()).toEqual([]);
    expect(readFileSync(join(cwd, 'map.json'), 'utf8')).toBe('{"kind": "companies"}');
  },
);
