/** Workbooks whose rows are kept on disk between the plan and the sending: nothing is lost where that is cut short. */
import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { beforeEach, expect, test } from 'vitest';
import { workbook } from '../support/workbook.js';
import { workspace } from '../support/workspace.js';
import { status } from './faults.js';
import { balance, type Companies } from './support.js';

const ROWS = 1000;
const SEND = 'import companies.xlsx --chunk-size 200 -o retries=0';
const ids = Array.from({ length: ROWS }, (_, row) => `c-${row}`);
const bytes = workbook([
  ['company_id', 'note'],
  ...ids.map((id) => [id, randomBytes(1_100).toString('hex')]),
]);
const file: Companies = { path: 'companies.xlsx', ids: new Map(ids.map((id, at) => [at + 2, id])), text: '' };

const { service, machine, run } = workspace({ [file.path]: bytes });
let path: string;
beforeEach(() => {
  path = machine.path(file.path);
  expect(bytes.length).toBeGreaterThan(1024 * 1024); // smaller ones are not kept
});

/** Files in the private folders of runs. */
function spooled(): string[] {
  const folder = machine.path('.state/spool');
  return fs.existsSync(folder) ? fs.readdirSync(folder, { recursive: true, encoding: 'utf8' }) : [];
}

test('an import that stops, and its resume, send each row once and leave no file', async () => {
  service.trouble = { submit: (n) => (n >= 3 ? status(503) : undefined) };
  const first = await run(SEND);
  expect(first.summary!.rows, first.stderr).toMatchObject({ submitted: 400, unknown: 200, unsent: 400 });
  await balance(first.summary!, machine, service, file);
  expect(spooled().filter((name) => name.endsWith('rows'))).toEqual([]);
  service.trouble = {};
  const last = await run('resume');
  expect([last.code, last.summary!.rows.completed], last.stderr).toEqual([0, ROWS]);
  await balance(last.summary!, machine, service, file);
  expect(spooled()).toEqual([]);
});

test('a workbook that is written to meanwhile ends the import', async () => {
  service.during(1, () => fs.appendFileSync(path, 'more'));
  const outcome = await run(SEND);
  expect([outcome.code, outcome.error?.message], outcome.stderr).toEqual([
    2,
    expect.stringMatching(/companies\.xlsx: changed while it was being imported/),
  ]);
  await balance(outcome.summary!, machine, service, file);
});

test('where size and time stay, the rows of the plan are sent', async () => {
  const { atime, mtime } = fs.statSync(path);
  fs.utimesSync(path, atime, mtime); // to the precision that can be set again
  const open = fs.openSync(path, 'r+');
  const zeros = Buffer.alloc(4096);
  service.during(1, () => {
    // The import looks at the file from other threads, so its size stays, and its time is set back at once: writing the
    // whole file would take so long that it may be seen.
    fs.writeSync(open, zeros, 0, zeros.length, bytes.length >> 1);
    fs.futimesSync(open, atime, mtime);
  });
  const outcome = await run(SEND);
  fs.closeSync(open);
  expect([outcome.code, outcome.summary!.rows.completed], outcome.stderr).toEqual([0, ROWS]);
  await balance(outcome.summary!, machine, service, file);
});
