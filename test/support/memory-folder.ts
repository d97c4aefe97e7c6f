/**
 * Gives the tests folders in memory, where the machine has room for it, and removes them in the end. Every commit of a
 * state database waits for the disk: on a busy one the suite would do little else. Nothing that is tested could tell,
 * since a process that is killed leaves its files whole in either place.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
/** What the suite leaves behind until its end, about 90 MB, several times over. */
const ROOM_BYTES = 1024 ** 3;

/** For vitest's `globalSetup`. Who sets TMPDIR decides. */
export default function setup(): (() => void) | undefined {
  if (process.env.TMPDIR || !hasRoom()) return undefined;
  const folder = mkdtempSync(join(MEMORY, 'profiles-'));
  const teardown = (): void => rmSync(folder, { recursive: true, force: true });
  if (!executes(folder)) {
    teardown();
    return undefined;
  }
  // One test runs as another user.
  chmodSync(folder, 0o755);
  process.env.TMPDIR = folder;
  return teardown;
}

function hasRoom(): boolean {
  if (!existsSync(MEMORY)) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize > ROOM_BYTES;
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
