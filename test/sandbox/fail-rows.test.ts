/** Rows at fault: which items a rule names, and what a request that holds one of them comes to. */
import { describe, expect } from 'vitest';
import { atFaultLast } from '../../src/sandbox/limits.js';
import { ManualClock, test } from '../support/sandbox.js';
import { COMPANIES, post } from './http.js';

const item = (id: string, metadata: object | null = null, companyId: string | null = null) => ({
  id,
  companyId,
  metadata: metadata && JSON.stringify(metadata),
});

describe('a rule names', () => {
  test.for<[rule: readonly [string, string], bad: string[]]>([
    [['user_id', 'u1'], ['u1']],
    [['company_id', 'c1'], ['u2']],
    [['plan', 'gold'], ['u3']],
    [['seats', '5'], ['u4']],
    [['seats', '5.0'], []],
    [['active', 'true'], ['u5']],
    [['gone', 'null'], ['u5']],
    [['__proto__', 'x'], []],
    [['toString', 'x'], []],
  ])('%j', ([rule, bad]) => {
    const items = [
      item('u1'),
      item('u2', {}, 'c1'),
      item('u3', { plan: 'gold' }),
      item('u4', { seats: 5 }),
      item('u5', { active: true, gone: null }),
    ];
    const { items: ordered, atFault } = atFaultLast('users', items, [rule]);
    expect(ordered.slice(items.length - atFault).map(({ id }) => id)).toEqual(bad);
    expect(new Set(ordered)).toEqual(new Set(items));
  });
});

const BODY = JSON.stringify({
  companies: ['a', 'wrong', 'b'].map((company_id) => ({ company_id, metadata: { name: company_id } })),
});

test.for([
  ['failed', 202, 'failed', []],
  ['short', 202, 'completed', ['a', 'b']],
  ['422', 422, null, []],
] as const)('%s', async ([failRowsWith, status, ends, held], { start }) => {
  const clock = new ManualClock();
  const failRows = [['name', 'wrong']] as const;
  const sandbox = await start({ clock, limits: { failRows, failRowsWith } });
  const reply = await post(sandbox, COMPANIES, BODY);
  expect(reply.status).toBe(status);
  expect(reply.text).not.toContain('wrong');
  clock.advance(1_000);
  if (ends !== null) {
    const { job_id } = reply.json() as { job_id: string };
    const polled = await fetch(`${sandbox.url}/v1/background_jobs/${encodeURIComponent(job_id)}`, {
      headers: { authorization: `Token ${sandbox.token}` },
    });
    expect(await polled.json()).toMatchObject({ status: ends, total_rows: 3 });
  }
  expect(['a', 'wrong', 'b'].filter((id) => sandbox.show('companies', id))).toEqual(held);
});
