/** Nobody is asked where nobody can answer, and nothing waits for ever for an answer. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { beforeAll, describe, expect, it } from 'vitest';
import { built } from '../support/child.js';
import { cli, scratch } from '../support/cli.js';
import { atTerminal } from './commands/terminal.js';
import { hurried } from './place.js';

const TOKEN = 'key-7f3b91c2d4e8a6054';

describe('--no-input at a terminal', () => {
  it('config init writes what it knows, and names what is missing', async () => {
    const { code, screen } = await atTerminal(['config', 'init', '--region', 'eu', '--no-input'], []);
    expect(code).toBe(0);
    expect(screen).toContain('profiles config set regions.eu.base_url');
    expect(screen).not.toMatch(/: $/m); // no question
  });
  it('config set token names other ways to provide the token', async () => {
    const { code, screen } = await atTerminal(['config', 'set', 'token', '--no-input'], []);
    expect([code, screen]).toEqual([
      2,
      'profiles: token: --no-input turns off the prompt for it\n  to read it from a file:\n    profiles config set token < file\n',
    ]);
  });
});

describe('stdin that stays open without data', () => {
  it.each([
    ['config', 'init', '--region', 'eu'],
    ['config', 'init', '--region', 'eu', '--no-input'],
    ['config', 'set', 'token'],
  ])('%s %s ends by itself', async (...argv) => {
    const clock = {
      ...hurried,
      sleep: (ms: number, signal?: AbortSignal) => hurried.sleep(ms / 100, signal),
    };
    const { code, stderr } = await cli(argv, { stdin: new PassThrough(), clock });
    expect([code, stderr]).toEqual([
      2,
      'profiles: no token after 30s: stdin is still open\n  redirect a file (< token.txt) or nothing (< /dev/null)\n',
    ]);
  });

  it('a token that arrives late is accepted', async () => {
    const stdin = new PassThrough();
    const cwd = scratch();
    setTimeout(() => stdin.end(`${TOKEN}\n`), 50);
    expect((await cli(['config', 'set', 'token'], { cwd, stdin })).code).toBe(0);
    expect(readFileSync(join(cwd, '.config/profiles/config.json'), 'utf8')).toContain(TOKEN);
  });
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
