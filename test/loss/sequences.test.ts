/**
 * Faults upon faults: seeded random sequences over several requests, several sessions and all settings that
 * bear on order. `LOSS_SEED=17` runs one of them.
 */
import { expect, test } from 'vitest';
import type { Strike } from '../support/fault-server.js';
import { type Outcome, workspace } from '../support/workspace.js';
import { FAULTS, fates, status } from './faults.js';
import { balance, type Companies, exitOf, resumeToTheEnd, seeded, seeds } from './support.js';

const STATUSES = [301, 400, 401, 404, 408, 409, 413, 422, 429, 500, 503, 505];
const SUBMISSIONS: Strike[] = [...Object.values(FAULTS), ...STATUSES.map((code) => status(code))];
const POLLS: Strike[] = [404, 404, 429, 500, 502, 401].map((code) => (exchange) => exchange.reply(code, ''));

const rows = Array.from({ length: 24 }, (_, i) => [`c-${i}`, `Company ${i}`]);
const json = rows.map(([company_id, name]) => JSON.stringify({ company_id, name }));
const starting = (line: number): Companies['ids'] => new Map(rows.map(([id], i) => [line + i, id!]));
const FILES: Companies[] = [
  {
    path: 'a.csv',
    ids: starting(2),
    text: `company_id,name\n${rows.map((row) => row.join(',')).join('\n')}`,
  },
  { path: 'a.ndjson', ids: starting(1), text: json.join('\n') },
  { path: 'a.json', ids: starting(1), text: `[${json.join(',')}]` },
];

const { service, machine, run } = workspace();

test.each(seeds(15))('seed %i', async (seed) => {
  const random = seeded(seed);
  const one = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)]!;
  const file = one(FILES);
  machine.write(file.path, file.text);

  // The deadline passes in real time: it is the network's.
  let flags = `--chunk-size ${one([3, 5, 24])} --concurrency ${one([1, 2, 8])} -o retries=${one([0, 1, 4])}`;
  if (random() < 0.3) flags += ' --on-failure continue';
  if (random() < 0.2) flags += ' --no-wait';
  const rate = one([0.2, 0.4, 0.7]);
  service.trouble = {
    submit: () => (random() < rate ? one(SUBMISSIONS) : undefined),
    poll: () => (random() < rate / 3 ? one(POLLS) : undefined),
    fate: () => (random() < rate / 5 ? one([fates.failed, fates.short, fates['unknown status']]) : undefined),
  };

  const holds = async (outcome: Outcome): Promise<void> => {
    expect(outcome.summary, outcome.stderr).not.toBeNull();
    expect(outcome.code, outcome.stderr).toBe(exitOf(outcome));
    await balance(outcome.summary!, machine, service, file);
  };
  let outcome = await run(`import ${file.path} ${flags} -o request_timeout=150ms`);
  await holds(outcome);
  for (let session = 0; session < 3 && outcome.summary!.resume; session++) {
    outcome = await run('resume -o request_timeout=150ms');
    await holds(outcome);
  }
  service.trouble = {};
  outcome = await resumeToTheEnd(machine, outcome);
  await holds(outcome);
  const { rejected, submitted, unknown, unsent } = outcome.summary!.rows;
  expect([submitted + rejected, unknown, unsent]).toEqual([rows.length, undefined, undefined]);
  expect(service.ledger.profiles.companies.size).toBeGreaterThanOrEqual(submitted);
});
