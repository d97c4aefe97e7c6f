/**
 * Runs the built command so that it stops itself (SIGSTOP) at a point between two requests where time may
 * pass (`stop-at-await.mjs`).
 */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect } from 'vitest';
import { BIN, type Child, node } from './child.js';

const HOOK = resolve(import.meta.dirname, '../loss/stop-at-await.mjs');
/** One of this many points is tried; all of them with `PAUSES=all`. */
const STEP = 20;

/** The points to try out of `count`, from 1. */
export function pointsOf(count: number): number[] {
  const step = process.env.PAUSES === 'all' ? 1 : STEP;
  return Array.from({ length: Math.ceil(count / step) }, (_, index) => 1 + index * step);
}

export const canStandStill = process.platform === 'linux';

/** @param nth it stops between this request and the next one @param point number of the point, from 1 */
export function standingStill(
  argv: readonly string[],
  { nth, point }: { nth: number; point: number },
  { cwd, env }: { cwd: string; env: Record<string, string> },
): Child & {
  /** Resolves when it has stopped, or has ended. */
  settled(): Promise<'still' | 'ended'>;
  /** The number of points, after it has ended. */
  points(): number;
} {
  const count = join(cwd, 'points');
  const child = node(['--import', HOOK, BIN, ...argv], {
    cwd,
    env: { ...env, STOP_AT: `${nth}:${point}`, STOP_COUNT: count },
  });
  const { process } = child;
  const isStill = (): boolean => /^\d+ \(.*\) T/.test(readFileSync(`/proc/${process.pid}/stat`, 'utf8'));
  const hasEnded = (): boolean => process.exitCode !== null;
  return {
    ...child,
    async settled() {
      await expect.poll(() => hasEnded() || isStill(), { timeout: 60_000 }).toBe(true);
      return hasEnded() ? 'ended' : 'still';
    },
    points: () => Number(readFileSync(count, 'utf8')),
  };
}
