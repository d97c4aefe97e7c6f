/** A wait for stdin lasts until it ends, or is ended. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { beforeAll, describe, expect, it } from 'vitest';
import { built } from '../support/child.js';
import { cli, scratch } from '../support/cli.js';

const TOKEN = 'key-7f3b91c2d4e8a6054';

it('a token that arrives late is accepted', async () => {
  const stdin = new PassThrough();
  const cwd = scratch();
  setTimeout(() => stdin.end(`${TOKEN}\n`), 50);
  expect((await cli(['config', 'set', 'token'], { cwd, stdin })).code).toBe(0);
  expect(readFileSync(join(cwd, '.config/profiles/config.json'), 'utf8')).toContain(TOKEN);
});

describe('Ctrl-C while waiting for stdin', () => {
  beforeAll(built);

  it.runIf(process.platform === 'linux')('ends the process', async () => {
    const cwd = scratch();
    const bin = join(import.meta.dirname, '../../bin/profiles.js');
    const child = spawn(process.execPath, [bin, 'config', 'set', 'token'], { cwd, env: { HOME: cwd } });
    const ended = once(child, 'close');
    await catchesSignals(child.pid!);
    child.kill('SIGINT');
    expect((await ended)[0]).toBe(130);
  });
});

/** Resolves once the process has its handlers (Node itself has one for SIGINT, and none for SIGHUP). */
async function catchesSignals(pid: number): Promise<void> {
  const catchesHup = (): boolean => {
    const mask = /^SigCgt:\s*([0-9a-f]+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0';
    return (BigInt(`0x${mask}`) & 1n) === 1n;
  };
  await expect.poll(catchesHup).toBe(true);
}
