/** `--report`: one page of an import, however it ended. */
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import type { Summary } from '../../../src/engine/model.js';
import { status } from '../../loss/faults.js';
import { cli, scratch } from '../../support/cli.js';
import { FaultServer, type Strike } from '../../support/fault-server.js';
import { environmentOf, test } from '../../support/sandbox.js';

const FAST = ['-o', 'interval=5ms', '-o', 'retry_delay=5ms'];
const ROWS = 'company_id,name,size\nacme-1,Ada Nowak,7\nacme-2,Grace Okafor,x\nacme-3,Zoë,9\n';

const place = (): string => scratch({ 'in.csv': ROWS });

/** What a reader sees of a page. */
function read(cwd: string, name = 'report.html'): string {
  return readFileSync(join(cwd, name), 'utf8')
    .replace(/<style>.*?<\/style>/s, '')
    .replace(/<[^>]*>/g, ' ')
    .replaceAll('&quot;', '"')
    .replace(/\s+/g, ' ');
}

/** Names and words of the rows. */
const CELLS = /Ada|Nowak|Grace|Okafor|Zoë|acme-\d/;

describe('--report', () => {
  test('of a dry run: the plan, and no cells', async () => {
    const cwd = place();
    const words = [
      'import',
      'in.csv',
      '--dry-run',
      '--region',
      'sandbox',
      '--type',
      'size=integer',
      '--report',
      'report.html',
    ];
    const { code, stderr } = await cli(words, { cwd });
    expect(code).toBe(5);
    expect(stderr).toContain('\nreport: report.html\n');
    const page = read(cwd);
    expect(page).toContain('Plan to import in.csv ✗ planned; nothing was sent');
    expect(page).toMatch(/Account unnamed Region sandbox Host http:\/\/127\.0\.0\.1/);
    expect(page).toMatch(/size is not of type integer (?:--type \S+ keeps them as text )?1 line 3/);
    expect(page).toMatch(/name same string line 2 must stay text 100%/);
    expect(page).not.toMatch(CELLS);
    expect(statSync(join(cwd, 'report.html')).mode & 0o777).toBe(0o600);
  });

  test('of a run, with the usual --json on stdout; then of the same run from the state', async ({
    start,
  }) => {
    const sandbox = await start({ faults: ['503:nth=1,retry-after=0'] });
    const env = environmentOf(sandbox);
    const cwd = place();
    const words = ['import', 'in.csv', ...FAST, '--json', '--chunk-size', '2', '--report', 'report.html'];
    const { code, stdout } = await cli(words, { cwd, env });
    expect(code).toBe(0);
    const summary = JSON.parse(stdout) as Summary;
    const page = read(cwd);
    expect(page).toContain('Import of in.csv ✓ completed');
    expect(page).toContain(`Run ${summary.run} Started`);
    expect(page).toMatch(/Completed 3 100% .*Read 3 100%/);
    expect(page).toMatch(/1 lines 2-3 1 retry ✓ completed \S+ 2 of 2 (?:waited \d+ms, )?accepted at/);
    expect(page).not.toMatch(CELLS);

    const again = await cli(['runs', summary.run!, '--report', 'again.html'], { cwd });
    expect([again.code, again.stderr]).toEqual([0, 'report: again.html\n']);
    expect(again.stdout).toMatch(/^run +\d{8}-/);
    const stored = read(cwd, 'again.html');
    expect(stored).toMatch(/1 lines 2-3 1 retry ✓ completed \S+ 2 of 2 accepted at/);
    expect(stored).toContain('The state does not keep the plan of a run');
    expect(stored).not.toMatch(CELLS);
    expect((await cli(['runs', '--report', 'again.html'], { cwd })).code).toBe(2);
    expect((await cli(['runs', '--forget', summary.run!, '--report', 'again.html'], { cwd })).code).toBe(2);
  });

  test('of rows that the service refuses: its words are reduced to status and code', async ({ start }) => {
    const sandbox = await start({
      limits: { failRows: [['company_id', 'acme-2']], failRowsWith: '422' },
    });
    const env = environmentOf(sandbox);
    const cwd = place();
    const words = ['import', 'in.csv', ...FAST, '--on-failure', 'isolate', '--report', 'report.html'];
    expect((await cli(words, { cwd, env })).code).toBe(5);
    const page = read(cwd);
    expect(page).toMatch(/whole row .*422 Unprocessable Entity \(\w+\) 1 line 3/);
    expect(page).not.toMatch(CELLS);
    const other = place();
    expect((await cli([...words, '-o', 'report_values=true'], { cwd: other, env })).code).toBe(5);
    expect(read(other)).toMatch(/422 Unprocessable Entity: \w+: \w/);
  });

  test('of an import that stopped, and of its resume', async ({ start }) => {
    const sandbox = await start({ faults: ['422:nth=2'] });
    const env = environmentOf(sandbox);
    const cwd = place();
    const words = ['import', 'in.csv', ...FAST, '--chunk-size', '1', '--report', 'report.html'];
    expect((await cli(words, { cwd, env })).code).toBe(6);
    const stopped = read(cwd);
    expect(stopped).toContain('✗ stopped early');
    expect(stopped).toMatch(/Ended early .*422 Unprocessable Entity/);
    expect(stopped).toMatch(/profiles resume \d{8}-\d{6}-\w+/);
    expect(stopped).toContain('Unsent 2 66.7%');
    expect((await cli(['resume', '-o', 'interval=5ms', '--report', 'report.html'], { cwd, env })).code).toBe(
      0,
    );
    expect(read(cwd)).toMatch(/✓ completed .*Last session took .*Read 3 100%/);
  });

  test('of an interrupted import', async ({ sandbox }) => {
    const cwd = place();
    const stop = AbortSignal.abort('SIGINT');
    const { code } = await cli(['import', 'in.csv', ...FAST, '--report', 'report.html'], {
      cwd,
      env: environmentOf(sandbox),
      stop,
    });
    expect(code).toBe(130);
    expect(read(cwd)).toMatch(/in\.csv ! interrupted|in\.csv ✗ failed before anything was sent/);
  });

  test('of an input that cannot be read', async () => {
    const cwd = scratch({ 'in.csv': 'company_id,name\n1,"secret words' });
    const { code } = await cli(['import', 'in.csv', '--region', 'sandbox', '--report', 'report.html'], {
      cwd,
    });
    expect(code).toBe(2);
    const page = read(cwd);
    expect(page).toContain('✗ failed before anything was sent');
    expect(page).toMatch(/Ended early in\.csv:2: .*quote/);
    expect(page).not.toContain('secret words');
  });
});

test('a signed address is shown without its signature, also where it cannot be read', async () => {
  const cwd = place();
  const address = 'http://127.0.0.1:9/in.csv?signature=secret';
  const words = ['import', address, '--region', 'sandbox', ...FAST, '--report', 'report.html'];
  expect((await cli(words, { cwd })).code).not.toBe(0);
  expect(readFileSync(join(cwd, 'report.html'), 'utf8')).toContain('http://127.0.0.1:9/in.csv');
  expect(readFileSync(join(cwd, 'report.html'), 'utf8')).not.toContain('secret');
});

describe('what a report never replaces', () => {
  const refused = async (cwd: string, name: string): Promise<string> => {
    const words = ['import', 'in.csv', '--region', 'sandbox', '--report', name];
    const { code, stderr } = await cli(words, { cwd });
    expect(code).toBe(2);
    expect(stderr).not.toMatch(/\n +at /);
    // Nothing was sent, nothing was begun.
    expect(JSON.parse((await cli(['runs', '--json'], { cwd })).stdout)).toEqual([]);
    return stderr;
  };

  test('an input, also by a link', async () => {
    const cwd = place();
    symlinkSync('in.csv', join(cwd, 'link.html'));
    for (const name of ['in.csv', './in.csv', join(cwd, 'in.csv'), 'link.html']) {
      expect(await refused(cwd, name)).toContain('exists, and is not a report');
    }
    expect(readFileSync(join(cwd, 'in.csv'), 'utf8')).toBe(ROWS);
  });

  test('something that is not a file, or cannot be one', async () => {
    const cwd = place();
    mkdirSync(join(cwd, 'folder'));
    expect(await refused(cwd, 'folder')).toContain('is a folder');
    expect(await refused(cwd, '/dev/null')).toContain('is not a regular file');
    expect(await refused(cwd, 'absent/report.html')).toContain('its folder does not exist');
    expect(await refused(cwd, 'in.csv/report.html')).toContain('cannot be written');
    for (const name of ['-', '']) expect(await refused(cwd, name)).toContain('takes the name of a file');
  });

  test('an empty file and an earlier report are replaced; a link stays one', async () => {
    const cwd = scratch({ 'in.csv': ROWS, 'report.html': '' });
    chmodSync(join(cwd, 'report.html'), 0o644);
    symlinkSync('report.html', join(cwd, 'latest.html'));
    for (const name of ['report.html', 'latest.html']) {
      const words = ['import', 'in.csv', '--dry-run', '--region', 'sandbox', '--quiet', '--report', name];
      expect(await cli(words, { cwd })).toMatchObject({ code: 0, stderr: '' });
    }
    expect(read(cwd)).toContain('Plan to import in.csv');
    expect(statSync(join(cwd, 'report.html')).mode & 0o777).toBe(0o600);
    expect(readdirSync(cwd).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });
});

describe('a report that cannot be written at the end', () => {
  /** Sends to a service that, with its first request, sees another file take the report's name. */
  async function taken(trouble?: Strike): Promise<{ code: number; stderr: string; cwd: string }> {
    const service = await new FaultServer().start();
    onTestFinished(() => service.stop());
    const cwd = place();
    const take = (): void => writeFileSync(join(cwd, 'report.html'), 'somebody else');
    if (!trouble) service.during(1, take);
    else {
      const strike: Strike = (exchange) => {
        take();
        return trouble(exchange);
      };
      service.trouble = { submit: () => strike };
    }
    const words = [
      'import',
      'in.csv',
      ...FAST,
      '--skip-invalid',
      '--type',
      'size=integer',
      '--report',
      'report.html',
    ];
    const env = { PROFILES_BASE_URL: service.url, PROFILES_TOKEN: 'tok_0123456789' };
    return { ...(await cli(words, { cwd, env })), cwd };
  }
  const WORDS = 'report.html cannot be written: it exists, and is not a report\n';

  test('is exit 1 and one sentence', async () => {
    const { code, stderr, cwd } = await taken();
    expect(code).toBe(1);
    expect(stderr).toContain(`\nprofiles: ${WORDS}`);
    expect(stderr).not.toMatch(/\n +at /);
    expect(readFileSync(join(cwd, 'report.html'), 'utf8')).toBe('somebody else');
    expect(readFileSync(join(cwd, 'in.rejects.csv'), 'utf8')).toContain('_profiles_error');
  });

  test('does not hide what ended the import', async () => {
    const { code, stderr } = await taken(status(422));
    expect(code).toBe(6);
    expect(stderr).toContain(WORDS);
    expect(stderr).toMatch(/profiles: .*422/);
  });
});
