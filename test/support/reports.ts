/** Made-up data for reports: an ordinary run, and what an attacker would put into each text. */

import { type Form, Texts } from '../../src/cli/facts/outcome.js';
import type { Session } from '../../src/cli/facts/session.js';
import { reportPage } from '../../src/cli/output/html/page.js';
import type { RequestRecord } from '../../src/engine/model/requests.js';
import { aCause, aJob, aPlan, aSummary, type Ended, factsAbout } from './runs.js';

const START = Date.UTC(2026, 10, 22, 5);

export const moment = (seconds: number): string => new Date(START + seconds * 1_000).toISOString();

export function aRequest(over: Partial<RequestRecord> = {}): RequestRecord {
  const { seq = 1 } = over;
  return {
    seq,
    parent: null,
    input: 0,
    first_row: 0,
    end_row: 1_000,
    first_line: 2,
    last_line: 1_001,
    more: [],
    rows: 997,
    merged: 0,
    unchanged: 0,
    left_out: 0,
    left_out_by: null,
    overtaken: 0,
    doubtful: 0,
    bytes: 100_000,
    digest: '',
    state: 'settled',
    reason: null,
    failure: null,
    retries: 0,
    possibleDuplicate: null,
    job_id: `job-${seq}`,
    job: aJob({ job_id: `job-${seq}`, end_time: moment(seq * 2 + 1) }),
    ...over,
  };
}

/** What a page is about, and how it is shown. */
export interface About extends Partial<Session> {
  summary?: Ended | null;
  form?: Form;
}

export function pageOf({ summary = aSummary(), form = 'shared', ...over }: About = {}): string {
  const { plan = null, requests = [aRequest()] } = over;
  const session: Session = {
    now: START + 60_000,
    startedAt: START,
    service: { account: 'production', region: 'eu', base_url: 'https://api.test' },
    paths: ['companies.csv'],
    run: summary?.run ?? null,
    status: summary?.status ?? 'stopped',
    facts:
      summary &&
      factsAbout(summary, { plan, requests, warnings: summary.warnings.map((message) => ({ message })) }),
    plan,
    requests,
    seen: new Map([['job-1', { submitted_at: moment(1), seen_at: moment(4) }]]),
    waits: new Map(),
    failure: null,
    stored: false,
    resumed: false,
    next: [],
    ...over,
  };
  return reportPage(session, form);
}

export const HOSTILE = [
  '<script>globalThis.hacked = 1</script>',
  '</style></title></script><img src=x onerror="globalThis.hacked = 1">',
  `"' onload='globalThis.hacked = 1' x="`,
  '<!-- --><svg onload=globalThis.hacked=1>',
  '\u202egpj.exe \u05d0\u05d1\u05d2 \u2066x',
  'a\u0000b\u001b[31mc\u0007\u0085\ufeff',
  'x'.repeat(5_000),
  'ä'.repeat(5_000),
  '&lt;b&gt; {{2}} %s',
  '__proto__',
];

/** A page in which every text is a hostile one. Lists have `times` as many entries as there are hostile texts. */
export function hostileAbout(times = 1): About {
  const all = Array.from({ length: times }, () => HOSTILE).flat();
  const files = all.map((path) => ({
    path,
    kind: 'companies' as const,
    rows: { read: 1_000_000, filtered: 0, rejected: 1_000_000 },
    rejects_file: path,
  }));
  const column = (text: string) => ({
    column: text,
    key: `${text}-key`,
    type: 'string' as const,
    conversion: `boolean:${text}/No` as const,
    suggested: [`date:${text}`],
    reason: `line 3: "${text}"`,
    empty: 17,
  });
  const summary = aSummary({
    status: 'failed',
    run: HOSTILE[0]!,
    files,
    rows: {
      read: 2_000_000,
      filtered: 1,
      rejected: 1_000_000,
      merged: 2,
      unchanged: 3,
      submitted: 4,
      completed: 2,
      unsent: 9,
    },
    causes: all.map((text) => aCause({ file: text, column: text, reason: text, hint: text, example: text })),
    warnings: all,
    maybe_sent_twice: all.map((text) => ({
      ranges: [{ file: text, first_line: 2, last_line: 3 }],
      rows: 3,
      reason: text,
      job_id: text,
    })),
  });
  const plan = aPlan({
    files: files.slice(0, 20).map((file) => ({ ...aPlan().files[0]!, ...file, columns: all.map(column) })),
  });
  const [first] = HOSTILE as [string];
  return {
    summary,
    plan: {
      ...plan,
      properties: {
        new: all,
        near: all.map((key) => ({ key, like: key })),
        types: all.map((key) => ({ key, here: key, service: key })),
      },
      ...{
        changes: {
          new: 1,
          changed: 2,
          refreshed: 3,
          unchanged: 4,
          keys: all.map((key) => ({ key, rows: 1 })),
        },
      },
    },
    service: { account: first, region: HOSTILE[1]!, base_url: HOSTILE[2]! },
    paths: all,
    run: first,
    failure: { message: new Texts().of(HOSTILE.join(' '), HOSTILE[3]), hint: null },
    next: all.map((text) => ({ what: text, command: text, shared: text })),
    requests: all.map((text, index) =>
      aRequest({
        seq: index + 1,
        reason: text,
        failure: `422 ${text}`,
        left_out: 1,
        left_out_by: text,
        retries: 3,
        job_id: text,
        job: aJob({ job_id: text, status: text, start_time: text, end_time: text }),
      }),
    ),
    seen: new Map(all.map((text) => [text, { submitted_at: moment(1), seen_at: moment(4) }])),
    waits: new Map(all.map((_, index) => [index + 1, [[START, START + 500]]])),
    form: 'full',
  };
}
