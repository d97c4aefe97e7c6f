/** A region that a flag chooses, and the token that goes to its host: it is its own one, or said. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Sandbox } from '../../src/sandbox/index.js';
import { cli, scratch } from '../support/cli.js';
import { environmentOf, test } from '../support/sandbox.js';

const KEY = 'sk-live-of-the-environment';

/** Sends one company to the EU region of a sandbox. */
async function send(sandbox: Sandbox, { token, flags }: { token?: string; flags: string[] }) {
  const cwd = scratch({ 'c.csv': 'company_id\nc1\n' });
  const eu = { base_url: sandbox.euUrl!, lookup_base_url: sandbox.lookupUrl, ...(token && { token }) };
  const config = { regions: { eu, default: { base_url: sandbox.url } } };
  writeFileSync(join(cwd, 'config.json'), JSON.stringify(config), { mode: 0o600 });
  const env = {
    ...environmentOf(sandbox),
    PROFILES_BASE_URL: undefined,
    PROFILES_LOOKUP_BASE_URL: undefined,
    PROFILES_TOKEN: KEY,
  };
  return cli(['import', 'c.csv', '--config', 'config.json', ...flags], { cwd, env });
}
const toLine = (stderr: string): string => stderr.split('\n').find((line) => line.startsWith('  to'))!;

test('without a token of its own: the summary says where the token came from', async ({ start }) => {
  const sandbox = await start({ expectToken: KEY });
  const { code, stderr } = await send(sandbox, { flags: ['--region', 'eu'] });
  expect([code, toLine(stderr)]).toEqual([
    0,
    `  to        region eu, ${sandbox.euUrl}, with the token from PROFILES_TOKEN`,
  ]);
});

test('with a token of its own: the other one is ignored, with a warning', async ({ start }) => {
  const sandbox = await start({ expectToken: 'sk-live-of-eu' });
  const { code, stderr } = await send(sandbox, { token: 'sk-live-of-eu', flags: ['--region', 'eu'] });
  expect([code, toLine(stderr)]).toEqual([0, `  to        region eu, ${sandbox.euUrl}`]);
  expect(stderr).toContain('PROFILES_TOKEN is ignored: --region eu brings its own token');
});

test('no flag, no word: region and token are of one place', async ({ start }) => {
  const sandbox = await start({ expectToken: KEY });
  const { code, stderr } = await send(sandbox, { flags: [] });
  expect([code, toLine(stderr)]).toEqual([0, `  to        region default, ${sandbox.url}`]);
});
