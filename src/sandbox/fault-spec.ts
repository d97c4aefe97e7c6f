/**
 * Parses faults as users write them: `<what>:<when>[,<option>…]`, such as `503:first=3,retry-after=2`,
 * `reset-after:p=0.1`, or `stuck-job:nth=2,status=pending_refresh`. This file is the complete grammar.
 */
import { UsageError } from '../engine/errors.js';

/** Operations that a fault can apply to: bulk upserts, a single company's upsert, job polls, lookups. */
export const TARGETS = ['submit', 'identify', 'job', 'lookup', 'any'] as const;
export type Target = (typeof TARGETS)[number];

export type When = { type: 'nth' | 'every' | 'first'; n: number } | { type: 'p'; p: number };

export interface FaultOptions {
  /** The operation that it applies to. Default `submit`; `job` for `job-404`. */
  on?: Target;
  /** HTTP status of `status` (always set) and `redirect` (default 307). */
  status?: number;
  /**
   * The status that `stuck-job` stays in (default processing), or that `unknown-status` shows (default
   * reindexing).
   */
  state?: string;
  /** Rows that `short-job` leaves out, default 1. */
  rows?: number;
  /** The request is carried out, although the answer does not say so. */
  accepted?: true;
  /** The body is the HTML page of a proxy. */
  html?: true;
  /** The reply has no Content-Length, and its last chunk is missing. */
  chunked?: true;
  /** The text of `Retry-After`. */
  retryAfter?: string;
  /** Seconds from the reply to the HTTP date in `Retry-After`; may be negative. */
  retryAfterDate?: number;
  location?: string;
  /** Seconds that a hang (default: until the client leaves) or a drip (default 2) takes. */
  for?: number;
}

/** Parses the value of an option; undefined if it is invalid. */
type Option = (value: string) => FaultOptions | undefined;

const within = (text: string, least: number, most: number): number | undefined => {
  const n = /^-?(\d+\.?\d*|\.\d+)$/.test(text) ? Number(text) : Number.NaN;
  return n >= least && n <= most ? n : undefined;
};
const count = (text: string): number | undefined =>
  /^\d+$/.test(text) ? within(text, 1, Number.MAX_SAFE_INTEGER) : undefined;
const given = <K extends keyof FaultOptions>(
  key: K,
  value: FaultOptions[K] | undefined,
): FaultOptions | undefined => (value === undefined ? undefined : ({ [key]: value } as FaultOptions));

/** Text that is safe in a header or a job record; otherwise undefined. */
const printable = (text: string): string | undefined => (/^[\x20-\x7e]+$/.test(text) ? text : undefined);

const on: Option = (value) =>
  given(
    'on',
    TARGETS.find((target) => target === value),
  );
const accepted: Option = (value) => (value === '' ? { accepted: true } : undefined);
const html: Option = (value) => (value === '' ? { html: true } : undefined);
const chunked: Option = (value) => (value === '' ? { chunked: true } : undefined);
const location: Option = (value) => given('location', printable(value));
const retryAfter: Option = (value) => given('retryAfter', printable(value));
const retryAfterDate: Option = (value) => given('retryAfterDate', within(value, -1e9, 1e9));
const lasting: Option = (value) => given('for', within(value, 0, 86_400));
const redirection: Option = (value) => (/^3\d\d$/.test(value) ? { status: Number(value) } : undefined);
const state: Option = (value) => given('state', printable(value));
const rows: Option = (value) => given('rows', count(value));

/** Every fault and its options. */
const FAULTS = {
  /**
   * Written as its number, such as `503`. Must be the first entry, because lists of names leave the first one
   * out. Answers with this status: a 2xx status after carrying the request out, any other without doing so.
   */
  status: { on, accepted, html, location, 'retry-after': retryAfter, 'retry-after-date': retryAfterDate },
  /** Answers 200 with an HTML page, as a captive portal does. */
  html: { on, accepted },
  redirect: { on, location, status: redirection },
  /** Resets the connection: before the request is read, half-way through its body, or after carrying it out. */
  'reset-before': { on },
  'reset-body': { on },
  'reset-after': { on },
  /** Carries the request out, then closes the connection in the middle of the reply's header or body. */
  'cut-header': { on },
  'cut-body': { on, chunked },
  /** Never answers. */
  hang: { on, accepted, for: lasting },
  /** Carries the request out, then stops in the middle of the reply's body. */
  'hang-body': { on, for: lasting },
  /** Carries the request out, then sends the reply's body slowly, in small pieces. */
  drip: { on, for: lasting },
  /** Carries the request out; the reply lacks `job_id`, or is not JSON. */
  'no-job-id': {},
  'broken-json': { on },
  /** Answers, then closes the connection although it is a keep-alive one. */
  close: { on },
  'job-404': {},
  /** Faults of jobs, not of answers. `<when>` counts accepted jobs. */
  'fail-job': {},
  'stuck-job': { status: state },
  'unknown-status': { status: state },
  'short-job': { rows },
} satisfies Record<string, Record<string, Option>>;

export type FaultKind = keyof typeof FAULTS;
export type FaultOption = { [K in FaultKind]: keyof (typeof FAULTS)[K] }[FaultKind];

const JOB_FAULTS: readonly FaultKind[] = ['fail-job', 'stuck-job', 'unknown-status', 'short-job'];
export const isJobFault = (kind: FaultKind): boolean => JOB_FAULTS.includes(kind);

export interface Fault {
  /** The text of the fault, as the user wrote it. */
  spec: string;
  kind: FaultKind;
  when: When;
  options: FaultOptions;
}

const FORM =
  'write <what>:<when>[,<option>…], such as 429:every=5,retry-after=2 or 503:first=3 or reset-after:p=0.1 or hang:nth=2,on=job';

/** @throws UsageError that names the spec and the problem, and shows how a spec is written */
export function parseFault(spec: string): Fault {
  const wrong = (what: string, hint = FORM): UsageError =>
    new UsageError(`fault "${spec}": ${what}`, { hint });
  const colon = spec.indexOf(':');
  const what = colon < 0 ? spec : spec.slice(0, colon);
  const [moment = '', ...words] = colon < 0 ? [] : spec.slice(colon + 1).split(',');

  const options: FaultOptions = {};
  const kind = /^[2-5]\d\d$/.test(what) ? 'status' : what;
  if (!Object.hasOwn(FAULTS, kind) || what === 'status') {
    const all = Object.keys(FAULTS).slice(1).join(', ');
    throw wrong(`unknown fault "${what}"`, `use an HTTP status from 200 to 599, or ${all}`);
  }
  if (kind === 'status') options.status = Number(what);

  const when = parseWhen(moment);
  if (when === undefined)
    throw wrong(`"${moment}" is not nth=, every= or first= with a number from 1, or p= with one up to 1`);

  const known: Readonly<Record<string, Option>> = FAULTS[kind as FaultKind];
  for (const word of words) {
    const [name = ''] = word.split('=', 1);
    if (!Object.hasOwn(known, name)) {
      const names = Object.keys(known).join(', ') || 'none';
      throw wrong(`${what} has no option "${name}"`, `available options: ${names}`);
    }
    const read = known[name]!(word.slice(name.length + 1));
    if (read === undefined) throw wrong(`"${word}" is not a valid value of ${name}`);
    Object.assign(options, read);
  }
  if (kind === 'redirect' && options.location === undefined) throw wrong('it needs location=<url>');
  return { spec, kind: kind as FaultKind, when, options };
}

function parseWhen(text: string): When | undefined {
  const [, type, value = ''] = /^(nth|every|first|p)=(.+)$/.exec(text) ?? [];
  if (type === undefined) return undefined;
  const n = type === 'p' ? within(value, 0, 1) : count(value);
  if (n === undefined) return undefined;
  return type === 'p' ? { type, p: n } : { type: type as 'nth', n };
}
