/** Workbooks whose rows are kept between the plan and the sending, as programs import them: what arrives, and what stays open. */
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type ImportRequest, type ImportResult, runImport } from '../../../src/engine/index.js';
import type { Sandbox } from '../../../src/sandbox/index.js';
import { scratch } from '../../support/cli.js';
import { requestTo, test } from '../../support/sandbox.js';
import { workbook } from '../../support/workbook.js';

const ROWS = 1500;
type Row = [id: string, note: string, ...rest: string[]];

/** Rows that take more than 1 MiB when packed, some of which have empty cells. */
const rowsOf = (kind: string): Row[] =>
  Array.from({ length: ROWS }, (_, n) => [
    `${kind}-${n}`,
    n % 7 === 0 ? '' : `${randomBytes(900).toString('hex')}ä`,
  ]);

function book(path: string, head: string[], rows: readonly Row[]): string {
  writeFileSync(path, workbook([head, ...rows]));
  expect(statSync(path).size).toBeGreaterThan(1024 * 1024); // smaller ones are not kept
  return path;
}

/** Files without a name that this process has open below a folder. */
const openedBelow = (folder: string): string[] =>
  readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.startsWith(folder) && path.endsWith('rows (deleted)') ? path : [];
    } catch {
      return []; // closed by now
    }
  });

const requestOf = (sandbox: Sandbox, cwd: string, over: Partial<ImportRequest>) =>
  requestTo(sandbox, { files: ['companies.xlsx'], cwd, ...over });

/** Holds what a service has of these rows against them. */
async function allArrived(
  sandbox: Sandbox,
  kind: 'companies' | 'users',
  rows: readonly Row[],
): Promise<void> {
  const listed = (await sandbox.list(kind)).rows;
  const held = new Map(listed.map(({ id, metadata }) => [id, JSON.parse(metadata)]));
  expect(rows.map(([id]) => [id, held.get(id)])).toEqual(
    rows.map(([id, note]) => [id, note === '' ? {} : { note }]),
  );
}

test.for([0, 1, 2])(
  'two workbooks with %i threads: all rows arrive, and nothing stays',
  async (threads, { sandbox }) => {
    const cwd = scratch();
    const [companies, users] = [rowsOf('c'), rowsOf('u')];
    book(join(cwd, 'companies.xlsx'), ['company_id', 'note'], companies);
    book(join(cwd, 'users.xlsx'), ['user_id', 'note'], users);
    const files = ['users.xlsx', 'companies.xlsx'];
    const events = runImport(requestOf(sandbox, cwd, { files, threads, changedOnly: true, chunkSize: 400 }));
    const open: Record<string, number> = {};
    for await (const { type } of events) open[type] = openedBelow(cwd).length;
    expect(open).toMatchObject({ plan: 1, summary: 0 });
    const { summary, failure } = await events.result();
    expect([failure, summary.rows.completed]).toEqual([null, 2 * ROWS]);
    await allArrived(sandbox, 'companies', companies);
    await allArrived(sandbox, 'users', users);
    expect(existsSync(join(cwd, '.state', 'spool')) ? readdirSync(join(cwd, '.state', 'spool')) : []).toEqual(
      [],
    );
  },
);

test('two imports at once in one process do not read the rows of each other', async ({ sandbox }) => {
  const both = ['a', 'b'].map((name) => ({ name, cwd: scratch(), rows: rowsOf(name) }));
  const runs: Promise<ImportResult>[] = both.map(({ name, cwd, rows }) => {
    book(join(cwd, 'companies.xlsx'), ['company_id', 'note'], rows);
    const service = { ...requestOf(sandbox, cwd, {}).service, account: name };
    return runImport(requestOf(sandbox, cwd, { service, threads: 1, chunkSize: 100 })).result();
  });
  for (const { failure } of await Promise.all(runs)) expect(failure).toBe(null);
  for (const { rows } of both) await allArrived(sandbox, 'companies', rows);
});
