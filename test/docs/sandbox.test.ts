/** The server that the page names for tests in any language: several can run at the same time. */
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { cli } from '../support/cli.js';
import { codeOf } from './documents.js';

test('two servers for tests run at the same time', async () => {
  const command = codeOf('docs/sandbox.md').find((code) => /^profiles sandbox .*--control-port 0/.test(code));
  const argv = command!.split(' ').slice(1);
  const stop = new AbortController();
  const servers = [0, 1].map(() => {
    const stdout = new PassThrough();
    const stderr = new PassThrough();
    stderr.resume();
    return {
      printed: once(stdout, 'data'),
      ended: cli(argv, { streams: { stdout, stderr }, stop: stop.signal }),
    };
  });
  await Promise.all(servers.map(({ printed, ended }) => Promise.race([printed, ended])));
  stop.abort('SIGINT');
  const codes = await Promise.all(servers.map(async ({ ended }) => (await ended).code));
  expect(codes).toEqual([0, 0]);
});
