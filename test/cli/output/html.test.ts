import { readdirSync, readFileSync } from 'node:fs';
import { HtmlValidate } from 'html-validate';
import { describe, expect, test } from 'vitest';
import { Texts } from '../../../src/cli/facts/outcome.js';
import { foreign, html, type Part, percent } from '../../../src/cli/output/html/markup.js';
import { type About, aRequest, HOSTILE, hostileAbout, moment, pageOf } from '../../support/reports.js';
import { aCause, aJob, aPlan, aSummary, withRejections } from '../../support/runs.js';

const MIB = 1_048_576;

/** What a reader sees: no tags, no entities. */
const textOf = (page: string): string =>
  page
    .replace(/<style>.*?<\/style>/s, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(
      /&(?:lt|gt|quot|#39|amp);/g,
      (entity) => ({ '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" })[entity] ?? '&',
    )
    .replace(/\s+/g, ' ');

describe('templates', () => {
  test.each([
    ['markup', '<b>&"\'', '&lt;b&gt;&amp;&quot;&#39;'],
    ['control characters', 'a\u0000\u001b[1m\nb', 'a\\x00\\x1b[1m b'],
    ['direction marks', '\u202ea', '\\u202ea'],
    ['numbers', 0, '0'],
    ['nothing', null, ''],
    ['no', false, ''],
    ['lists', ['<', html`<i>`, ['>']], '&lt;<i>&gt;'],
  ] as [string, Part, string][])('%s', (_name, value, text) => {
    expect(html`${value}`.text).toBe(text);
  });

  test('long texts are cut between characters, and isolated', () => {
    expect(foreign('😀'.repeat(200), 3).text).toBe('<bdi>😀…</bdi>');
    expect(foreign('abc', 3).text).toBe('<bdi>abc</bdi>');
  });

  test('values of attributes are in double quotes', () => {
    const folder = new URL('../../../src/cli/output/html/', import.meta.url);
    const sources = readdirSync(folder).map((name) => readFileSync(new URL(name, folder), 'utf8'));
    expect(sources.join('').match(/ [\w-]+="[^"]*\$\{/g)?.length).toBeGreaterThan(10);
    expect(sources.flatMap((source) => source.match(/ [\w-]+=(?:'[^']*)?\$\{.*/g) ?? [])).toEqual([]);
  });
});

test.each([
  [0, 0, '0%'],
  [0, 10, '0%'],
  [1, 1_000_000, '< 0.1%'],
  [999_999, 1_000_000, '> 99.9%'],
  [1, 3, '33.3%'],
  [1, 2, '50%'],
  [10, 10, '100%'],
])('%d of %d is %s', (part, whole, text) => {
  expect(percent(part, whole)).toBe(text);
});

describe('words that others may read', () => {
  const reason =
    'the service answered 422 Unprocessable Entity: bad_plan: Ada Nowak has no plan "gold" (x-request-id 7)';
  const requests = [
    aRequest({ reason, failure: '422 bad_plan' }),
    aRequest({ seq: 2, reason: 'the service failed the job of this row alone: Ada', failure: 'job failed' }),
  ];
  const [file] = aPlan().files;
  const columns = file!.columns.map((column) => ({ ...column, column: 'tier' }));
  const texts = new Texts(aPlan({ files: [{ ...file!, columns }] }), requests);
  test.each([
    [reason, 'the service answered 422 Unprocessable Entity (bad_plan)'],
    [
      `a.csv, line 2: 1 row failed: ${reason}`,
      'a.csv, line 2: 1 row failed: the service answered 422 Unprocessable Entity (bad_plan)',
    ],
    [
      `${reason}; 2 items fail only together`,
      'the service answered 422 Unprocessable Entity (bad_plan); 2 items fail only together',
    ],
    ['502 Bad Gateway (HTML page: "Ada")', '502 Bad Gateway'],
    ['the service failed the job of this row alone: Ada', 'the service failed the job of this row alone'],
    ['the service failed the job of this row alone: Grace', 'the service failed the job of this row alone'],
    [
      'api.test reset the connection before its reply (ECONNRESET)',
      'api.test reset the connection before its reply (ECONNRESET)',
    ],
    ['tier: line 3: "1.90" becomes 1.9', 'tier: line 3: "…" becomes another'],
    ['"tier" is now string', '"tier" is now string'],
    ['line 3: "a "quoted" cell" is odd', 'line 3: "…" is odd'],
    ['line 3: "an open end', 'line 3: "…"'],
    ['users.csv: 404 rows name no company', 'users.csv: 404 rows name no company'],
  ])('%s', (text, reduced) => {
    expect(texts.of(text)).toEqual({ full: text, shared: reduced });
  });

  test.each([
    ['line 17: "00"7"', 'line 17 must stay text'],
    ['row 3: 12: 3', 'row 3 must stay text'],
    ['item 5: 42 is an integer, others are text', 'item 5 is an integer, others are text'],
    ['all 503 values are integers', 'all 503 values are integers'],
    ['pinned', 'pinned'],
  ])('the reason of a type: %s', (given, reduced) => {
    expect(texts.ofType(given)).toEqual({ full: given, shared: reduced });
  });
});

const VALIDATOR = new HtmlValidate({
  extends: ['html-validate:recommended'],
  rules: { 'long-title': 'off' },
});

async function faultsOf(page: string): Promise<string[]> {
  const { results } = await VALIDATOR.validateString(page);
  return results.flatMap(({ messages }) =>
    messages.map(({ ruleId, message, line }) => `${line}: ${ruleId}: ${message}`),
  );
}

const CASES: [string, About][] = [
  ['a run', {}],
  [
    'a plan',
    {
      summary: aSummary({ run: null, status: 'planned', jobs: [], plan: aPlan() }),
      plan: aPlan(),
      requests: [],
    },
  ],
  ['rejected rows', { summary: withRejections(300) }],
  [
    'a failure before the plan',
    {
      summary: null,
      requests: [],
      run: null,
      failure: { message: { full: 'a.csv: is empty', shared: 'a.csv: is empty' }, hint: null },
    },
  ],
  ['what the state has', { stored: true, summary: withRejections(3) }],
  [
    'a run that died',
    {
      stored: true,
      summary: null,
      status: 'running',
      requests: [aRequest({ state: 'intent', job: null, job_id: null })],
    },
  ],
  ['hostile texts', hostileAbout()],
];

/** What would run or fetch something. Text has no `<`. */
const FORBIDDEN =
  /<(?:script|img|iframe|link rel="(?!icon)|object|embed|form|input)\b|<[^>]*\s(?:on\w+|style)=|url\((?!"#)/gi;
// biome-ignore lint/complexity/useRegexLiterals: escapes in a string can be read
const INVISIBLE = new RegExp(
  '[\\u0000-\\u0009\\u000b-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069\\ufeff]',
  'g',
);

describe.each(CASES)('the page of %s', (_name, about) => {
  const page = pageOf(about);

  test('is valid, and loads nothing', async () => {
    expect(await faultsOf(page)).toEqual([]);
    expect(page.slice(0, 40)).toMatch(/^<!DOCTYPE html>\n<html lang="en">/);
    expect(page.slice(0, 500)).toContain(`content="default-src 'none'; style-src 'sha256-`);
    expect(page.match(FORBIDDEN) ?? []).toEqual([]);
    expect(
      [...page.matchAll(/\s(?:href|src|action)="([^"]*)"/g)].filter(
        ([, to]) => !/^(?:#\w+|data:,)$/.test(to!),
      ),
    ).toEqual([]);
    // A terminal or an editor that shows the file is safe, too.
    expect(page.match(INVISIBLE) ?? []).toEqual([]);
  });

  test('leads to each of its sections', () => {
    const links = [...page.matchAll(/<a href="#([\w-]+)"/g)].map(([, id]) => id!);
    for (const id of links) expect([id, page.includes(`<section id="${id}"`)]).toEqual([id, true]);
    expect(page.match(/<table/g)?.length ?? 0).toBe(page.match(/<caption>/g)?.length ?? 0);
  });
});

describe('what a report says', () => {
  const said = (over: About): string => textOf(pageOf(over));

  test('to whom, how many, and how it ended', () => {
    const text = said({});
    expect(text).toContain('Import of companies.csv ✓ completed');
    expect(text).toContain(
      'Account production Region eu Host https://api.test Run run-1 Started 2026-11-22 05:00:00 UTC',
    );
    expect(text).toContain('Completed 997 100%');
    const died = said({ stored: true, summary: null, status: 'crashed' });
    expect(died).toContain('✗ crashed: its process died');
  });

  test('rows add up to those that were read', () => {
    const left = { filtered: 1, rejected: 2, merged: 3, unchanged: 4, unsent: 10 };
    const rows = { read: 100, ...left, submitted: 80, completed: 60 };
    const text = said({ summary: aSummary({ status: 'stopped', rows }) });
    expect(text).toMatch(
      /Filtered 1 1% .*Rejected 2 2% .*Merged 3 3% .*Unchanged 4 4% .*Submitted 20 20% .*Completed 60 60% .*Unsent 10 10% .*Read 100 100%/,
    );
  });

  test('no cells by default; the location of the example instead', () => {
    const plan = aPlan();
    const summary = aSummary({
      status: 'partial',
      rows: { ...aSummary().rows, rejected: 7 },
      causes: [
        aCause({ column: 'zip', reason: 'contains "$"', example: '"$02139"', rows: 4, at: 'line 17' }),
        aCause({ reason: 'the service answered 422 Unprocessable Entity: x: Ada Nowak' }),
      ],
      warnings: ['zip: line 3: "02139" becomes 2139'],
    });
    const requests = [aRequest({ state: 'rejected', reason: summary.causes[1]!.reason, failure: '422 x' })];
    const hidden = pageOf({ summary, plan, requests });
    expect(hidden).not.toMatch(/02139|2139|Ada|株式会社/);
    expect(textOf(hidden)).toContain('whole row the service answered 422 Unprocessable Entity (x)');
    const open = textOf(pageOf({ summary, plan, requests, form: 'full' }));
    expect(open).toContain('line 17 "$02139"');
    expect(open).toContain('422 Unprocessable Entity: x: Ada Nowak');
  });

  test('columns with type, why, conversion, and how many are filled', () => {
    const [file] = aPlan().files;
    const columns = [
      { ...file!.columns[1]!, conversion: 'money' as const, suggested: ['boolean'] },
      { column: 'note', key: null, type: null, reason: 'excluded', empty: 0 },
    ];
    const text = said({ plan: aPlan({ files: [{ ...file!, columns }] }) });
    expect(text).toContain(
      'zip same string read as money row 17 must stay text would also fit: --type zip=boolean 97.6%',
    );
    expect(text).toContain('note left out excluded');
    expect(text).toContain('3 rows have identifiers that appear earlier');
  });

  test('changes by key, where the plan has them', () => {
    const changes = { new: 1, changed: 20, refreshed: 0, unchanged: 1_197, keys: [{ key: 'tier', rows: 5 }] };
    const text = said({ plan: { ...aPlan(), ...{ changes } } });
    expect(text).toMatch(/New 1 Changed 20 Refreshed 0 Unchanged 1,197 .*tier 5 25%/);
  });

  test('jobs with their time, retries and waits', () => {
    const seen = new Map([
      ['job-1', { submitted_at: moment(1), seen_at: moment(4) }],
      ['job-2', { submitted_at: moment(4), seen_at: moment(9) }],
    ]);
    const from = Date.parse(moment(0));
    const requests = [
      aRequest({ retries: 1 }),
      aRequest({
        seq: 2,
        parent: 1,
        job: aJob({ status: 'failed', completed_rows: 0, end_time: 'yesterday' }),
      }),
    ];
    const page = pageOf({ requests, seen, waits: new Map([[1, [[from, from + 500]]]]) });
    const text = textOf(page);
    expect(text).toContain(
      '1 lines 2-1001 1 retry ✓ completed job-1 997 of 997 waited 500ms, accepted at 1.0s, took 2.0s',
    );
    // A time that cannot be read is no end: it ended before it was last seen.
    expect(text).toContain(
      '2 lines 2-1001 part of request 1 ✗ failed job-2 0 of 997 accepted at 4.0s, took 5.0s',
    );
    expect(page.match(/class="wait"/g)).toHaveLength(1);
    expect(text).toContain('Hatched stretches are waits');
    expect(textOf(pageOf({ requests, seen, stored: true }))).toContain('does not record when they were');
  });

  test('says what the state does not keep', () => {
    const text = said({ stored: true, summary: { ...withRejections(3), causes: [], warnings: [] } });
    expect(text).toContain('3 rows. The state does not keep why');
    expect(text).toContain('does not keep the plan of a run');
  });
});

describe('at most 1 MiB', () => {
  test.each([1, 100])('lists that are %d times as long, of hostile texts', (times) => {
    const page = pageOf(hostileAbout(times));
    expect(Buffer.byteLength(page)).toBeLessThan(MIB);
    expect(page.slice(-8)).toBe('</html>\n');
    for (const text of HOSTILE) if (/[<>]/.test(text)) expect(page.includes(text)).toBe(false);
    if (times > 1) {
      for (const noun of ['file', 'cause', 'request', 'column', 'key', 'warning', 'command'])
        expect([noun, new RegExp(`and [\\d,]+ more ${noun}s?,`).test(page)]).toEqual([noun, true]);
    }
  });

  test('requests that need attention are shown when others are left out', () => {
    const requests = Array.from({ length: 5_000 }, (_, i) =>
      aRequest({ seq: i + 1, ...(i === 4_321 && { job: aJob({ status: 'failed', completed_rows: 0 }) }) }),
    );
    const page = pageOf({ requests });
    expect(textOf(page)).toContain('4322 lines 2-1001 ✗ failed');
    expect(textOf(page)).toContain('and 4,600 more requests, left out');
    expect(Buffer.byteLength(page)).toBeLessThan(MIB);
  });
});
