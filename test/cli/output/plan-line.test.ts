/** The line about a plan. */
import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { planLine } from '../../../src/cli/facts/outcome.js';
import type { PlanTotals } from '../../../src/engine/plan-changes.js';
import { cli, scratch } from '../../support/cli.js';
import { environmentOf, test as sandboxTest } from '../../support/sandbox.js';

const totals = (over: Partial<PlanTotals>): PlanTotals => ({
  ...{ read: 840, filtered: 0, rejected: 0, merged: 0, unchanged: 0, to_send: 840 },
  ...{ requests: 1, bytes: 40_000, stopped_by: null },
  ...over,
});

test.each<[Partial<PlanTotals>, string]>([
  [{}, '840 rows: 840 to send in 1 request (39.1 KiB)'],
  [
    { read: 2_000, unchanged: 1_999, to_send: 1, bytes: 62 },
    '2,000 rows: 1,999 unchanged, 1 to send in 1 request (62 B)',
  ],
  [
    { rejected: 23, to_send: 817, stopped_by: 'invalid' },
    '840 rows: 23 invalid; nothing will be sent (817 valid)',
  ],
  [{ rejected: 23, to_send: 817, requests: null, bytes: null }, '840 rows: 23 invalid, 817 to send'],
  [
    { unchanged: 40, to_send: 800, stopped_by: 'changed' },
    '840 rows: 40 unchanged; nothing will be sent (800 new or changed)',
  ],
  [{ stopped_by: 'changed' }, '840 rows: nothing will be sent (840 new or changed)'],
  [{ unchanged: 840, to_send: 0, requests: 0 }, '840 rows: 840 unchanged, nothing to send'],
  [
    { filtered: 20, merged: 10, to_send: 810, requests: 2 },
    '840 rows: 20 filtered, 10 merged, 810 to send in 2 requests (39.1 KiB)',
  ],
])('%j: %s', (over, line) => {
  expect(planLine(totals(over))).toBe(line);
});

sandboxTest('an import says what it will do before it does it', async ({ sandbox }) => {
  const rows = Array.from({ length: 20 }, (_, n) => `c${n},${n}\n`);
  const cwd = scratch({ 'a.csv': `company_id,n\n${rows.join('')}` });
  const env = environmentOf(sandbox);
  const said = async (...words: string[]): Promise<string> => {
    const { stderr } = await cli(['import', 'a.csv', '-o', 'interval=5ms', ...words], { cwd, env });
    return /^\d\d:\d\d:\d\d (\d+ rows?: .*)$/m.exec(stderr)?.[1] ?? stderr;
  };
  expect(await said()).toBe('20 rows: 20 to send in 1 request (815 B)');
  // What is unchanged is in no request; an import counts them as a dry run does, which builds none of them.
  writeFileSync(`${cwd}/a.csv`, `company_id,n\n${rows.join('').replace('c7,7', 'c7,8')}`);
  const changed = '20 rows: 19 unchanged, 1 to send in 1 request (54 B)';
  expect(await said('--changed-only', '--dry-run')).toBe(changed);
  expect(await said('--changed-only', '--save-plan', 'plan.json')).toBe(changed);
  expect(await said('--changed-only')).toBe(changed);
  expect(await said('--changed-only', '--max-changed', '0')).toBe('20 rows: 20 unchanged, nothing to send');
  writeFileSync(`${cwd}/a.csv`, `company_id,n\n,1\n${rows.join('')}`);
  expect(await said()).toBe('21 rows: 1 invalid; nothing will be sent (20 valid)');
  expect(await said('--skip-invalid')).toBe('21 rows: 1 invalid, 20 to send in 1 request (815 B)');
});
