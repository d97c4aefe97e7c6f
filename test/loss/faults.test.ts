/**
 * Each fault by itself, over real sockets and through the whole import: once, and for good. After each, the
 * service's ledger and the summary must agree, and a resume must bring everything there (contract §4).
 */
import { describe, expect, test } from 'vitest';
import type { Strike } from '../support/fault-server.js';
import { workspace } from '../support/workspace.js';
import { dated, FAULTS, status } from './faults.js';
import { balance, deadlineUnder, elevenCompanies, resumeToTheEnd } from './support.js';

const small = elevenCompanies();
/** Requests of a quarter of a megabyte: a connection takes them in several pieces. */
const large = elevenCompanies('x'.repeat(64 * 1024));
const { service, machine, run } = workspace({ [small.path]: small.text });

const SEND = `import ${small.path} --chunk-size 4`;

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
const PARTIAL: End = { exit: 5, status: 'partial' };
const stops = (exit: number, says: RegExp): End => ({ exit, status: 'stopped', says });
const doubts = (says: RegExp): End => ({ ...stops(6, says), twice: true });

/** A fault; how it ends when it strikes the second request's first attempt, and when it strikes all from there on. */
type Case = [fault: string, strike: Strike, once: End, always: End];

const named = (fault: keyof typeof FAULTS, once: End, always: End): Case => [
  fault,
  FAULTS[fault],
  once,
  always,
];
const lost = (fault: keyof typeof FAULTS, says: RegExp): Case => named(fault, TWICE, doubts(says));
const answered = (code: number, once: End, always = once, headers: Record<string, string> = {}): Case => [
  [code, ...Object.values(headers)].join(' '),
  status(code, headers),
  once,
  always,
];

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
  answered(408, TWICE, doubts(/408/)),
  answered(500, TWICE, doubts(/500/)),
  answered(504, TWICE, doubts(/504/)),
  answered(505, TWICE, doubts(/505/)),
  named('202 without job id', PARTIAL, PARTIAL),
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
  answered(413, DONE, PARTIAL),
  named('413 before the body was read', DONE, PARTIAL),
  answered(415, stops(6, /415/)),
  answered(418, stops(6, /418/)),
  answered(422, stops(6, /lines 6 to 9: .*422/)),
  answered(429, DONE, stops(6, /429/)),
  answered(429, DONE, stops(6, /429/), { 'retry-after': '2' }),
  answered(429, DONE, stops(6, /429/), { 'retry-after': '-1' }),
  answered(429, stops(6, /asks to wait/), stops(6, /asks to wait/), { 'retry-after': '86400' }),
  ['429 until a date', dated(429, machine, 120), DONE, stops(6, /429/)],
  answered(501, stops(6, /501/)),
  answered(503, TWICE, doubts(/503/)),
  answered(503, DONE, stops(6, /503/), { 'retry-after': '1' }),
];
const SECOND = { first_line: 6, last_line: 9, rows: 4 };

describe.each(['once', 'always'] as const)('%s', (how) => {
  test.each(CASES)('%s', async (fault, strike, once, always) => {
    const { exit, status, twice, says } = how === 'once' ? once : always;
    service.trouble = { submit: (nth) => ((how === 'once' ? nth === 2 : nth >= 2) ? strike : undefined) };
    const file = fault === 'reset mid-body' ? large : small;
    machine.write(file.path, file.text);
    const first = await run(`${SEND} -o retries=1 -o request_timeout=${deadlineUnder(fault)}`);
    expect([first.code, first.summary?.status], first.stderr).toEqual([exit, status]);
    if (says) expect(first.error?.message).toMatch(says);
    expect(first.summary!.maybe_sent_twice).toMatchObject(twice ? [SECOND] : []);
    expect(first.summary!.resume === null).toBe(status !== 'stopped');
    await balance(first.summary!, machine, service, file);

    service.trouble = {};
    const last = await resumeToTheEnd(machine, first);
    await balance(last.summary!, machine, service, file);
    if (last.summary!.rows.rejected > 0) return;
    expect(last.summary!.rows).toMatchObject({ read: 12, merged: 1, submitted: 11 });
    expect(service.ledger.profiles.companies.size).toBe(11);
    expect(service.held('companies', 'c-1')).toMatchObject({ name: 'Company 1, renamed' });
  });
});

describe('once, and no attempt is left: what became of it stays unknown, until a resume sends it again', () => {
  test.each(CASES.filter(([, , once]) => once.twice))('%s', async (fault, strike) => {
    service.trouble = { submit: (nth) => (nth === 2 ? strike : undefined) };
    const first = await run(`${SEND} -o retries=0 -o request_timeout=${deadlineUnder(fault)}`);
    expect([first.code, first.summary!.maybe_sent_twice], first.stderr).toEqual([6, []]);
    await balance(first.summary!, machine, service, small);
    const last = await run('resume');
    expect(last.code, last.stderr).toBe(0);
    expect(last.summary!.maybe_sent_twice).toMatchObject([SECOND]);
    await balance(last.summary!, machine, service, small);
  });
});
