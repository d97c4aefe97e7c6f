/** The built program in real pipes: what a reader gets, and what happens when it leaves. `npm test` builds before it tests. */

import { exec } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { scratch } from '../../support/cli.js';

const records = Array.from({ length: 10_000 }, (_, id) => ({
  id,
  title: `Embed no. ${id} of many`,
  type: 'card',
}));
const server = createServer((_request, response) => {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(records));
});
let env: NodeJS.ProcessEnv;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const bin = fileURLToPath(new URL('../../../bin/profiles.js', import.meta.url));
  env = {
    PATH: process.env.PATH,
    HOME: scratch(),
    NODE: process.execPath,
    BIN: bin,
    PROFILES_BASE_URL: url,
    PROFILES_LOOKUP_BASE_URL: url,
    PROFILES_TOKEN: 'a-token-of-the-test',
  };
});
afterAll(() => {
  server.close();
});

/** Runs a line in bash; a failing part of a pipe fails it. */
const bash = (line: string) =>
  promisify(exec)(`profiles() { "$NODE" "$BIN" "$@"; }; set -o pipefail; ${line}`, {
    env,
    shell: '/bin/bash',
    maxBuffer: 64 * 1024 * 1024,
  });

test.each([
  ['--json', 1],
  ['--ndjson', 10_000],
  ['--csv', 10_001],
  ['', 10_001],
])('nothing is cut, however slow the reader: lookups embeds %s', async (form, lines) => {
  // A pipe holds 64 KiB; the reader takes none of it until the program has had time to fill it.
  const { stdout, stderr } = await bash(`profiles lookups embeds ${form} | (sleep 0.4; cat)`);
  expect(stderr).toBe('');
  expect(stdout.trimEnd().split('\n')).toHaveLength(lines);
  expect(stdout).toContain('Embed no. 9999 of many');
});

test.each(['--json', '--ndjson', '--csv', ''])(
  'a reader that leaves is no failure: lookups embeds %s | head -c 20',
  async (form) => {
    const { stdout, stderr } = await bash(`profiles lookups embeds ${form} | head -c 20`);
    expect([stdout.length, stderr]).toEqual([20, '']);
  },
);
