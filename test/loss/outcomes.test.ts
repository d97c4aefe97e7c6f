/** The file of outcomes (contract §3 "Result"): one line for each row, whatever happened to the import. */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Summary } from '../../src/engine/model.js';
import { OUTCOMES, type Outcome } from '../../src/engine/run/outcome.js';
import { built, profiles } from '../support/child.js';
import { FaultServer } from '../support/fault-server.js';
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

/** Companies by id, in this order, on lines from 2. */
const write = (path: string, ids: readonly string[]): void =>
  machine.write(path, `company_id,name\n${ids.map((id, i) => `${id},n${i}\n`).join('')}`);

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

describe('the file', () => {
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
  test('8,000 rows: the file agrees with what the service took, row by row', {
    timeout: 600_000,
  }, async () => {
    const random = seeded(7);
    const rows = Array.from({ length: 8_000 }, (_, i) =>
      random() < 0.01 ? '' : `c${random() < 0.02 ? Math.floor(random() * 8_000) : i}`,
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
      '80',
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
