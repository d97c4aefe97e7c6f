/** What a command opened is closed again, also where one part of it cannot be. */
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { beforeAll, expect, test } from 'vitest';
import { createContext, type Input } from '../../src/cli/context.js';
import { built, profiles } from '../support/child.js';
import { scratch } from '../support/cli.js';
import { fastClock } from '../support/clock.js';
import { onPostgres } from '../support/state.js';

beforeAll(built);

test.skipIf(onPostgres)(
  'a state that cannot be closed leaves no connection and no sandbox open',
  async () => {
    const cwd = scratch();
    const world = {
      env: { HOME: cwd, PROFILES_STATE_DIR: join(cwd, '.state') },
      platform: process.platform,
      cwd,
      stdin: () => Readable.from([]) as Input,
      stdout: new PassThrough(),
      stderr: new PassThrough(),
      clock: fastClock(),
      nodeVersion: process.versions.node,
      cores: 1,
      stop: new AbortController().signal,
      abort: new AbortController().signal,
    };
    const context = createContext(world, { region: 'sandbox' }, []);
    const client = await context.client();
    expect((await client.lookup('embeds')).records).not.toEqual([]);
    await (await context.state()).close();
    await expect(context.close()).rejects.toThrow('not open');
    await expect(client.lookup('embeds')).rejects.toThrow();
  },
);

test.skipIf(onPostgres)('a database that cannot be closed ends a command with one sentence', async () => {
  const cwd = scratch();
  const hook = pathToFileURL(join(import.meta.dirname, '../support/fail-at-close.mjs')).href;
  const env = { NODE_OPTIONS: `--import ${hook}` };
  const { code, stdout, stderr } = await profiles(['jobs', '--json'], { cwd, env }).ended;
  expect([code, stdout]).toEqual([1, '[]\n']);
  expect(stderr).toMatch(/^no jobs yet\nprofiles: disk I\/O error\n/);
  expect(stderr).not.toMatch(/\n\s+at /);
});
