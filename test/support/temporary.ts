/**
 * Makes the folder for all temporary files of a test run. Workers, and processes that tests start with their
 * environment, inherit it. It is deleted when the run ends, even if tests fail. A folder that a killed run
 * left is deleted by the first run after a day.
 *
 * It is in memory if the machine has enough. Every commit of a state database waits for the disk, and a busy
 * disk would slow the tests down. No test depends on the difference, because a killed process leaves complete
 * files in both places.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

const NAME = 'profiles-tests-';
const STALE_MS = 24 * 3_600_000;
const MEMORY = '/dev/shm';
/** Required free space: the tests leave about 90 MB until their end. This is several times as much. */
const ROOM_BYTES = 1024 ** 3;

/** The globalSetup of vitest. If TMPDIR is set, it decides. @returns the teardown */
export default function setup(): () => void {
  // Another project of this run has made it.
  if (basename(process.env.TMPDIR ?? '').startsWith(NAME)) return () => {};
  const folder = (process.env.TMPDIR ? null : inMemory()) ?? madeIn(tmpdir());
  // Some tests run the command as another user.
  chmodSync(folder, 0o711);
  for (const variable of ['TMPDIR', 'TEMP', 'TMP']) process.env[variable] = folder;
  return () => remove(folder);
}

function inMemory(): string | null {
  if (!existsSync(MEMORY)) return null;
  const { bavail, bsize } = statfsSync(MEMORY);
  if (bavail * bsize <= ROOM_BYTES) return null;
  const folder = madeIn(MEMORY);
  if (executes(folder)) return folder;
  remove(folder);
  return null;
}

function madeIn(above: string): string {
  for (const name of readdirSync(above).filter((entry) => entry.startsWith(NAME))) {
    const path = join(above, name);
    const made = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - made > STALE_MS) remove(path);
  }
  return mkdtempSync(join(above, NAME));
}

/** Whether programs in a folder can be run: tests write some, and containers often forbid it in memory. */
function executes(folder: string): boolean {
  const program = join(folder, 'program');
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
  try {
    execFileSync(program);
    return true;
  } catch {
    return false;
  }
}

/** Retries, because a process that a test has just ended may still write. */
const remove = (path: string): void => rmSync(path, { recursive: true, force: true, maxRetries: 5 });
