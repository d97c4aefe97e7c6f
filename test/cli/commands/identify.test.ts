import { describe, expect } from 'vitest';
import { cli } from '../../support/cli.js';
import { environmentOf, test } from '../../support/sandbox.js';

describe('identify', () => {
  test('a company: one request; values are typed as CSV cells are', async ({ sandbox }) => {
    const flags = [
      '--set',
      'seats=3',
      '--set',
      'zip=02139',
      '--set',
      'ratio=1.50',
      '--metadata',
      '{"seats":1,"vip":true}',
    ];
    const { code, stdout, stderr } = await cli(['identify', 'company', '00042', ...flags], {
      env: environmentOf(sandbox),
    });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^company_id +00042\nstatus +accepted\n$/);
    expect(sandbox.show('companies', '00042')?.metadata).toEqual({
      seats: 3,
      zip: '02139',
      ratio: 1.5,
      vip: true,
    });
  });

  test('--unset removes keys, also one in --metadata', async ({ sandbox }) => {
    const env = environmentOf(sandbox);
    await cli(['identify', 'company', 'c', '--metadata', '{"a":1,"b":2,"c":3,"null":4}'], { env });
    const line = [
      'identify',
      'company',
      'c',
      '--metadata',
      '{"a":9}',
      '--unset',
      'a',
      '--unset',
      'b',
      '--unset',
      'nope',
    ];
    expect(await cli([...line, '--set', 'c=5'], { env })).toMatchObject({ code: 0 });
    expect(sandbox.show('companies', 'c')?.metadata).toEqual({ c: 5, null: 4 });
    await cli(['identify', 'user', 'u', '--set', 'a=1'], { env });
    expect(await cli(['identify', 'user', 'u', '--unset', 'a'], { env })).toMatchObject({ code: 0 });
    expect(sandbox.show('users', 'u')?.metadata).toEqual({});
  });

  test('a user: a bulk request with one item, and its job is followed', async ({ sandbox }) => {
    const { code, stdout } = await cli(
      ['identify', 'user', 'u/1', '--company', 'c1', '--set', 'a=b', '--json'],
      {
        env: environmentOf(sandbox),
      },
    );
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      id_field: 'user_id',
      id: 'u/1',
      status: 'completed',
      job: { total_rows: 1 },
    });
    expect(sandbox.show('users', 'u/1')).toMatchObject({ companyId: 'c1', metadata: { a: 'b' } });
  });

  test('any key name works', async ({ sandbox }) => {
    const metadata = '{"__proto__":{"x":1},"constructor":"y"}';
    await cli(['identify', 'company', 'p', '--metadata', metadata], { env: environmentOf(sandbox) });
    expect(JSON.stringify(sandbox.show('companies', 'p')?.metadata)).toBe(metadata);
  });

  test('a failed job is exit 7', async ({ start }) => {
    const sandbox = await start({ faults: ['fail-job:first=1'] });
    const { code, stdout } = await cli(['identify', 'user', 'u', '--json'], { env: environmentOf(sandbox) });
    expect([code, (JSON.parse(stdout) as { status: string }).status]).toEqual([7, 'failed']);
  });

  test.for([
    { args: ['company', ''], says: 'the identifier is empty' },
    { args: ['company', 'c', '--set', 'novalue'], says: '--set: "novalue" is not of the form key=value' },
    {
      args: ['company', 'c', '--set', 'a=1', '--unset', 'a'],
      says: '--set a and --unset a contradict each other',
    },
    { args: ['company', 'c', '--unset', ''], says: '--unset: the key is empty' },
    { args: ['company', 'c', '--metadata', '[1]'], says: '--metadata: not a JSON object' },
    { args: ['company', 'c', '--metadata', '{'], says: '--metadata: not valid JSON' },
    { args: ['company', 'c', '--company', 'x'], says: 'unknown option --company' },
    { args: ['user', 'u', '--company', ''], says: 'write --company <id>, or leave it out' },
    { args: ['firm', 'c'], says: 'firm' },
    { args: ['company', 'c', '--set', 'a=1', '--set', 'a=2'], says: '--set: the key "a" appears twice' },
    { args: ['company', 'c', '--set', 'company_id=x'], says: '"company_id" is the identifier, not metadata' },
    { args: ['user', 'u', '--set', 'company_id=x y'], says: "write --company 'x y'" },
    {
      args: ['company', 'c', '--metadata', '{"a":1,"\\u0061":2}'],
      says: '--metadata: the key "a" appears twice',
    },
    {
      args: ['company', 'c', '--metadata', '{"a":{"b":1,"b":1}}'],
      says: '--metadata: the key "b" appears twice',
    },
    { args: ['company', 'c', '--metadata', '{"a":"\\ud800"}'], says: '--metadata: \\ud800 is half' },
    { args: ['company', ' \u200b'], says: 'company_id is only white space' },
    { args: ['user', 'u', '--company', ' '], says: 'company_id is only white space' },
  ])('$args is exit 2', async ({ args, says }, { sandbox }) => {
    const { code, stdout, stderr } = await cli(['identify', ...args], { env: environmentOf(sandbox) });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(says);
    expect(sandbox.ledger()).toEqual([]);
  });
});

describe('values that identify warns about or refuses', () => {
  test('white space around an identifier is sent unchanged, with a warning', async ({ sandbox }) => {
    const line = ['identify', 'user', ' u1 ', '--company', 'c\u200b1', '--json'];
    const { code, stdout, stderr } = await cli(line, { env: environmentOf(sandbox) });
    const warnings = [
      'user_id: " u1 " has white space or invisible characters around it',
      'company_id: "c\\u200b1" has invisible characters in it',
    ];
    expect([code, stderr]).toEqual([0, warnings.map((text) => `warning: ${text}\n`).join('')]);
    expect(JSON.parse(stdout)).toMatchObject({ id: ' u1 ', warnings });
    expect(sandbox.show('users', ' u1 ')?.companyId).toBe('c\u200b1');
  });

  test('an identifier that looks like a missing value is accepted', async ({ sandbox }) => {
    const { code, stderr } = await cli(['identify', 'company', 'None'], { env: environmentOf(sandbox) });
    expect([code, stderr]).toEqual([0, '']);
  });

  test('numbers that JSON cannot keep are refused', async ({ sandbox }) => {
    for (const number of ['12345678901234567890', '1e400']) {
      const { code, stderr } = await cli(['identify', 'company', 'c', '--metadata', `{"n":${number}}`], {
        env: environmentOf(sandbox),
      });
      expect([code, stderr]).toEqual([2, expect.stringContaining(`quote it: "${number}"`)]);
    }
    expect(sandbox.ledger()).toEqual([]);
  });

  test('metadata that is nested too deeply is refused, as in a file', async ({ sandbox }) => {
    const deep = `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
    const { code, stderr } = await cli(['identify', 'company', 'c1', '--metadata', deep], {
      env: environmentOf(sandbox),
    });
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('--metadata: a is nested too deeply\n  make it flatter'),
    ]);
    expect(sandbox.ledger()).toEqual([]);
  });

  test('stopped before sending, or with an unknown outcome: it says which', async ({ sandbox }) => {
    const identify = (signals: { stop: AbortSignal; abort?: AbortSignal }) =>
      cli(['identify', 'company', 'c1'], { env: environmentOf(sandbox), ...signals });
    const before = await identify({ stop: AbortSignal.abort('SIGTERM') });
    expect([before.code, before.stderr]).toEqual([143, expect.stringContaining('nothing was sent')]);
    expect(sandbox.ledger()).toEqual([]);

    sandbox.faults.add('hang:every=1,on=any');
    const signal = new AbortController();
    const meanwhile = identify({ stop: signal.signal, abort: signal.signal });
    await expect.poll(() => sandbox.ledger()).toHaveLength(1);
    signal.abort('SIGINT');
    const { code, stderr } = await meanwhile;
    expect([code, stderr]).toEqual([130, expect.stringContaining('it may have been sent')]);
  });

  test('a short job, or a reply without a job, is exit 5 with a warning', async ({ start }) => {
    for (const fault of ['short-job:nth=1', 'no-job-id:nth=1']) {
      const sandbox = await start({ faults: [fault] });
      const { code, stderr } = await cli(['identify', 'user', 'u'], { env: environmentOf(sandbox) });
      expect([fault, code, stderr]).toEqual([fault, 5, expect.stringMatching(/^warning: /)]);
    }
  });
});
