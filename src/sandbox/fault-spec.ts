/**
 * Parses faults as users write them: `<what>:<when>[,<option>…]`, such as `503:first=3,retry-after=2`,
 * `reset-after:p=0.1`, or `stuck-job:nth=2,status=pending_refresh`. This file is the complete grammar, with
 * its help.
 */
import { UsageError } from '../engine/errors.js';

/** Operations that a fault can apply to: bulk upserts, a single company's upsert, job polls, lookups. */
export const TARGETS = ['submit', 'identify', 'job', 'lookup', 'any'] as const;
export type Target = (typeof TARGETS)[number];

export interface When {
  type: 'nth' | 'every' | 'first' | 'p';
  /** A number of events from 1; for `p`, a probability. */
  n: number;
}

/** When a fault applies, and what that means. */
export const WHEN_HELP = [
  ['nth=2', 'the second one'],
  ['every=5', 'every fifth one'],
  ['first=3', 'the first three'],
  ['p=0.1', 'one in ten, at random; see --seed'],
] as const;

/** How the value of an option is read (undefined: it is invalid), and its help. */
type Option = readonly [read: (value: string) => number | string | true | undefined, help: string];

const within = (text: string, least: number, most: number): number | undefined => {
  const n = /^-?(\d+\.?\d*|\.\d+)$/.test(text) ? Number(text) : Number.NaN;
  return n >= least && n <= most ? n : undefined;
};
const count = (text: string): number | undefined =>
  /^\d+$/.test(text) ? within(text, 1, Number.MAX_SAFE_INTEGER) : undefined;
/** Text that is safe in a header or a job record; otherwise undefined. */
const printable = (text: string): string | undefined => (/^[\x20-\x7e]+$/.test(text) ? text : undefined);
const target = (text: string): Target | undefined => TARGETS.find((one) => one === text);
const flag = (text: string): true | undefined => (text === '' ? true : undefined);
const date = (text: string): number | undefined => within(text, -1e9, 1e9);
const seconds = (text: string): number | undefined => within(text, 0, 86_400);

export const OPTIONS = {
  on: [target, `which requests: ${TARGETS.join(', ')}; by default submit, for job-404 job`],
  accepted: [flag, 'carries the request out all the same'],
  html: [flag, 'the body is an HTML page'],
  chunked: [flag, 'the reply has no Content-Length, and its last chunk is missing'],
  'retry-after': [printable, 'the header Retry-After: seconds, or any text'],
  'retry-after-date': [date, 'the same as a date, this many seconds from now'],
  location: [printable, 'the header Location'],
  status: [printable, 'see redirect, stuck-job, and unknown-status'],
  for: [seconds, 'seconds; see hang and drip'],
  rows: [count, 'see short-job'],
} satisfies Record<string, Option>;

type OptionName = keyof typeof OPTIONS;
export type FaultOptions = { [N in OptionName]?: NonNullable<ReturnType<(typeof OPTIONS)[N][0]>> };

/** A fault: its help, its options, and which kind it is, if it does not simply replace the answer. */
const fault = (help: string, options: readonly OptionName[] = [], kind?: 'carries out' | 'of a job') => ({
  help,
  options,
  /** Whether the request is carried out although the fault applies to it. */
  carriesOut: kind === 'carries out',
  /** A fault of a job, not of an answer: `<when>` counts accepted jobs. */
  ofJob: kind === 'of a job',
});

const CLOSES = 'carries it out, then closes in the middle of the';

/**
 * Every fault. The first one is written as its number, such as `503`, so lists of names leave it out.
 */
export const FAULTS = {
  status: fault('an HTTP status from 200 to 599, such as 503; only a 2xx carries the request out', [
    'on',
    'accepted',
    'html',
    'location',
    'retry-after',
    'retry-after-date',
  ]),
  html: fault('200 with an HTML page, as a captive portal answers', ['on', 'accepted']),
  redirect: fault('a redirect to location=<url>, with status=<status> (307)', ['on', 'location', 'status']),
  'reset-before': fault('resets the connection before the request is read', ['on']),
  'reset-body': fault('resets it half-way through the body of the request', ['on']),
  'reset-after': fault('carries the request out, then resets the connection', ['on'], 'carries out'),
  'cut-header': fault(`${CLOSES} header of the reply`, ['on'], 'carries out'),
  'cut-body': fault(`${CLOSES} body of the reply`, ['on', 'chunked'], 'carries out'),
  hang: fault('never answers, or after for=<seconds> closes the connection', ['on', 'accepted', 'for']),
  'hang-body': fault(
    'carries it out, then stops in the middle of the body of the reply',
    ['on', 'for'],
    'carries out',
  ),
  drip: fault(
    'carries it out, then sends the reply in small pieces, over for=<seconds> (2)',
    ['on', 'for'],
    'carries out',
  ),
  'no-job-id': fault('carries it out; the reply has no job_id', [], 'carries out'),
  'broken-json': fault('carries it out; the reply is not JSON', ['on'], 'carries out'),
  close: fault('answers, then closes the connection, although it is a keep-alive one', ['on'], 'carries out'),
  'job-404': fault('answers a poll of a job with 404'),
  'fail-job': fault('the job fails', [], 'of a job'),
  'stuck-job': fault('the job stays in status=<status> (processing)', ['status'], 'of a job'),
  'unknown-status': fault('the job shows status=<status> (reindexing) on its way', ['status'], 'of a job'),
  'short-job': fault('the job leaves out rows=<n> (1)', ['rows'], 'of a job'),
};

export type FaultKind = keyof typeof FAULTS;

export interface Fault {
  /** The text of the fault, as the user wrote it. */
  spec: string;
  kind: FaultKind;
  /** The HTTP status of `status` and `redirect`; otherwise 0. */
  code: number;
  when: When;
  options: FaultOptions;
}

const FORM =
  'write <what>:<when>[,<option>…], such as 429:every=5,retry-after=2 or 503:first=3 or reset-after:p=0.1 or hang:nth=2,on=job';

/** @throws UsageError that names the spec and the problem, and shows how a spec is written */
export function parseFault(spec: string): Fault {
  const wrong = (what: string, hint = FORM): UsageError =>
    new UsageError(`fault "${spec}": ${what}`, { hint });
  const [, what = '', moment = '', rest = ''] = /^([^:]*):?([^,]*),?(.*)$/s.exec(spec) ?? [];
  const kind = (/^[2-5]\d\d$/.test(what) ? 'status' : what) as FaultKind;
  if (!Object.hasOwn(FAULTS, kind) || what === 'status') {
    const all = Object.keys(FAULTS).slice(1).join(', ');
    throw wrong(`unknown fault "${what}"`, `use an HTTP status from 200 to 599, or ${all}`);
  }
  const when = parseWhen(moment);
  if (when === undefined)
    throw wrong(`"${moment}" is not nth=, every= or first= with a number from 1, or p= with one up to 1`);

  const options: FaultOptions = {};
  const known = FAULTS[kind].options;
  for (const word of rest === '' ? [] : rest.split(',')) {
    const [given = ''] = word.split('=', 1);
    const name = known.find((one) => one === given);
    if (name === undefined)
      throw wrong(`${what} has no option "${given}"`, `available options: ${known.join(', ') || 'none'}`);
    const text = word.slice(name.length + 1);
    const value = OPTIONS[name][0](text);
    if (value === undefined || (kind === 'redirect' && name === 'status' && !/^3\d\d$/.test(text)))
      throw wrong(`"${word}" is not a valid value of ${name}`);
    Object.assign(options, { [name]: value });
  }
  if (kind === 'redirect' && options.location === undefined) throw wrong('it needs location=<url>');
  const code = Number(kind === 'status' ? what : kind === 'redirect' ? (options.status ?? 307) : 0);
  return { spec, kind, code, when, options };
}

function parseWhen(text: string): When | undefined {
  const [, type, value = ''] = /^(nth|every|first|p)=(.+)$/.exec(text) ?? [];
  const n = type === 'p' ? within(value, 0, 1) : count(value);
  return type === undefined || n === undefined ? undefined : { type: type as When['type'], n };
}
