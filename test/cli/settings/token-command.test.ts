/** `token_command` when it is stopped. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { resolveSettings } from '../../../src/cli/settings/index.js';
import { requireToken } from '../../../src/cli/settings/token.js';
import { systemClock } from '../../../src/engine/util/clock.js';
import { scratch } from '../../support/cli.js';

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

it('Ctrl-C ends it, and is heard before it begins', async () => {
  const stop = new AbortController();
  const cwd = scratch();
  const token_command = ['sh', '-c', `echo $$ > ${join(cwd, 'pid')}; exec sleep 45`];
  writeFileSync(join(cwd, 'config.json'), JSON.stringify({ token_command }), { mode: 0o600 });
  const world = {
    env: { HOME: cwd },
    platform: process.platform,
    cwd,
    clock: systemClock,
    stop: stop.signal,
  };
  const settings = await resolveSettings(world, { config: 'config.json' });
  const pid = (): number =>
    existsSync(join(cwd, 'pid')) ? Number(readFileSync(join(cwd, 'pid'), 'utf8')) : 0;
  const stopped = expect(requireToken(settings, world)).rejects.toMatchObject({ exit: 130 });
  await expect.poll(pid).toBeGreaterThan(0);
  stop.abort('SIGINT');
  await stopped;
  await expect.poll(() => isAlive(pid())).toBe(false);
  await expect(requireToken(settings, world)).rejects.toMatchObject({ exit: 130 });
});
