import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { type CliOptions, cli } from '../../support/cli.js';
import { environmentOf, test } from '../../support/sandbox.js';
import { bare } from '../../support/sink.js';

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
  test('without a lookup host: the command to run', async ({ sandbox }) => {
    const { PROFILES_LOOKUP_BASE_URL: _, ...env } = environmentOf(sandbox);
    const { code, stderr } = await lookups('embeds', env);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('profiles config set regions.default.lookup_base_url https://…\n'),
    ]);
  });

  test('needs no host for imports', async ({ sandbox }) => {
    const { PROFILES_BASE_URL: _, ...env } = environmentOf(sandbox);
    const { code, stdout } = await lookups('embeds --json', env);
    expect([code, JSON.parse(stdout)]).toEqual([0, embeds]);
  });

  test('piped: a plain table', async ({ sandbox }) => {
    expect(await lookups('embeds', environmentOf(sandbox))).toEqual({
      code: 0,
      stderr: '',
      stdout: [
        'id  title             type',
        ' 2  Welcome 株式会社  banner',
        '10  =HYPERLINK("x")   card',
        ' 1  Say "hi", twice   card',
        '',
      ].join('\n'),
    });
  });

  test('at a terminal: drawn within its width, with color', async ({ sandbox }) => {
    const { stdout } = await lookups('embeds', environmentOf(sandbox), { columns: 30 });
    expect(stdout).toContain('\u001b[1m');
    expect(bare(stdout).split('\n')[0]).toBe('┌────┬──────────────┬────────┐');
  });

  test.for([
    ['--json', (text: string) => JSON.parse(text) as unknown],
    [
      '--ndjson',
      (text: string) =>
        text
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line) as unknown),
    ],
  ] as const)('%s gives the records', async ([form, read], { sandbox }) => {
    const { code, stdout, stderr } = await lookups(`embeds ${form}`, environmentOf(sandbox));
    expect([code, stderr]).toEqual([0, '']);
    expect(read(stdout)).toEqual(embeds);
  });

  test('--csv guards what a spreadsheet would run', async ({ sandbox }) => {
    const { stdout } = await lookups('embeds --csv', environmentOf(sandbox));
    expect(parse(stdout, { columns: true })).toEqual([
      { id: '2', title: 'Welcome 株式会社', type: 'banner' },
      { id: '10', title: '\'=HYPERLINK("x")', type: 'card' },
      { id: '1', title: 'Say "hi", twice', type: 'card' },
    ]);
  });

  test.for(['--json', '--ndjson', '--csv', ''])(
    'selection works on every form: %s',
    async (form, { sandbox }) => {
      const words = `embeds --filter type=card --sort id --columns title,id --limit 1 ${form}`.trim();
      const { stdout } = await lookups(words, environmentOf(sandbox));
      expect(stdout.replaceAll(/[\s"\\{}[\]]/g, '')).toMatch(/^(title,?id)?(title:)?Sayhi,twice,?(id:)?1$/);
    },
  );

  test('underscores work too', async ({ sandbox }) => {
    const both = await Promise.all(
      ['user_properties --json', 'user-properties --json'].map((words) =>
        lookups(words, environmentOf(sandbox)),
      ),
    );
    expect(both[0]).toEqual(both[1]);
    expect(both[0]?.code).toBe(0);
  });

  test.for([
    ['checklists', ''],
    ['checklists --json', '[]\n'],
    ['checklists --ndjson', ''],
    ['checklists --csv', 'display_name,key,data_type\n'],
  ] as const)('an empty list is no error: %s', async ([words, stdout], { sandbox }) => {
    expect(await lookups(words, environmentOf(sandbox))).toEqual({
      code: 0,
      stdout: stdout === '[]\n' ? expect.stringMatching(/^\[\s*\]\n$/) : stdout,
      stderr: words.includes('--json') ? '' : 'the service has no checklists\n',
    });
    expect((await lookups(`${words} --quiet`, environmentOf(sandbox))).stderr).toBe('');
  });

  test('says that nothing was found', async ({ sandbox }) => {
    const { code, stdout, stderr } = await lookups('embeds --search nowhere', environmentOf(sandbox));
    expect([code, stdout, stderr]).toEqual([0, '', 'no matches among 3 records\n']);
  });

  test.for([
    ['embed', 'did you mean "profiles lookups embeds"?'],
    ['user-propertys', 'did you mean "profiles lookups user-properties"?'],
    ['embeds --columns titel', 'did you mean "title"?'],
    ['embeds --filter titel=x', 'did you mean "title"?'],
    ['embeds --sort -ids', 'did you mean "id"?'],
    ['embeds --filter title', 'write --filter key=value'],
    ['embeds --columns ,', 'write --columns a,b'],
    ['embeds --csv --ndjson', 'leave one out'],
    ['embeds --json --csv', 'leave one out'],
  ] as const)('a mistake is exit 2 with a hint: %s', async ([words, hint], { sandbox }) => {
    const { code, stdout, stderr } = await lookups(words, environmentOf(sandbox));
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(`  ${hint}\n`);
  });

  test.for(['lookups embeds', 'jobs', 'runs', 'config list', 'sandbox list companies'])(
    '%s: a limit of nothing is exit 2',
    async (words, { sandbox }) => {
      const argv = [...words.split(' '), '--limit', '0'];
      expect(await cli(argv, { env: environmentOf(sandbox) })).toEqual({
        code: 2,
        stdout: '',
        stderr: 'profiles: --limit: "0" is not a whole number of at least 1\n',
      });
    },
  );

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
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(body);
  });
  let env: Record<string, string>;
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    env = { PROFILES_BASE_URL: url, PROFILES_LOOKUP_BASE_URL: url, PROFILES_TOKEN: 'a-token-of-the-test' };
  });
  afterAll(() => {
    server.close();
  });

  test('--json in a pipe prints the array unchanged, byte for byte', async () => {
    expect((await lookups('embeds --json', env)).stdout).toBe(`${body}\n`);
  });

  test.for(['', '--json', '--csv', '--ndjson', '--json --limit 2'])(
    'no form steers a terminal: %s',
    async (form) => {
      const { code, stdout } = await lookups(`embeds ${form}`.trim(), env, {
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
