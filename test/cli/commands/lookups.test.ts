import { describe, expect } from 'vitest';
import { type CliOptions, cli } from '../../support/cli.js';
import { environmentOf, test } from '../../support/sandbox.js';
import { httpServer } from '../../support/servers.js';

const embeds = [
  { id: 2, title: 'Welcome 株式会社', type: 'banner' },
  { id: 10, title: '=HYPERLINK("x")', type: 'card' },
  { id: 1, title: 'Say "hi", twice', type: 'card' },
] as const;

test.override({ sandboxOptions: { lookups: { embeds: [...embeds], checklists: [] } } });

/** Runs `profiles lookups …` against a sandbox. */
const lookups = (words: string, env: Record<string, string>, options: CliOptions = {}) =>
  cli(['lookups', ...words.split(' ')], { ...options, env: { ...env, ...options.env } });

describe('lookups', () => {
  test('a signal ends it', async ({ start }) => {
    const sandbox = await start({ faults: ['hang:p=1,on=lookup'] });
    const stop = new AbortController();
    const ended = lookups('embeds', environmentOf(sandbox), { stop: stop.signal });
    await expect.poll(() => sandbox.ledger()).toHaveLength(1);
    stop.abort('SIGTERM');
    expect(await ended).toMatchObject({ code: 143, stdout: '' });
  });
});

describe('text of a malicious or careless service', () => {
  const body = '[ {"title":"\u009b2J\u202e", "id" : 1e2, "x":9007199254740993 },\n {"title":"\\u001b[2J"} ]';
  const serving = async (): Promise<Record<string, string>> => {
    const { url } = await httpServer((_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(body);
    });
    const token = 'a-token-of-the-test';
    return { PROFILES_BASE_URL: url, PROFILES_LOOKUP_BASE_URL: url, PROFILES_TOKEN: token };
  };

  test('--json in a pipe prints the array unchanged, byte for byte', async () => {
    expect((await lookups('embeds --json', await serving())).stdout).toBe(`${body}\n`);
  });

  test.for(['', '--json', '--csv', '--ndjson', '--json --limit 2'])(
    'no form steers a terminal: %s',
    async (form) => {
      const { code, stdout } = await lookups(`embeds ${form}`.trim(), await serving(), {
        columns: 80,
        env: { NO_COLOR: '1' },
      });
      expect(code).toBe(0);
      expect(stdout).not.toMatch(/[\u001b\u0080-\u009f\u202e]/);
      expect(stdout).toMatch(/x9b2J|u009b2J/);
    },
  );
});

describe('10,000 lookups', () => {
  const many = Array.from({ length: 10_000 }, (_, id) => ({
    id,
    title: `Embed no. ${id} of many`,
    type: 'card' as const,
  }));
  test.override({ sandboxOptions: { lookups: { embeds: many } } });

  test('nothing is cut, and the table is not drawn, which would take seconds', async ({ sandbox }) => {
    const env = environmentOf(sandbox);
    const json = await lookups('embeds --json', env);
    expect(JSON.parse(json.stdout)).toHaveLength(10_000);
    for (const columns of [undefined, 80]) {
      const { stdout } = await lookups('embeds', env, columns === undefined ? {} : { columns });
      expect(stdout).not.toContain('│');
      expect(stdout.trimEnd().split('\n')).toHaveLength(10_001);
    }
  });
});
