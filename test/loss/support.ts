/** Imports under bad conditions, and the books that must balance after each of them. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'vitest';
import type { RequestRecord } from '../../src/engine/model/requests.js';
import { rangesIn, type Summary } from '../../src/engine/model.js';
import type { Backend } from '../../src/engine/state/backend.js';
import { COPIED } from '../../src/engine/state/copy.js';
import type { CliOptions } from '../support/cli.js';
import type { FaultServer, Ledger } from '../support/fault-server.js';
import type { Machine, Outcome } from '../support/workspace.js';
import { fates, status } from './faults.js';

/**
 * `-o request_timeout` under a fault. The deadline is the network's, so it passes in real time: a fault that hangs costs as much, and
 * all else must be done by then on a busy machine too.
 */
export const deadlineUnder = (fault: string): string => (/hang|drip/.test(fault) ? '2s' : '30s');

/** A file of companies in which every id stands once, but for the one in lines 3 and 4. */
export interface Companies {
  path: string;
  /** By line, the header being line 1. */
  ids: Map<number, string>;
  text: string;
}

/**
 * Eleven companies in twelve rows: three requests at `--chunk-size 4`, one row of the first merged.
 * @param filler goes behind each name, to make large requests
 */
export function elevenCompanies(filler = ''): Companies {
  const rows = Array.from({ length: 11 }, (_, i) => [`c-${i}`, `Company ${i}${filler}`]);
  rows.splice(2, 0, ['c-1', 'Company 1, renamed']);
  const text = `company_id,name\n${rows.map(([id, name]) => `${id},"${name}"\n`).join('')}`;
  return { path: 'companies.csv', ids: new Map(rows.map((row, i) => [i + 2, row[0]!])), text };
}

const CRASH = pathToFileURL(join(import.meta.dirname, 'intercept.mjs')).href;

/** With this in its environment the built command is killed right before or right after its nth commit. @param at such as `before:3` */
export const crashAt = (at: string): Record<string, string> => ({
  NODE_OPTIONS: `--import ${CRASH}`,
  CRASH_AT: at,
});

/** Whether a line is among those of a request. */
export const covers = (range: { first_line: number; last_line: number }, line: number): boolean =>
  range.first_line <= line && line <= range.last_line;

/**
 * Holds what an import says of itself, and what it recorded, against the service's own ledger (contract §4,
 * the promise). For inputs of one file.
 */
export async function balance(
  summary: Summary,
  machine: Machine,
  { ledger }: { ledger: Pick<Ledger, 'timesAccepted' | 'resentAfterAcknowledgement'> },
  file: Companies,
): Promise<void> {
  const { read, rejected, merged, unchanged, submitted, unknown = 0, unsent = 0 } = summary.rows;
  expect(read).toBe(file.ids.size);
  expect(rejected + merged + unchanged + submitted + unknown + unsent).toBe(read);
  for (const count of Object.values(summary.rows)) expect(count).toBeGreaterThanOrEqual(0);

  const requests = await machine.requests(summary.run!);
  const stateOf = (line: number): RequestRecord['state'] | 'never sent' => {
    const states = requests.filter((r) => covers(r, line)).map((r) => r.state);
    // A request that was cut in two is withdrawn, and its halves stand behind it.
    return (
      states.findLast((state) => state !== 'withdrawn') ?? (states.length > 0 ? 'withdrawn' : 'never sent')
    );
  };
  const times = ledger.timesAccepted;
  const resent = ledger.resentAfterAcknowledgement;
  const recorded = new Set<string>();
  for (const [line, id] of file.ids) {
    if (id === '') continue; // an invalid row
    const state = stateOf(line);
    const accepted = times.get(id) ?? 0;
    const where = `line ${line}, ${id}, ${state}`;
    if (state === 'acknowledged' || state === 'settled') {
      recorded.add(id);
      expect(accepted, `${where}: said to have arrived`).toBeGreaterThan(0);
    }
    if (summary.maybe_sent_twice.flatMap(rangesIn).some((range) => covers(range, line))) continue;
    expect(accepted, `${where}: not named as maybe sent twice`).toBeLessThan(2);
    expect(resent, `${where}: not named, and sent again after its acknowledgement`).not.toContain(id);
    // What arrived and is not known to have arrived must be known to be unknown.
    const open = ['acknowledged', 'settled', 'intent', 'unknown'];
    if (accepted > 0) expect(open, `${where}: it did arrive`).toContain(state);
  }
  expect(submitted).toBe(recorded.size);
}

/** Resumes until nothing is left to do. */
export async function resumeToTheEnd(
  machine: Machine,
  from: Outcome,
  options: CliOptions = {},
): Promise<Outcome> {
  let last = from;
  for (let sessions = 0; last.summary?.resume; sessions++) {
    expect(sessions, 'a resume must get somewhere').toBeLessThan(10);
    expect(`${last.summary.resume} `).toContain(`profiles resume ${last.summary.run} `);
    last = await machine.run(['resume', last.summary.run!], options);
  }
  return last;
}

/** An event that a command with `--ndjson` has told. */
export interface Told {
  type: string;
  file: string;
  first_line: number;
  last_line: number;
  summary?: Summary;
}

/** The events in an output. One that was killed may have left half a line. */
export function eventsIn({ stdout }: { stdout: string }): Told[] {
  const whole = stdout.slice(0, stdout.lastIndexOf('\n') + 1).split('\n');
  return whole.flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Told]));
}

/** Lines that it says were submitted. */
export const submittedIn = (ended: { stdout: string }): Told[] =>
  eventsIn(ended).filter(({ type }) => type === 'submitted');

/** Chance that can be had again: the same seed gives the same numbers in [0, 1). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A state in which every table has rows: of a named account and of one that goes by its token; a run is unfinished. */
export async function fill(machine: Machine, service: FaultServer): Promise<void> {
  const rows = Array.from({ length: 12 }, (_, i) => `c-${i},Company ${i}\n`);
  machine.write('companies.csv', `company_id,name\n${rows.join('')},nobody\n`);
  machine.write('users.csv', 'user_id,company_id,name\nu-1,c-1,A\nu-2,c-2,B\n');
  machine.write('config.json', JSON.stringify({ accounts: { production: {} } }), 0o600);
  const env = { PROFILES_ACCOUNT: 'production' };
  const all = [
    await machine.run('import companies.csv --skip-invalid --chunk-size 5 -o track_keys=true'),
    await machine.run('import users.csv --config config.json', { env }),
    await machine.run('identify user u-3 --set name=C --no-wait'),
  ];
  expect(
    all.map(({ code }) => code),
    all.map(({ stderr }) => stderr).join('\n'),
  ).toEqual([5, 0, 0]);
  service.trouble = { fate: () => fates.failed, submit: (nth) => (nth === 7 ? status(503) : undefined) };
  machine.write('more.csv', 'company_id,name\nm-1,x\nm-2,y\n');
  await machine.run('import more.csv --chunk-size 1 -o retries=0 --set tier=gold');
  service.trouble = {};
  // The unfinished import may not overwrite what is verified since.
  await machine.run('import companies.csv --skip-invalid --changed-only --save-plan plan.json --dry-run');
  await machine.run('import companies.csv --skip-invalid --changed-only');
}

/** All rows of all tables, in any database. Closes it. */
export async function contentOf({ db }: Backend): Promise<Record<string, unknown[]>> {
  const plain = (value: unknown): unknown =>
    value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value;
  const content: Record<string, unknown[]> = {};
  for (const table of COPIED) {
    const rows = await db.read((on) => on.all<Record<string, unknown>>(`SELECT * FROM ${table}`));
    const texts = rows
      .filter(({ name }) => name !== 'moved_to')
      .map((row) => JSON.stringify(Object.entries(row).map(([name, value]) => [name, plain(value)])));
    content[table] = texts.sort();
  }
  await db.close();
  return content;
}
