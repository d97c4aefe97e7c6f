/** `token_command`: real programs, run as a config file names them. */
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { resolveSettings } from '../../../src/cli/settings/index.js';
import { requireToken } from '../../../src/cli/settings/token.js';
import { systemClock } from '../../../src/engine/util/clock.js';
import { startSandbox } from '../../../src/sandbox/index.js';
import { cli, scratch } from '../../support/cli.js';
import { home } from './world.js';

const TOKEN = 'key-7f3b91c2d4e8a6054';
const node = (script: string, ...args: string[]): string[] => [process.execPath, '-e', script, ...args];

/** Asks for the token of a file that names this program. */
async function ask(words: string[], { late = false, stop = new AbortController().signal } = {}) {
  const { world } = home({ file: { token_command: words } });
  const settings = await resolveSettings(world, {});
  // Its patience is over at once; what it waits for after an exit is not.
  const clock = late
    ? {
        ...systemClock,
        sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms > 1_000 ? 20 : ms, signal),
      }
    : systemClock;
  return requireToken(settings, { env: process.env, platform: process.platform, clock, stop });
}

describe('the first line of its output is the token', () => {
  it.each([
    ['with a line end', `console.log('${TOKEN}')`],
    ['without one', `process.stdout.write('${TOKEN}')`],
    ['of Windows, with more lines below', `process.stdout.write('${TOKEN}\\r\\nlogin: me\\r\\n')`],
    ['with white space around it', `console.log('  ${TOKEN}\\t')`],
    ['beside much on stderr', `process.stderr.write('x'.repeat(1e6)); console.log('${TOKEN}')`],
  ])('%s', async (_, script) => {
    expect((await ask(node(script))).reveal()).toBe(TOKEN);
  });

  it('arguments are passed unchanged, without a shell', async () => {
    const hostile = ['$(id)', '"; rm -rf x', '%PATH%', '`id`', "it's", 'a b', '*', ''];
    const script = `process.exit(JSON.stringify(process.argv.slice(1)) === process.env.EXPECTED ? (console.log('${TOKEN}'), 0) : 1)`;
    const { world } = home({ file: { token_command: node(script, ...hostile) } });
    const env = { ...process.env, EXPECTED: JSON.stringify(hostile) };
    const token = await requireToken(await resolveSettings(world, {}), {
      env,
      platform: process.platform,
      clock: systemClock,
      stop: new AbortController().signal,
    });
    expect(token.reveal()).toBe(TOKEN);
  });

  it.skipIf(process.platform === 'win32')('a relative path starts from the config file', async () => {
    const { world, path } = home({ file: { token_command: ['./print-token'] } });
    const script = join(path, '..', 'print-token');
    writeFileSync(script, `#!/bin/sh\necho ${TOKEN}\n`);
    chmodSync(script, 0o700);
    const settings = await resolveSettings({ ...world, cwd: scratch() }, { config: path });
    const token = await requireToken(settings, {
      env: process.env,
      platform: process.platform,
      clock: systemClock,
      stop: new AbortController().signal,
    });
    expect(token.reveal()).toBe(TOKEN);
  });

  it.skipIf(process.platform === 'win32')('processes that it leaves running are not waited for', async () => {
    // Longer than a test may take.
    expect((await ask(['sh', '-c', `sleep 45 & echo ${TOKEN}`])).reveal()).toBe(TOKEN);
  });
});

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe('errors are named without any of its output', () => {
  it.each([
    ['it is not there', ['no-such-program-zq7'], /no-such-program-zq7 was not found$/],
    ['it is below a file', [join(import.meta.filename, 'x')], /token-command\.test\.ts.x was not found$/],
    ['its name is too long', ['x'.repeat(5_000)], /x cannot be started \(ENAMETOOLONG\)$/],
    ['it fails', node(`console.log('${TOKEN}'); process.exit(3)`), /ended with exit code 3$/],
    ['it prints nothing', node(''), /printed no token: the first line of its output is empty$/],
    ['its first line is empty', node(`console.log('\\n${TOKEN}')`), /printed no token/],
    ['its first line is two words', node(`console.log('Token ${TOKEN}')`), /contains white space$/],
    [
      'it prints without end',
      node(`setInterval(() => console.log('${TOKEN}'.repeat(999)), 1)`),
      /printed more than a token/,
    ],
    ['it prints 100 kB', node("console.log('x'.repeat(1e5))"), /printed more than a token/],
  ])('%s', async (_, words, message) => {
    const error = (await ask(words).catch((thrown: unknown) => thrown)) as Error & { hint?: string };
    expect(error.message).toMatch(message);
    expect(`${error.message} ${error.hint}`).not.toContain(TOKEN);
  });

  it('the last line of stderr is in the hint, unless it repeats the output', async () => {
    const failing = (said: string) =>
      ask(node(`console.log('${TOKEN}'); console.error('first\\n${said}'); process.exit(1)`)).catch(
        (thrown: unknown) => (thrown as { hint?: string }).hint,
      );
    expect(await failing('vault is sealed')).toBe('it says: vault is sealed');
    expect(await failing(`got ${TOKEN}`)).not.toContain(TOKEN);
  });

  it('a program that does not end', async () => {
    await expect(ask(node('setInterval(() => {}, 1000)'), { late: true })).rejects.toThrow(
      /did not end within 60s$/,
    );
  });

  it('Ctrl-C ends it, and is heard before it begins', async () => {
    const [mark, stop] = [join(scratch(), 'pid'), new AbortController()];
    const words = node(
      `require('fs').writeFileSync(${JSON.stringify(mark)}, String(process.pid)); setInterval(() => {}, 1000)`,
    );
    const stopped = expect(ask(words, { stop: stop.signal })).rejects.toMatchObject({ exit: 130 });
    await expect.poll(() => existsSync(mark) && Number(readFileSync(mark, 'utf8'))).toBeTruthy();
    stop.abort('SIGINT');
    await stopped;
    const pid = Number(readFileSync(mark, 'utf8'));
    await expect.poll(() => isAlive(pid)).toBe(false);
    await expect(ask(words, { stop: stop.signal })).rejects.toMatchObject({ exit: 130 });
  });
});

describe('in commands', () => {
  it('a program that cannot be started is an error of the API key', async () => {
    const { path } = home({ file: { token_command: [join(import.meta.filename, 'x')] } });
    const env = { PROFILES_BASE_URL: 'https://api.example.com' };
    const { code, stderr } = await cli(['job', 'c-1', '--config', path], { env });
    expect([code, stderr]).toEqual([4, expect.stringContaining('was not found')]);
  });

  /** A config whose program leaves a mark each time it runs. */
  const counting = (base_url: string) => {
    const cwd = scratch();
    const mark = join(cwd, 'runs.txt');
    const token_command = node(
      `require('fs').appendFileSync(${JSON.stringify(mark)}, 'x'); console.log('${TOKEN}')`,
    );
    const file = join(cwd, 'config.json');
    const hosts = { base_url, lookup_base_url: base_url };
    const content = { account: 'prod', accounts: { prod: { ...hosts, token_command } } };
    writeFileSync(file, JSON.stringify(content), { mode: 0o600 });
    const runs = (): number => (existsSync(mark) ? readFileSync(mark, 'utf8').length : 0);
    return { run: (...words: string[]) => cli([...words, '--config', file], { cwd }), runs };
  };

  it('config list shows where the token comes from without running the program; neither does a rehearsal', async () => {
    const { run, runs } = counting('https://api.example.com');
    const { stdout } = await run('config', 'list', '--json');
    const rows = JSON.parse(stdout) as { key: string; value: unknown; origin: string }[];
    expect(rows.find(({ key }) => key === 'token')).toEqual({
      key: 'token',
      value: null,
      origin: expect.stringMatching(/config\.json \(accounts\.prod\.token_command\)$/),
    });
    expect((await run('config', 'get', 'accounts.prod.token_command')).stdout).toMatch(/^\["/);
    expect((await run('runs')).code).toBe(0);
    expect((await run('lookups', 'embeds', '--region', 'sandbox', '--json')).code).toBe(0);
    expect(runs()).toBe(0);
  });

  it('a command that asks the service runs it once', async () => {
    const service = await startSandbox({ expectToken: TOKEN });
    try {
      const { run, runs } = counting(service.url);
      expect(await run('identify', 'company', 'c-1', '--set', 'a=1')).toMatchObject({ code: 0 });
      expect(runs()).toBe(1);
      const { stdout } = await run('doctor');
      expect(stdout).toMatch(/^ok +token +…6054 \(.*accounts\.prod\.token_command\)/m);
      expect(runs()).toBe(2);
    } finally {
      await service.stop();
    }
  });

  it('config set accepts it as JSON, and says so', async () => {
    const cwd = scratch();
    const set = (value: string) => cli(['config', 'set', 'token_command', value], { cwd });
    expect(await set('pass show profiles')).toMatchObject({
      code: 2,
      stderr: `profiles: token_command: must be an array of a program and its arguments\n  write it as JSON:\n    profiles config set token_command '["pass","show","profiles"]'\n`,
    });
    expect(await set('["pass",1]')).toMatchObject({ code: 2 });
    expect(await set('["pass","show","profiles"]')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('token_command = ["pass","show","profiles"] in '),
    });
  });
});
