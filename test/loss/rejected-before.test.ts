/** Rows that a search for rows at fault rejected are left out of the next import of changes, and hold back nothing. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FaultServer } from '../support/fault-server.js';
import { status } from './faults.js';
import { Machine } from './support.js';

let service: FaultServer;
let machine: Machine;
/** Ids that fail the job of every request that has one of them. */
let atFault: Set<string>;

beforeEach(async () => {
  service = await new FaultServer().start();
  machine = new Machine(service.url);
  atFault = new Set(['c3']);
  const failing = new Set<number>();
  service.trouble = {
    submit: () => async (exchange) => {
      const { ids } = await exchange.read();
      if (ids.some((id) => atFault.has(id))) {
        failing.add(service.ledger.arrivals.filter(({ accepted }) => accepted).length + 1);
      }
      await exchange.acknowledge();
    },
    fate: (job) => (record) =>
      failing.has(job)
        ? { ...record, status: 'failed', message: 'the plan is not known' }
        : { ...record, status: 'completed', completed_rows: record.total_rows },
  };
});
afterEach(() => service.stop());

const REASON = 'the service failed the job of this row alone: the plan is not known';

const write = (plan: string, path = 'c.csv'): void =>
  machine.write(
    path,
    `company_id,plan\n${[1, 2, 3, 4, 5].map((n) => `c${n},${n === 3 ? plan : 'a'}`).join('\n')}\n`,
  );
const run = (line: string) => machine.run([...line.split(' ')]);
const changes = (more = '') => run(`import c.csv --changed-only --on-failure isolate${more}`);
/** How often an id was sent so far. */
const sent = (id: string): number => service.ledger.timesAccepted.get(id) ?? 0;

/** The first import finds the row at fault. */
async function rejectIt(): Promise<{ run: string; sent: number }> {
  write('x');
  const { code, summary } = await changes();
  expect([code, summary!.rows]).toMatchObject([5, { rejected: 1, completed: 4 }]);
  return { run: summary!.run!, sent: sent('c3') };
}

test('the row is counted as rejected with the words of the service, and nothing is sent', async () => {
  const first = await rejectIt();
  for (let time = 0; time < 2; time++) {
    const { code, summary } = await changes();
    expect(code).toBe(5);
    expect(summary!).toMatchObject({ status: 'partial', requests: 0, resume: null });
    expect(summary!.rows).toMatchObject({ read: 5, rejected: 1, unchanged: 4, submitted: 0 });
    expect(summary!.rejected).toEqual([{ file: 'c.csv', line: 4, reason: REASON }]);
    const { next } = summary as unknown as { next: string[] };
    expect(next).toEqual([expect.stringMatching(/^profiles import c\.rejects\S*\.csv/)]);
    const [file] = summary!.files;
    expect(file).toMatchObject({ rows: { rejected: 1 } });
    const kept = readFileSync(join(machine.folder, file!.rejects_file!), 'utf8');
    expect(kept).toContain('c3,x,');
    expect(kept).toContain(REASON);
  }
  expect(sent('c3')).toBe(first.sent);
});

test('other rows are sent, without --skip-invalid, and each says what became of it', async () => {
  const first = await rejectIt();
  const unchanged = sent('c1');
  machine.write('c.csv', 'company_id,plan\nc1,a\nc2,b\nc3,x\nc4,b\nc6,a\n');
  const { code, summary } = await changes(' --outcomes outcomes.ndjson --concurrency 1');
  expect(code).toBe(5);
  expect(summary!.rows).toMatchObject({ read: 5, rejected: 1, unchanged: 1, submitted: 3, completed: 3 });
  expect(sent('c3')).toBe(first.sent);
  expect([sent('c6'), sent('c1')]).toEqual([1, unchanged]);
  const lines = readFileSync(join(machine.folder, 'outcomes.ndjson'), 'utf8').trimEnd().split('\n');
  const outcomes = lines.map((line) => JSON.parse(line) as { outcome: string; reason: string | null });
  expect(outcomes.map(({ outcome }) => outcome)).toEqual([
    'unchanged',
    'completed',
    'rejected',
    'completed',
    'completed',
  ]);
  expect(outcomes[2]!.reason).toBe(REASON);
});

test('an invalid row holds back the others, and is named apart', async () => {
  await rejectIt();
  machine.write('c.csv', 'company_id,plan\nc1,a\n,b\nc3,x\nc4,b\n');
  const { code, summary, stderr } = await changes();
  expect([code, summary!.status]).toEqual([5, 'rejected']);
  const planned = await changes(' --skip-invalid -n');
  expect([planned.code, planned.summary!.rows]).toMatchObject([5, { rejected: 2, unchanged: 1, unsent: 1 }]);
  expect(stderr).toContain('1 invalid');
});

test('a changed cell, --full, and an import of everything send it', async () => {
  const first = await rejectIt();
  write('y');
  expect((await changes()).summary!.rows).toMatchObject({ rejected: 1, unchanged: 4 });
  const again = sent('c3');
  expect(again).toBeGreaterThan(first.sent);
  // Now this content is the one that was rejected last.
  expect((await changes()).summary!.requests).toBe(0);
  write('x');
  atFault.clear();
  expect((await changes()).summary!.rows).toMatchObject({ rejected: 0, unchanged: 4, completed: 1 });
  expect((await changes()).summary!).toMatchObject({ status: 'completed', rows: { unchanged: 5 } });
});

test.each(['--full', '--on-failure isolate'])('import %s sends it', async (flags) => {
  const first = await rejectIt();
  atFault.clear();
  const { code, summary } = await run(`import c.csv ${flags}`);
  expect([code, summary!.rows.completed]).toEqual([0, 5]);
  expect(sent('c3')).toBe(first.sent + 1);
  expect((await changes()).summary!.rows.unchanged).toBe(5);
});

test.each(['the run that rejected it', 'the run that left it out'])(
  'resume --failed of %s sends it',
  async (which) => {
    const first = await rejectIt();
    const second = (await changes()).summary!.run!;
    atFault.clear();
    const { code, summary } = await run(
      `resume ${which.endsWith('rejected it') ? first.run : second} --failed`,
    );
    expect([code, summary!.status, summary!.rows.rejected]).toEqual([0, 'completed', 0]);
    expect(sent('c3')).toBe(first.sent + 1);
    expect((await changes()).summary!.rows.unchanged).toBe(5);
  },
);

test('rows of another account or kind do not count', async () => {
  await rejectIt();
  machine.env = { ...machine.env, PROFILES_TOKEN: 'tok_another_one' };
  atFault.clear();
  expect((await changes()).summary!.rows).toMatchObject({ rejected: 0, completed: 5 });
  machine.env = { ...machine.env, PROFILES_TOKEN: 'tok_0123456789' };
  machine.write('u.csv', 'user_id,plan\nc3,x\n');
  expect((await run('import u.csv --changed-only')).summary!.rows).toMatchObject({
    rejected: 0,
    completed: 1,
  });
  expect((await changes()).summary!.rows.rejected).toBe(1);
});

test('a plan says so, and applying it leaves the row out', async () => {
  const first = await rejectIt();
  machine.write('c.csv', 'company_id,plan\nc1,a\nc2,b\nc3,x\nc4,b\n');
  const planned = await changes(' --save-plan plan.json');
  expect(planned.code).toBe(5);
  expect(planned.summary!.rows).toMatchObject({ read: 4, rejected: 1, unchanged: 1, unsent: 2 });
  expect(planned.summary!.plan!.changes).toMatchObject({ changed: 2, rejected: 1, unchanged: 1 });
  expect(planned.stderr).toContain('4 rows: 1 rejected before, 1 unchanged, 2 to send in 2 requests');
  const { code, summary } = await run('apply plan.json');
  expect(code).toBe(5);
  expect(summary!.rows).toMatchObject({ read: 4, rejected: 1, unchanged: 1, completed: 2 });
  expect(summary!.rejected).toEqual([{ file: 'c.csv', line: 4, reason: REASON }]);
  expect(sent('c3')).toBe(first.sent);
});

test('nothing is left to send: a plan names the import that writes the rejects file', async () => {
  await rejectIt();
  const { code, summary } = await changes(' -n');
  expect([code, summary!.plan]).toMatchObject([5, { requests: 0, changes: { rejected: 1 } }]);
  const [next] = (summary as unknown as { next: string[] }).next;
  expect(next).toContain('profiles import c.csv --changed-only');
  expect(next).not.toMatch(/--skip-invalid|-n\b/);
});

test('rows that were unchanged stay so while the row is sent again, and that stops', async () => {
  await rejectIt();
  const { summary: left } = await changes();
  service.trouble = { submit: () => status(401) };
  const { summary } = await run(`resume ${left!.run} --failed --on-failure isolate`);
  expect(summary!).toMatchObject({ status: 'stopped', rows: { unchanged: 4, unsent: 1 } });
});
