/**
 * The folder in which a run of tests makes all that is temporary: workers and the processes that tests start with
 * their environment inherit it. It goes when the run ends, whatever failed in it; one that a killed run left behind
 * goes with the first run a day later.
 *
 * It lies in memory, where the machine has room for it. Every commit of a state database waits for the disk: on a
 * busy one the suite would do little else. Nothing that is tested could tell, since a process that is killed leaves
 * its files whole in either place.
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
import { join } from 'node:path';

const NAME = 'profiles-tests-';
const STALE_MS = 24 * 3_600_000;
const MEMORY = '/dev/shm';
/** What the suite leaves behind until its end, about 90 MB, several times over. */
const ROOM_BYTES = 1024 ** 3;

/** vitest's globalSetup. Who sets TMPDIR decides. @returns its teardown */
export default function setup(): () => void {
  const folder = (process.env.TMPDIR ? null : inMemory()) ?? madeIn(tmpdir());
  // A test runs the command as another user.
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

/** Containers often forbid programs there; tests write some. */
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

/** A process that a test has just ended may still be writing. */
const remove = (path: string): void => rmSync(path, { recursive: true, force: true, maxRetries: 5 });
