/**
 * Each fault by itself, over real sockets and through the whole import: once, and for good. After each, the
 * service's ledger and the summary must agree, and a resume must bring everything there (contract §4).
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { fastClock } from '../support/clock.js';
import { FaultServer, type Strike } from '../support/fault-server.js';
import { dated, FAULTS, status } from './faults.js';
import { balance, deadlineUnder, elevenCompanies, Machine, resumeToTheEnd } from './support.js';

const SEND = ['import', 'companies.csv', '--chunk-size', '4', '-o', 'retries=1'];

const small = elevenCompanies();
/** Requests of a quarter of a megabyte: a connection takes them in several pieces. */
const large = elevenCompanies('x'.repeat(64 * 1024));
let file = small;
let service: FaultServer;
let machine: Machine;

beforeEach(async () => {
  service = await new FaultServer().start();
  machine = new Machine(service.url);
});
afterEach(() => service.stop());

/** How an import ends: exit code, status, and whether the second of its three requests is named as maybe sent twice. */
interface End {
  exit: number;
  status: string;
  twice?: true;
  /** What the error must say. */
  says?: RegExp;
}

const DONE: End = { exit: 0, status: 'completed' };
const TWICE: End = { ...DONE, twice: true };
const UNTRACEABLE: End = { exit: 5, status: 'partial' };
const stops = (exit: number, says: RegExp, twice?: true): End => ({
  exit,
  status: 'stopped',
  says,
  ...(twice && { twice }),
});

interface Case {
  fault: string;
  strike: Strike;
  /** When it strikes the second request's first attempt only. */
  once: End;
  /** When it strikes every attempt from the second request on. */
  always: End;
}

const clock = fastClock();
const named = (fault: keyof typeof FAULTS, once: End, always: End): Case => ({
  fault,
  strike: FAULTS[fault],
  once,
  always,
});
const answered = (
  code: number,
  once: End,
  always: End = once,
  headers: Record<string, string> = {},
): Case => ({
  fault: [code, ...Object.values(headers)].join(' '),
  strike: status(code, headers),
  once,
  always,
});
const lost = (fault: keyof typeof FAULTS, says: RegExp): Case => named(fault, TWICE, stops(6, says, true));

const CASES: Case[] = [
  lost('reset before the body', /reset the connection before its reply/),
  lost('reset mid-body', /reset the connection before its reply/),
  lost('reset after acceptance', /reset the connection before its reply/),
  lost('closed without a word', /closed the connection before its reply/),
  lost('reply cut in its header', /closed the connection before its reply/),
  lost('reply cut in its body', /closed the connection in the middle of its reply/),
  lost('reply without its last chunk', /closed the connection in the middle of its reply/),
  lost('refusal cut in its body', /closed the connection in the middle of its reply/),
  lost('no HTTP at all', /not HTTP/),
  lost('hang before the reply', /no complete reply within 2\.0s/),
  lost('hang inside the reply', /no complete reply within 2\.0s/),
  lost('slow drip', /no complete reply within 2\.0s/),
  lost('accepted, then 408', /408/),
  lost('accepted, then 500', /500/),
  lost('accepted, then 504', /504/),
  lost('502 HTML', /502.*Bad gateway/),
  answered(408, TWICE, stops(6, /408/, true)),
  answered(500, TWICE, stops(6, /500/, true)),
  answered(504, TWICE, stops(6, /504/, true)),
  answered(505, TWICE, stops(6, /505/, true)),
  named('202 without job id', UNTRACEABLE, UNTRACEABLE),
  lost(
    '202 with broken JSON',
    /text that is not JSON.*: a proxy or a captive portal may answer in its place$/,
  ),
  lost('202 without a body', /with an empty body: a proxy or a captive portal may/),
  lost('200 HTML', /with an HTML page: a captive portal or a proxy answers in its place$/),
  named('connection closed after the reply', DONE, DONE),
  answered(301, stops(6, /redirects/)),
  answered(400, stops(6, /companies\.csv, lines 6 to 9: .*400.*answer 400/)),
  answered(401, stops(4, /refused the token/)),
  answered(403, stops(4, /refused the token/)),
  answered(404, stops(6, /404/)),
  answered(405, stops(6, /405/)),
  answered(409, DONE, stops(6, /busy for 30m/)),
  answered(413, DONE, { exit: 5, status: 'partial' }),
  named('413 before the body was read', DONE, { exit: 5, status: 'partial' }),
  answered(415, stops(6, /415/)),
  answered(418, stops(6, /418/)),
  answered(422, stops(6, /lines 6 to 9: .*422/)),
  answered(429, DONE, stops(6, /429/)),
  answered(429, DONE, stops(6, /429/), { 'retry-after': '2' }),
  answered(429, DONE, stops(6, /429/), { 'retry-after': '-1' }),
  answered(429, stops(6, /asks to wait/), stops(6, /asks to wait/), { 'retry-after': '86400' }),
  { fault: '429 until a date', strike: dated(429, clock, 120), once: DONE, always: stops(6, /429/) },
  answered(501, stops(6, /501/)),
  answered(503, TWICE, stops(6, /503/, true)),
  answered(503, DONE, stops(6, /503/), { 'retry-after': '1' }),
];

async function ends(fault: string, expected: End): Promise<void> {
  file = fault === 'reset mid-body' ? large : small;
  machine.write(file.path, file.text);
  const first = await machine.run([...SEND, '-o', `request_timeout=${deadlineUnder(fault)}`], { clock });
  expect(first.summary, first.stderr).not.toBeNull();
  expect({ exit: first.code, status: first.summary!.status }, first.stderr).toEqual({
    exit: expected.exit,
    status: expected.status,
  });
  if (expected.says) expect(first.error?.message).toMatch(expected.says);
  const twice = { first_line: 6, last_line: 9, rows: 4 };
  expect(first.summary!.maybe_sent_twice).toMatchObject(expected.twice ? [twice] : []);
  expect(first.summary!.resume === null).toBe(expected.status !== 'stopped');
  await balance(first.summary!, machine, service, file);

  service.trouble = {};
  const last = await resumeToTheEnd(machine, first, { clock });
  await balance(last.summary!, machine, service, file);
  if (last.summary!.rows.rejected > 0) return;
  expect(last.summary!.rows).toMatchObject({ read: 12, merged: 1, submitted: 11 });
  expect(service.ledger.profiles.companies.size).toBe(11);
  expect(service.ledger.profiles.companies.get('c-1')).toMatchObject({ name: 'Company 1, renamed' });
}

describe('once', () => {
  test.each(CASES)('$fault', async ({ fault, strike, once }) => {
    service.trouble = { submit: (nth) => (nth === 2 ? strike : undefined) };
    await ends(fault, once);
  });
});

describe('for good', () => {
  test.each(CASES)('$fault', async ({ fault, strike, always }) => {
    service.trouble = { submit: (nth) => (nth >= 2 ? strike : undefined) };
    await ends(fault, always);
  });
});

describe('once, and no attempt is left', () => {
  const unknown = CASES.filter(({ once }) => once.twice);
  test.each(unknown)(
    '$fault: what became of it stays unknown, until a resume sends it again',
    async ({ fault, strike }) => {
      machine.write(small.path, small.text);
      service.trouble = { submit: (nth) => (nth === 2 ? strike : undefined) };
      const first = await machine.run(
        [...SEND.with(-1, 'retries=0'), '-o', `request_timeout=${deadlineUnder(fault)}`],
        { clock },
      );
      expect([first.code, first.summary!.maybe_sent_twice], first.stderr).toEqual([6, []]);
      await balance(first.summary!, machine, service, small);
      const last = await machine.run(['resume'], { clock });
      expect(last.code, last.stderr).toBe(0);
      expect(last.summary!.maybe_sent_twice).toMatchObject([{ first_line: 6, last_line: 9, rows: 4 }]);
      await balance(last.summary!, machine, service, small);
    },
  );
});
