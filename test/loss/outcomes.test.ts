/** The file of outcomes (contract §3 "Result"): one line for each row, whatever happened to the import. */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Summary } from '../../src/engine/model.js';
import { OUTCOMES, type Outcome } from '../../src/engine/run/outcome.js';
import { built, profiles } from '../support/child.js';
import { FaultServer, type Strike } from '../support/fault-server.js';
import { FAULTS, fates, status } from './faults.js';
import { Machine, type Outcome as Session, seeded } from './support.js';

let service: FaultServer;
let machine: Machine;
beforeEach(async () => {
  service = await new FaultServer().start();
  machine = new Machine(service.url);
});
afterEach(() => service.stop());

const run = (argv: string[]): Promise<Session> => machine.run(argv, { clock: machine.clock });

interface Line {
  file: string;
  line: number;
  id: string;
  outcome: Outcome;
  request: number | null;
  job_id: string | null;
  reason: string | null;
}

const linesOf = (path = 'out.ndjson'): Line[] =>
  readFileSync(join(machine.folder, path), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);

/** The lines, which count what the summary counts. */
function agreed({ rows }: Summary, path?: string): Line[] {
  const lines = linesOf(path);
  const count = (outcome: Outcome): number => lines.filter((line) => line.outcome === outcome).length;
  const { completed, submitted, failed, short, ...others } = Object.fromEntries(
    OUTCOMES.map((outcome) => [outcome, count(outcome)]),
  ) as Record<Outcome, number>;
  const { filtered, rejected, merged, unchanged, unknown = 0, unsent = 0 } = rows;
  expect({ ...others, sent: completed + submitted + failed + short }).toEqual({
    filtered,
    rejected,
    merged,
    unchanged,
    unknown,
    unsent,
    sent: rows.submitted,
  });
  expect(lines).toHaveLength(rows.read);
  return lines;
}

/** `2 a completed`: line, id and outcome. */
const short = (lines: readonly Line[]): string[] =>
  lines.map(({ line, id, outcome }) => `${line} ${id} ${outcome}`);

/** Companies by id, in this order, on lines from 2. */
const write = (path: string, ids: readonly string[]): void =>
  machine.write(path, `company_id,name\n${ids.map((id, i) => `${id},n${i}\n`).join('')}`);

const OUT = ['--outcomes', 'out.ndjson'];

test.each(['out.csv', 'out.ndjson'])(
  'beside the input, %s is not read with it, and is named alone',
  async (name) => {
    mkdirSync(join(machine.folder, 'in'));
    write('in/a.csv', ['a', 'b']);
    expect((await run(['import', 'in', '--outcomes', `in/${name}`])).code).toBe(0);
    const again = await run(['import', 'in']);
    expect([again.code, again.summary?.rows.read]).toEqual([0, 2]);
    const alone = await run(['import', `in/${name}`]);
    expect([alone.code, alone.stderr]).toEqual([
      2,
      expect.stringContaining(`in/${name}: is a file of outcomes`),
    ]);
  },
);

test('a folder that is gone at the end is an error of the file, with all that was sent', async () => {
  machine.write('in.csv', 'company_id,name\nc-1,Ann\n');
  mkdirSync(join(machine.folder, 'out'));
  service.trouble = {
    submit: () => {
      rmSync(join(machine.folder, 'out'), { recursive: true });
      symlinkSync('out', join(machine.folder, 'out')); // a loop: stat fails, too
      return undefined;
    },
  };
  const { code, summary, stderr } = await run(['import', 'in.csv', '--outcomes', 'out/o.ndjson']);
  expect([code, summary?.rows.submitted], stderr).toEqual([1, 1]);
  expect(stderr).not.toContain('bug');
});

test('rejected, merged, filtered and completed rows, in the order of the files', async () => {
  machine.write('a.csv', 'company_id,name,c\na,1,DE\n,2,DE\nb,3,FR\na,4,DE\n,5,FR\nc,6,DE\n');
  machine.write(
    'b.ndjson',
    '{"company_id":"d","c":"FR"}\n{"company_id":"a","c":"DE"}\n{"company_id":7,"c":"FR"}\n',
  );
  const { summary, stderr } = await run([
    'import',
    'a.csv',
    'b.ndjson',
    '--where',
    'c=DE',
    '--skip-invalid',
    ...OUT,
  ]);
  const lines = agreed(summary!);
  expect(short(lines), stderr).toEqual([
    '2 a completed',
    '3  rejected',
    '4 b filtered',
    '5 a merged',
    '6  filtered',
    '7 c completed',
    '1 d filtered',
    '2 a merged',
    '3 7 filtered',
  ]);
  expect(lines[3]).toEqual({
    file: 'a.csv',
    line: 5,
    id: 'a',
    outcome: 'merged',
    request: 1,
    job_id: 'job-1',
    reason: 'merged into an earlier row of the same identifier',
  });
  expect(lines[1]!.reason).toBe('company_id is empty');
});

test('unchanged rows, and rows whose identifier another import has sent since', async () => {
  write('a.csv', ['a', 'b', 'c', 'd']);
  await run(['import', 'a.csv']);
  machine.write('a.csv', 'company_id,name\na,n0\nb,new\nc,new\nd,n3\ne,new\n');
  service.trouble.submit = (n) => (n === 2 ? status(503) : undefined);
  const stopped = await run(['import', 'a.csv', '--changed-only', '-o', 'retries=0', ...OUT]);
  const first = agreed(stopped.summary!);
  expect([stopped.code, short(first)]).toEqual([
    6,
    ['2 a unchanged', '3 b unknown', '4 c unknown', '5 d unchanged', '6 e unknown'],
  ]);
  expect(first[1]!.reason).toMatch(/it may have arrived: .*503/);
  service.trouble = {};
  write('newer.csv', ['c']);
  const newer = await run(['import', 'newer.csv']);
  const last = await run(['resume', stopped.summary!.run!]);
  expect([last.code, last.summary!.rows.unknown], last.stderr).toEqual([5, 1]);
  const lines = agreed(last.summary!);
  expect(short(lines)).toEqual([
    '2 a unchanged',
    '3 b completed',
    '4 c unknown',
    '5 d unchanged',
    '6 e completed',
  ]);
  expect(lines[2]).toMatchObject({
    request: 1,
    reason: expect.stringMatching(
      new RegExp(`^it may have arrived: .*503.*; sent later by ${newer.summary!.run}$`),
    ),
  });
});

describe('requests that do not complete', () => {
  const bad: Strike = async (exchange) => {
    const { ids } = await exchange.read();
    return ids.includes('bad') ? status(422)(exchange) : exchange.acknowledge();
  };

  test('failed, short, lost, and not waited for', async () => {
    write('a.csv', ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']);
    service.trouble = {
      fate: (nth) => [fates.failed, fates.short][nth - 1],
      submit: (n) => (n === 3 ? FAULTS['202 without job id'] : undefined),
    };
    const all = ['import', 'a.csv', '--chunk-size', '2', ...OUT];
    const ended = await run(all);
    const lines = agreed(ended.summary!);
    expect(lines.map(({ outcome, request, reason }) => [outcome, request, reason])).toEqual(
      [
        ['failed', 1, 'its job failed'],
        ['short', 2, 'its job completed 1 of 2 rows'],
        ['submitted', 3, expect.stringContaining('job')],
        ['completed', 4, null],
      ].flatMap((line) => [line, line]),
    );
    service.trouble = {};
    const again = await run(['resume', '--failed']);
    expect(agreed(again.summary!).map(({ outcome, request }) => [outcome, request])).toEqual(
      [5, 6, 7, 4].flatMap((request) => [
        ['completed', request],
        ['completed', request],
      ]),
    );
    rmSync(join(machine.folder, 'out.ndjson'));
    const sent = await run([...all, '--no-wait']);
    expect(new Set(agreed(sent.summary!).map(({ outcome }) => outcome))).toEqual(new Set(['submitted']));
  });

  test('refused: the run stops, or its rows are rejected, or only the one at fault', async () => {
    write('a.csv', ['a', 'b', 'bad', 'd', 'e', 'f']);
    service.trouble.submit = () => bad;
    const all = ['import', 'a.csv', '--chunk-size', '2', ...OUT];
    const stopped = await run(all);
    expect(short(agreed(stopped.summary!))).toEqual([
      '2 a completed',
      '3 b completed',
      ...['4 bad', '5 d', '6 e', '7 f'].map((row) => `${row} unsent`),
    ]);
    expect(linesOf()[2]!.reason).toMatch(/422/);
    const goesOn = await run([...all, '--on-failure', 'continue']);
    expect(agreed(goesOn.summary!).map(({ outcome }) => outcome)).toEqual([
      'completed',
      'completed',
      'rejected',
      'rejected',
      'completed',
      'completed',
    ]);
    const isolated = await run([...all, '--on-failure', 'isolate']);
    const lines = agreed(isolated.summary!);
    expect(short(lines).filter((line) => !line.endsWith('completed'))).toEqual(['4 bad rejected']);
    expect(lines[2]!.reason).toMatch(/422/);
  });

  test('of unchanged rows, those beside a row at fault stay so when its request is taken apart', async () => {
    const ids = Array.from({ length: 12 }, (_, i) => `c${i}`);
    write('a.csv', ids);
    await run(['import', 'a.csv']);
    const text = ids.map((id, i) => (i % 3 === 0 ? `${id},n${i}\n` : `${id},new\n`)).join('');
    machine.write('a.csv', `company_id,name\n${text.replace('c7,new\n', 'bad,new\n')}`);
    service.trouble.submit = () => bad;
    const ended = await run(['import', 'a.csv', '--changed-only', '--on-failure', 'isolate', ...OUT]);
    const lines = agreed(ended.summary!);
    expect(lines.map(({ outcome }, i) => [i, outcome])).toEqual(
      ids.map((_, i) => [i, i % 3 === 0 ? 'unchanged' : i === 7 ? 'rejected' : 'completed']),
    );
    // Without requests to spend, what is left is given up, and the rows beside it are still unchanged.
    const few = await run([
      'import',
      'a.csv',
      '--changed-only',
      '--on-failure',
      'isolate',
      '-o',
      'isolate_jobs=1',
      ...OUT,
    ]);
    expect(agreed(few.summary!).filter(({ outcome }) => outcome === 'unchanged').length).toBeGreaterThan(0);
  });

  test('too many rows are invalid: nothing was sent', async () => {
    write('a.csv', ['a', '', 'c']);
    const refused = await run(['import', 'a.csv', ...OUT]);
    expect(refused.code).toBe(5);
    expect(short(agreed(refused.summary!))).toEqual(['2 a unsent', '3  rejected', '4 c unsent']);
    expect(linesOf()[0]!.reason).toBe('nothing was sent: rows are invalid');
  });
});

describe('the file', () => {
  test('CSV with cells unaltered, private, and written anew; a link stays a link', async () => {
    machine.write('a.csv', 'company_id,name\n=1+1,x\n"a,""b""",y\n" c ",z\n');
    machine.write('real.csv', 'file,line,id,outcome,request,job_id,reason\nof before\n', 0o644);
    symlinkSync('real.csv', join(machine.folder, 'out.csv'));
    const { summary } = await run(['import', 'a.csv', '--outcomes', 'out.csv']);
    expect(summary!.status).toBe('completed');
    expect(readFileSync(join(machine.folder, 'real.csv'), 'utf8')).toBe(
      'file,line,id,outcome,request,job_id,reason\na.csv,2,=1+1,completed,1,job-1,\na.csv,3,"a,""b""",completed,1,job-1,\na.csv,4," c ",completed,1,job-1,\n',
    );
    expect(statSync(join(machine.folder, 'real.csv')).mode & 0o777).toBe(0o600);
  });

  test.each([
    ['an input', 'a.csv', /it is a file of this import/],
    ['an input by another name', 'link.csv', /it is a file of this import/],
    ['the rejects file', 'r.csv', /--rejects and --outcomes both name/],
    ['the rejects file by another name', 'rejects.csv', /it is a file of this import/],
    ['a directory', '.', /it is a folder/],
    ['nowhere', 'no/such/out.csv', /its folder does not exist/],
    ['stdout', '-', /--outcomes takes the name of a file/],
  ])('%s: refused before anything is sent', async (_, path, message) => {
    write('a.csv', ['a']);
    machine.write('r.csv', 'keep');
    symlinkSync('a.csv', join(machine.folder, 'link.csv'));
    symlinkSync('r.csv', join(machine.folder, 'rejects.csv'));
    const before = readFileSync(join(machine.folder, 'a.csv'), 'utf8');
    const refused = await run(['import', 'a.csv', '--rejects', 'r.csv', '--outcomes', path]);
    expect([refused.code, refused.error!.message, service.seen.submit]).toEqual([
      2,
      expect.stringMatching(message),
      0,
    ]);
    expect(readFileSync(join(machine.folder, 'a.csv'), 'utf8')).toBe(before);
    expect(readFileSync(join(machine.folder, 'r.csv'), 'utf8')).toBe('keep');
  });

  test('there is none of a dry run', async () => {
    write('a.csv', ['a']);
    expect((await run(['import', 'a.csv', '--dry-run', ...OUT])).code).toBe(2);
  });

  test('a full disk: one sentence, and a resume writes it elsewhere and sends nothing', async () => {
    write('a.csv', ['a', 'b']);
    const full = await run(['import', 'a.csv', '--outcomes', '/dev/full']);
    expect([full.code, full.error!.message]).toEqual([
      1,
      '/dev/full cannot be written: no space left on device (ENOSPC)',
    ]);
    expect(full.stderr).not.toMatch(/\n\s+at /);
    expect(full.summary).toMatchObject({ status: 'stopped', rows: { submitted: 2, completed: 2 } });
    const last = await run(['resume', ...OUT]);
    expect([last.code, service.seen.submit]).toEqual([0, 1]);
    expect(short(agreed(last.summary!))).toEqual(['2 a completed', '3 b completed']);
  });

  test.skipIf(!existsSync('/proc/self/fd'))('a full disk: no input stays open', async () => {
    // More than is read at once, and outcomes enough to be written before the end of the input.
    const note = 'x'.repeat(90);
    const rows = Array.from({ length: 60_000 }, (_, i) => `${i || ''},${i % 2 ? 'DE' : 'FR'},${note}\n`);
    machine.write('a.csv', `company_id,country,note\n${rows.join('')}`);
    const full = await run(['import', 'a.csv', '--where', 'country=FR', '--outcomes', '/dev/full']);
    expect([full.code, full.error!.message]).toEqual([1, expect.stringContaining('/dev/full cannot be')]);
    const input = join(machine.folder, 'a.csv');
    const isOpen = (): boolean =>
      readdirSync('/proc/self/fd').some((fd) => {
        const link = `/proc/self/fd/${fd}`;
        return lstatSync(link, { throwIfNoEntry: false }) !== undefined && readlinkSync(link) === input;
      });
    await expect.poll(isOpen).toBe(false);
  });
});

describe('killed three times', () => {
  beforeAll(built);
  test('20,000 rows: the file agrees with what the service took, row by row', {
    timeout: 600_000,
  }, async () => {
    const random = seeded(7);
    const rows = Array.from({ length: 20_000 }, (_, i) =>
      random() < 0.01 ? '' : `c${random() < 0.02 ? Math.floor(random() * 20_000) : i}`,
    );
    write('a.csv', rows);
    service.trouble = {
      submit: () => async (exchange) => {
        await wait(20);
        return exchange.acknowledge();
      },
    };
    const flags = [
      '--skip-invalid',
      '--chunk-size',
      '200',
      '-o',
      'interval=1ms',
      '--concurrency',
      '3',
      '--outcomes',
      'out.ndjson',
    ];
    const folder = { cwd: machine.folder, env: machine.env };
    let argv = ['import', 'a.csv', ...flags];
    for (let kill = 1; kill <= 3; kill++) {
      const goal = service.seen.submit + 15;
      const child = profiles(argv, folder);
      await expect
        .poll(() => service.seen.submit, { timeout: 60_000, interval: 5 })
        .toBeGreaterThanOrEqual(goal);
      child.kill('SIGKILL');
      expect((await child.ended).signal).toBe('SIGKILL');
      argv = ['resume'];
    }
    const last = await profiles(['resume', '--json'], folder).ended;
    expect(last.code, last.stderr).toBe(5);
    const lines = agreed(JSON.parse(last.stdout) as Summary);
    expect(lines.map(({ id }) => id)).toEqual(rows);
    // What each job was given, by the service's own ledger.
    const jobs = new Map<string, Set<string>>(
      service.ledger.arrivals.map(({ ids }, i) => [`job-${i + 1}`, new Set(ids)]),
    );
    const wrong = lines.filter(({ id, outcome, job_id, reason }) =>
      id === ''
        ? outcome !== 'rejected' || reason !== 'company_id is empty'
        : !(outcome === 'completed' || outcome === 'merged') || !jobs.get(job_id!)?.has(id),
    );
    expect(wrong).toEqual([]);
    const sent = lines.filter(({ outcome }) => outcome === 'completed');
    expect(sent.length).toBe(
      [...new Set(sent.map(({ job_id }) => job_id))].reduce((sum, job) => sum + jobs.get(job!)!.size, 0),
    );
  });
});
