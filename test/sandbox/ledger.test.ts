import { describe, expect, it } from 'vitest';
import { Ledger, type LedgerEntry } from '../../src/sandbox/ledger.js';

/** Opens an entry of a request that has no reply yet. */
const open = (ledger: Ledger, change: Partial<LedgerEntry> = {}): LedgerEntry =>
  ledger.open({
    time: '2026-01-15T12:00:00.000Z',
    listener: 'default',
    method: 'POST',
    path: '/v1/users/bulk_identify',
    operation: 'submit',
    request_id: 'r',
    status: null,
    duration_ms: null,
    fault: null,
    error: null,
    accepted: null,
    ...change,
  });

describe('a ledger', () => {
  it('keeps the newest entries, under their numbers', () => {
    const ledger = new Ledger();
    for (let n = 1; n <= 110_001; n++) open(ledger);
    expect(ledger.count).toBe(100_000);
    expect([10_001, 10_002, 110_001, 110_002].map((n) => ledger.get(n)?.n)).toEqual([
      undefined,
      10_002,
      110_001,
      undefined,
    ]);
  });

  it('counts as problems what failed, also without a reply, and not what is under way', () => {
    const ledger = new Ledger();
    open(ledger); // under way
    open(ledger, { duration_ms: 5 }); // ended without a reply
    open(ledger, { status: 202, duration_ms: 5 });
    open(ledger, { status: 202, duration_ms: 5, fault: 'slow:nth=1' });
    open(ledger, { status: 404, duration_ms: 5 });
    const { total, entries } = ledger.page('problems', 0, 10);
    expect([total, entries.map(({ n }) => n)]).toEqual([3, [5, 4, 2]]);
  });

  it('has nothing on a page after the last one', () => {
    const ledger = new Ledger();
    for (let n = 1; n <= 3; n++) open(ledger);
    expect(ledger.page('all', 2, 10).entries.map(({ n }) => n)).toEqual([1]);
    expect(ledger.page('all', 5, 10)).toEqual({ total: 3, entries: [] });
  });

  it('tells those who watch it when it was cleared', () => {
    const ledger = new Ledger();
    open(ledger);
    const { revision } = ledger;
    ledger.clear();
    expect([ledger.count, ledger.revision > revision]).toEqual([0, true]);
  });
});
