/** A program that plans to a file, carries the plan out, is stopped, and continues. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import {
  type ImportRequest,
  type ImportResult,
  InputError,
  planImport,
  runImport,
} from '../../../src/engine/index.js';
import type { Sandbox } from '../../../src/sandbox/index.js';
import { requestTo, test } from '../../support/sandbox.js';

const ROWS = 6;

const aPlace = (sandbox: Sandbox) => requestTo(sandbox, {}, ROWS);

/** Imports until a request was sent. */
async function stopped(request: ImportRequest): Promise<ImportResult> {
  const stop = new AbortController();
  const run = runImport({ ...request, signal: stop.signal });
  for await (const { type } of run) if (type === 'submitted') stop.abort('SIGINT');
  return run.result();
}

const bodies = (sandbox: Sandbox): number =>
  sandbox.ledger().filter(({ operation, accepted }) => operation === 'submit' && accepted).length;

describe('a plan', () => {
  test('is saved, carried out, stopped, and continued, each row once', async ({ sandbox }) => {
    const place = aPlace(sandbox);
    const { intervalMs: _, ...about } = place;
    const files = ['companies.csv'];
    const planned = await planImport({ ...about, files, chunkSize: 2, savePlan: 'plan.json' });
    expect(planned.valid).toBe(true);
    expect(bodies(sandbox)).toBe(0);
    const saved = JSON.parse(readFileSync(join(place.cwd, 'plan.json'), 'utf8'));
    expect(saved).toMatchObject({ digest: planned.plan.digest, totals: { to_send: ROWS, requests: 3 } });

    const first = await stopped({ ...place, plan: 'plan.json' });
    expect(first.summary).toMatchObject({ run: saved.run, status: 'interrupted' });
    expect(first.summary.rows.unsent).toBeGreaterThan(0);
    const { summary, failure } = await runImport({ ...place, plan: 'plan.json' }).result();
    expect(failure).toBeNull();
    expect(summary).toMatchObject({
      run: saved.run,
      status: 'completed',
      rows: { read: ROWS, completed: ROWS },
    });
    expect(bodies(sandbox)).toBe(3);

    const over = runImport({ ...place, plan: 'plan.json' }).result();
    await expect(over).rejects.toThrow(`run ${saved.run} has applied this plan already; nothing was sent`);
    expect(bodies(sandbox)).toBe(3);
    const again = await runImport({ ...place, plan: 'plan.json', again: true }).result();
    expect(again.summary).toMatchObject({ status: 'completed', rows: { completed: ROWS } });
    expect(again.summary.run).not.toBe(saved.run);
    expect(bodies(sandbox)).toBe(6);
  });

  test('is refused for another account, and of an input that has changed', async ({ sandbox }) => {
    const place = aPlace(sandbox);
    const { intervalMs: _, ...about } = place;
    await planImport({ ...about, files: ['companies.csv'], savePlan: 'plan.json' });
    const other = { ...place.service, token: 'another' };
    const elsewhere = runImport({ ...place, service: other, plan: 'plan.json' }).result();
    await expect(elsewhere).rejects.toThrow('the plan is for another token');
    writeFileSync(join(place.cwd, 'companies.csv'), 'company_id,name\n1,other\n');
    const changed = runImport({ ...place, plan: 'plan.json' }).result();
    await expect(changed).rejects.toThrow(InputError);
    expect(bodies(sandbox)).toBe(0);
  });
});

describe('a run', () => {
  test('continues by its id, with options of its own', async ({ sandbox }) => {
    const place = aPlace(sandbox);
    const { summary } = await stopped({ ...place, files: ['companies.csv'], chunkSize: 2 });
    const run = summary.run!;
    const last = await runImport({ ...place, run, outcomes: 'outcomes.csv' }).result();
    expect(last.summary).toMatchObject({ run, status: 'completed', rows: { completed: ROWS } });
    expect(bodies(sandbox)).toBe(3);
    const outcomes = readFileSync(join(place.cwd, 'outcomes.csv'), 'utf8').trim().split('\n');
    expect(outcomes.slice(1).every((line) => line.includes(',completed,'))).toBe(true);
    await expect(runImport({ ...place, run }).result()).rejects.toThrow('there is nothing to resume');
  });

  test('sends its failed rows again', async ({ sandbox }) => {
    const place = aPlace(sandbox);
    sandbox.faults.add('fail-job:first=1');
    const { summary } = await runImport({ ...place, files: ['companies.csv'] }).result();
    expect(summary.status).toBe('failed');
    const again = runImport({ ...place, run: summary.run!, again: true, onFailure: 'isolate' });
    const searching: unknown[] = [];
    for await (const event of again) if (event.type === 'job') searching.push(event.searching);
    const ended = (await again.result()).summary;
    expect(ended).toMatchObject({ run: summary.run, status: 'completed', rows: { completed: ROWS } });
    expect(searching).toContain(true);
  });
});

test('rows at fault are not searched where no job is followed', async ({ sandbox }) => {
  sandbox.faults.add('422:first=1');
  const request = {
    ...aPlace(sandbox),
    files: ['companies.csv'],
    wait: false,
    onFailure: 'isolate' as const,
  };
  const { summary } = await runImport(request).result();
  expect(summary).toMatchObject({ status: 'stopped', rows: { rejected: 0, unsent: ROWS } });
  expect(bodies(sandbox)).toBe(0);
});
