/** What SQLite does not say about a database that it cannot open. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { openState } from '../../../src/engine/state/state.js';
import { sqliteTrouble, useWriteAheadLog } from '../../../src/engine/util/sqlite.js';
import { scratch } from '../../support/cli.js';

function open(file: string): void {
  const db = new DatabaseSync(file);
  try {
    useWriteAheadLog(db, 0);
    db.exec('CREATE TABLE IF NOT EXISTS words (word TEXT); INSERT INTO words VALUES (1)');
  } finally {
    db.close();
  }
}

function failure(work: () => void): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('it did not fail');
}

/** A file system of its own, which only root can make. */
function smallDisk(skip: (why: string) => void): {
  folder: string;
  file: string;
  mount(options: string): void;
} {
  const folder = join(scratch(), 'disk');
  mkdirSync(folder);
  const mount = (options: string): void => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder], { stdio: 'pipe' });
  };
  try {
    mount('size=400k,mode=700');
  } catch (error) {
    skip(`no file system can be mounted here: ${error}`);
  }
  onTestFinished(() => void execFileSync('umount', [folder]));
  const file = join(folder, 'state.db');
  writeFileSync(file, '', { mode: 0o600 });
  return { folder, file, mount };
}

test('a reason that SQLite gives stays as it is', () => {
  const file = join(scratch(), 'a.db');
  writeFileSync(file, 'not a database, though it is as long as the header of one would be'.repeat(20));
  expect(
    sqliteTrouble(
      failure(() => open(file)),
      file,
    ),
  ).toBe('file is not a database');
});

test('a file that is there, and is no file, has no reason but that of SQLite', () => {
  const file = join(scratch(), 'a.db');
  mkdirSync(file);
  expect(
    sqliteTrouble(
      failure(() => open(file)),
      file,
    ),
  ).toMatch(/unable to open database file$/);
});

test.runIf(process.getuid?.() === 0)('on a read-only file system it says so', async ({ skip }) => {
  const { folder, file, mount } = smallDisk(skip);
  open(file);
  mount('remount,ro');
  const error = failure(() => open(file));
  expect(sqliteTrouble(error, file)).toBe(`the file system is read-only (${folder})`);
  expect(sqliteTrouble(error, folder)).toBe('the file system is read-only');
  await expect(openState(folder, Date.now)).rejects.toMatchObject({
    message: `cannot open the state database in ${file}: the file system is read-only (${folder})`,
    problem: { code: 'state_folder', reason: 'read_only' },
  });
});

test.runIf(process.getuid?.() === 0)('without room for its log the disk is full', async ({ skip }) => {
  const { folder, file } = smallDisk(skip);
  open(file);
  expect(() => writeFileSync(join(folder, 'ballast'), Buffer.alloc(1 << 20))).toThrow('ENOSPC');
  await expect(openState(folder, Date.now)).rejects.toMatchObject({
    message: `cannot open the state database in ${file}: the disk is full`,
    hint: 'free some disk space, then resume',
  });
});
