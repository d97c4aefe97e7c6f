/** Workbooks whose rows are kept on disk between the plan and the sending: nothing is lost where that is cut short. */
import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  closeSync,
  existsSync,
  futimesSync,
  openSync,
  readdirSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FaultServer } from '../support/fault-server.js';
import { workbook } from '../support/workbook.js';
import { status } from './faults.js';
import { balance, type Companies, Machine } from './support.js';

const ROWS = 3000;
const SEND = ['import', 'companies.xlsx', '--chunk-size', '500', '-o', 'retries=0'];
const ids = Array.from({ length: ROWS }, (_, row) => `c-${row}`);
const bytes = workbook([['company_id', 'note'], ...ids.map((id) => [id, randomBytes(350).toString('hex')])]);
const file: Companies = { path: 'companies.xlsx', ids: new Map(ids.map((id, at) => [at + 2, id])), text: '' };

let service: FaultServer;
let machine: Machine;
let path: string;
beforeEach(async () => {
  service = await new FaultServer().start();
  machine = new Machine(service.url);
  path = join(machine.folder, file.path);
  writeFileSync(path, bytes);
  expect(statSync(path).size).toBeGreaterThan(1024 * 1024); // smaller ones are not kept
});
afterEach(() => service.stop());

/** Files in the private folders of runs. */
function spooled(): string[] {
  const folder = join(machine.folder, '.state', 'spool');
  return existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : [];
}

test('an import that stops, and its resume, send each row once and leave no file', async () => {
  service.trouble = { submit: (n) => (n >= 3 ? status(503) : undefined) };
  const first = await machine.run(SEND);
  expect(first.summary!.rows, first.stderr).toMatchObject({ submitted: 1000, unknown: 500, unsent: 1500 });
  await balance(first.summary!, machine, service, file);
  expect(spooled().filter((name) => name.endsWith('rows'))).toEqual([]);
  service.trouble = {};
  const last = await machine.run(['resume']);
  expect([last.code, last.summary!.rows.completed], last.stderr).toEqual([0, ROWS]);
  await balance(last.summary!, machine, service, file);
  expect(spooled()).toEqual([]);
});

test('a workbook that is written to meanwhile ends the import', async () => {
  service.during(1, () => appendFileSync(path, 'more'));
  const outcome = await machine.run(SEND);
  expect([outcome.code, outcome.error?.message], outcome.stderr).toEqual([
    2,
    expect.stringMatching(/companies\.xlsx: changed while it was being imported/),
  ]);
  await balance(outcome.summary!, machine, service, file);
});

test('where size and time stay, the rows of the plan are sent', async () => {
  const { atime, mtime } = statSync(path);
  utimesSync(path, atime, mtime); // to the precision that can be set again
  const open = openSync(path, 'r+');
  const zeros = Buffer.alloc(bytes.length);
  service.during(1, () => {
    // The import looks at the file from other threads, so its size stays, and its time is set back at once.
    writeSync(open, zeros);
    futimesSync(open, atime, mtime);
  });
  const outcome = await machine.run(SEND);
  closeSync(open);
  expect([outcome.code, outcome.summary!.rows.completed], outcome.stderr).toEqual([0, ROWS]);
  await balance(outcome.summary!, machine, service, file);
});
