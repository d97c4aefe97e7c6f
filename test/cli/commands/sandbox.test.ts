import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EMBEDDED } from '../../../src/cli/context.js';
import { startSandbox } from '../../../src/sandbox/index.js';
import { COMPANY, post, send, USERS } from '../../sandbox/http.js';
import { type CliOptions, type CliResult, cli, scratch } from '../../support/cli.js';
import { freePort } from '../../support/postgres.js';
import { ManualClock } from '../../support/sandbox.js';
import { openState } from '../../support/state.js';

const OTHERS = ['--lookup-port', '0', '--eu-port', '0'];
const FREE = ['--port', '0', ...OTHERS];

/** Runs `profiles sandbox` until `act` is done with it. */
async function served(
  argv: string[],
  act: (url: string) => Promise<unknown> = async () => {},
  options: CliOptions = {},
): Promise<CliResult> {
  const port = await freePort();
  const stop = new AbortController();
  const running = cli(['sandbox', ...OTHERS, '--port', String(port), ...argv], {
    ...options,
    stop: stop.signal,
  });
  let ended = false;
  void running.then(() => {
    ended = true;
  });
  const url = `http://127.0.0.1:${port}`;
  const answers = (): Promise<boolean> =>
    send(`${url}/openapi.json`).then(
      () => true,
      () => false,
    );
  await expect.poll(async () => ended || (await answers())).toBe(true);
  if (!ended) await act(url);
  stop.abort('SIGINT');
  return running;
}

/** A folder with data: company 00042 in both regions, user u-1 in eu, and a job that has not completed. */
async function rehearsed(): Promise<string> {
  const cwd = scratch();
  const clock = new ManualClock();
  const sandbox = await startSandbox({ dataDir: join(cwd, '.state'), clock });
  await post(
    sandbox,
    COMPANY,
    '{"company_id":"00042","metadata":{"name":"Żółw","score":1.10,"\\u001b[31m":"x\\u0007"}}',
  );
  await post(sandbox, COMPANY, { company_id: '00042', metadata: { name: 'EU' } }, { to: sandbox.euUrl! });
  await post(sandbox, USERS, { users: [{ user_id: 'u-1', company_id: '00042' }] }, { to: sandbox.euUrl! });
  clock.time = Date.now();
  sandbox.limits.rowsPerSecond = 1e-6;
  await post(sandbox, USERS, { users: [{ user_id: 'u-2' }] });
  await sandbox.stop();
  return cwd;
}

describe('sandbox', () => {
  it('serves its page on the given port, or not at all', async () => {
    const port = await freePort();
    const { stderr } = await served(['--memory', '--page-port', String(port)], async () => {
      expect((await send(`http://127.0.0.1:${port}/`)).status).toBe(403); // it asks for its key
    });
    expect(stderr).toContain(`sandbox: page http://127.0.0.1:${port}/`);
    const without = await served(['--memory', '--no-page', '--json']);
    expect(JSON.parse(without.stdout)).toMatchObject({ page_url: null });
    expect(without.stderr).not.toContain('page');
    const both = await cli(['sandbox', '--no-page', '--page-port', '0']);
    expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('cannot be combined')]);
  });

  it('passes limits, faults and lookups on', async () => {
    const cwd = scratch();
    const lookups = { checklists: [{ display_name: 'Mine', key: 'mine', data_type: 'checklist' }] };
    writeFileSync(join(cwd, 'lists.json'), JSON.stringify(lookups));
    const flags =
      '--memory --max-items 1 --max-bytes 1KiB --fault 503:first=1,retry-after=3 --fault 502:nth=2,html --fail-jobs 100% --rows-per-second 10 --seed 5 --lookups lists.json';
    const seen: unknown[] = [];
    const { stdout } = await served(
      [...flags.split(' '), '--json'],
      async (url) => {
        const headers = { authorization: 'Token k' };
        for (const body of ['x', 'x', 'x'.repeat(2_000), '{"users":[{"user_id":"1"},{"user_id":"2"}]}']) {
          const reply = await send(url + USERS, { method: 'POST', headers, body });
          seen.push(reply.status, reply.headers['retry-after']);
        }
      },
      { cwd },
    );
    expect(seen).toEqual([503, '3', 502, undefined, 413, undefined, 413, undefined]);
    expect(JSON.parse(stdout)).toMatchObject({ control_url: null });
  });

  it('help faults shows how a fault is written, and says what each one does', async () => {
    const { code, stdout } = await cli(['help', 'faults']);
    expect(code).toBe(0);
    expect(stdout).toContain('<what>:<when>');
    const help = stdout.slice(stdout.indexOf('A fault is'));
    const terms = [...help.matchAll(/^ {2}(\S+) {2,}\S/gm)].map(([, term]) => term!);
    // The errors name all faults, and the options of one.
    const hintOf = async (fault: string): Promise<string[]> => {
      const { stderr } = await cli(['sandbox', ...FREE, '--fault', fault]);
      return stderr
        .trim()
        .split(/\s+(?:.*599, or |available options: )/)[1]!
        .split(', ');
    };
    const faults = await hintOf('nope:first=1');
    expect(faults.length).toBeGreaterThan(15);
    expect(terms).toEqual(expect.arrayContaining(faults));
    for (const fault of ['503', ...faults]) {
      const options = await hintOf(`${fault}:first=1,nope`);
      expect(terms).toEqual(expect.arrayContaining(options.filter((option) => option !== 'none')));
    }
  });

  it('a port that is taken is refused with its hint', async () => {
    const taken = await startSandbox();
    const { port } = new URL(taken.url);
    const { code, stderr } = await cli(['sandbox', ...OTHERS, '--memory', '--port', port]);
    expect(code).toBe(2);
    expect(stderr).toContain(`cannot listen on 127.0.0.1 port ${port} (EADDRINUSE)`);
    expect(stderr).toContain('--port 0');
    await taken.stop();
  });
});

describe('sandbox reset', () => {
  it('is refused while an import to the sandbox runs', async () => {
    const cwd = await rehearsed();
    const state = await openState(join(cwd, '.state'), Date.now);
    const lock = await state.locks.take(EMBEDDED, 'users', 'run r-1 (u.csv)');
    const { code, stderr } = await cli(['sandbox', 'reset'], { cwd });
    expect([code, stderr]).toEqual([8, expect.stringContaining('is running: run r-1 (u.csv)')]);
    expect((await cli(['sandbox', 'show', 'company', '00042'], { cwd })).code).toBe(0);
    await lock!.release();
    await state.close();
  });
});

describe('sandbox list', () => {
  const list = async (argv: string[], cwd: string): Promise<CliResult> =>
    cli(['sandbox', 'list', ...argv], { cwd });

  /** Twenty companies, of which some are in Zürich, and two users in eu. */
  async function filled(): Promise<string> {
    const cwd = scratch();
    const sandbox = await startSandbox({ dataDir: join(cwd, '.state'), clock: new ManualClock() });
    const items = Array.from(
      { length: 20 },
      (_, i) =>
        `{"company_id":"c-${i}","metadata":{"city":"${i % 5 ? 'Bern' : 'Zürich'}","score":${i}.10${i === 7 ? ',"company_id":"other"' : ''}}}`,
    );
    await post(sandbox, '/v1/companies/bulk_identify', `{"companies":[${items.join(',')}]}`);
    await post(
      sandbox,
      USERS,
      { users: [{ user_id: 'u-1', company_id: 'c-1' }, { user_id: 'u-2' }] },
      { to: sandbox.euUrl! },
    );
    await sandbox.stop();
    return cwd;
  }

  it('supports every form of output, with numbers as they were sent', async () => {
    const cwd = await filled();
    const json = await list(['companies', '--json', '--limit', '1'], cwd);
    expect(json.stdout).toContain('"score":0.10');
    expect(JSON.parse(json.stdout)).toEqual([{ company_id: 'c-0', city: 'Zürich', score: 0.1 }]);
    const csv = await list(['users', '--region-of', 'eu', '--csv', '--sort', '-id'], cwd);
    expect(csv.stdout).toBe('user_id,company_id\nu-2,\nu-1,c-1\n');
    expect((await list(['users', '--region', 'eu', '--csv', '--sort', '-id'], cwd)).stdout).toBe(csv.stdout);
    const lines = await list(
      ['companies', '--ndjson', '--filter', 'city=Zürich', '--columns', 'company_id', '--quiet'],
      cwd,
    );
    expect(lines.stdout).toBe(
      '{"company_id":"c-0"}\n{"company_id":"c-10"}\n{"company_id":"c-15"}\n{"company_id":"c-5"}\n',
    );
    expect(lines.stderr).toBe('');
    // A key of metadata does not hide the identifier.
    const hidden = await list(['companies', '--json', '--search', 'other'], cwd);
    expect(JSON.parse(hidden.stdout)).toMatchObject([{ company_id: 'c-7' }]);
  });
});
