/**
 * Faults as users write them: `<what>:<when>[,<option>…]`, such as `503:first=3,retry-after=2`,
 * `reset-after:p=0.1`, or `stuck-job:nth=2,status=pending_refresh`. This file is the complete grammar, with
 * its help, and it decides which fault applies to a request or a job.
 */
import { UsageError } from '../engine/errors.js';
import type { SimulatedOutcome } from './timeline.js';

/** Operations that a fault can apply to: bulk upserts, a single company's upsert, job polls, lookups. */
const TARGETS = ['submit', 'identify', 'job', 'lookup', 'any'] as const;
type Target = (typeof TARGETS)[number];

/** When a fault applies: an example, its help, and whether it is so for the `ordinal`th (from 1) event. */
type When = readonly [
  form: string,
  help: string,
  is: (n: number, ordinal: number, random: number) => boolean,
];

export const WHEN = {
  nth: ['nth=2', 'the second one', (n, ordinal) => ordinal === n],
  every: ['every=5', 'every fifth one', (n, ordinal) => ordinal % n === 0],
  first: ['first=3', 'the first three', (n, ordinal) => ordinal <= n],
  p: ['p=0.1', 'one in ten, at random; see --seed', (n, _, random) => random < n],
} satisfies Record<string, When>;

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
const flag = (text: string): true | undefined => (text === '' ? true : undefined);

export const OPTIONS = {
  on: [
    (text) => TARGETS.find((one) => one === text),
    `which requests: ${TARGETS.join(', ')}; by default submit, for job-404 job`,
  ],
  accepted: [flag, 'carries the request out all the same'],
  html: [flag, 'the body is an HTML page'],
  chunked: [flag, 'the reply has no Content-Length, and its last chunk is missing'],
  'retry-after': [printable, 'the header Retry-After: seconds, or any text'],
  'retry-after-date': [(text) => within(text, -1e9, 1e9), 'the same as a date, this many seconds from now'],
  location: [printable, 'the header Location'],
  status: [printable, 'see redirect, stuck-job, and unknown-status'],
  for: [(text) => within(text, 0, 86_400), 'seconds; see hang and drip'],
  rows: [count, 'see short-job'],
} satisfies Record<string, Option>;

type OptionName = keyof typeof OPTIONS;
type FaultOptions = { [N in OptionName]?: NonNullable<ReturnType<(typeof OPTIONS)[N][0]>> };

interface Kind {
  help: string;
  options: readonly OptionName[];
  /** Whether the request is carried out although the fault applies to it. */
  carriesOut?: boolean;
  /** How a job ends, for a fault of a job and not of an answer: `<when>` counts accepted jobs. */
  ends?: Ends;
}
type Ends = (options: FaultOptions, rows: number) => SimulatedOutcome;
const replaces = (help: string, ...options: OptionName[]): Kind => ({ help, options });
const carriesOut = (help: string, ...options: OptionName[]): Kind => ({ help, options, carriesOut: true });
const endsJob = (help: string, options: OptionName[], ends: Ends): Kind => ({ help, options, ends });

const CLOSES = 'carries it out, then closes in the middle of the';
const STOPS = 'carries it out, then stops in the middle of the body of the reply';
const DRIPS = 'carries it out, then sends the reply in small pieces, over for=<seconds> (2)';
const STATUS = 'an HTTP status from 200 to 599, such as 503; only a 2xx carries the request out';

/**
 * Every fault. The first one is written as its number, such as `503`, so lists of names leave it out. What the
 * faults of answers do is in deliver.ts.
 */
export const FAULTS = {
  status: replaces(STATUS, 'on', 'accepted', 'html', 'location', 'retry-after', 'retry-after-date'),
  html: replaces('200 with an HTML page, as a captive portal answers', 'on', 'accepted'),
  redirect: replaces('a redirect to location=<url>, with status=<status> (307)', 'on', 'location', 'status'),
  'reset-before': replaces('resets the connection before the request is read', 'on'),
  'reset-body': replaces('resets it half-way through the body of the request', 'on'),
  'reset-after': carriesOut('carries the request out, then resets the connection', 'on'),
  'cut-header': carriesOut(`${CLOSES} header of the reply`, 'on'),
  'cut-body': carriesOut(`${CLOSES} body of the reply`, 'on', 'chunked'),
  hang: replaces('never answers, or after for=<seconds> closes the connection', 'on', 'accepted', 'for'),
  'hang-body': carriesOut(STOPS, 'on', 'for'),
  drip: carriesOut(DRIPS, 'on', 'for'),
  'no-job-id': carriesOut('carries it out; the reply has no job_id'),
  'broken-json': carriesOut('carries it out; the reply is not JSON', 'on'),
  close: carriesOut('answers, then closes the connection, although it is a keep-alive one', 'on'),
  'job-404': replaces('answers a poll of a job with 404'),
  'fail-job': endsJob('the job fails', [], () => ({ type: 'failed' })),
  'stuck-job': endsJob(
    'the job stays in status=<status> (processing)',
    ['status'],
    ({ status = 'processing' }) => ({ type: 'stuck', status }),
  ),
  'unknown-status': endsJob(
    'the job shows status=<status> (reindexing) on its way',
    ['status'],
    ({ status = 'reindexing' }) => ({ type: 'detour', status }),
  ),
  'short-job': endsJob('the job leaves out rows=<n> (1)', ['rows'], ({ rows = 1 }, all) => ({
    type: 'short',
    rows: Math.min(rows, all),
  })),
};

type FaultKind = keyof typeof FAULTS;

export interface Fault {
  /** The text of the fault, as the user wrote it. */
  spec: string;
  kind: FaultKind;
  /** The HTTP status of `status` and `redirect`; otherwise 0. */
  code: number;
  when: keyof typeof WHEN;
  /** A number of events from 1; for `p`, a probability. */
  n: number;
  options: FaultOptions;
}

const FORM =
  'write <what>:<when>[,<option>…], such as 429:every=5,retry-after=2 or 503:first=3 or reset-after:p=0.1 or hang:nth=2,on=job';

/** @throws UsageError that names the spec and the problem, and shows how a spec is written */
function parseFault(spec: string): Fault {
  const wrong = (what: string, hint = FORM): UsageError =>
    new UsageError(`fault "${spec}": ${what}`, { hint });
  const [, what = '', moment = '', rest = ''] = /^([^:]*):?([^,]*),?(.*)$/s.exec(spec) ?? [];
  const kind = (/^[2-5]\d\d$/.test(what) ? 'status' : what) as FaultKind;
  if (!Object.hasOwn(FAULTS, kind) || what === 'status') {
    const all = Object.keys(FAULTS).slice(1).join(', ');
    throw wrong(`unknown fault "${what}"`, `use an HTTP status from 200 to 599, or ${all}`);
  }
  const [when = '', number = ''] = moment.split(/=(.*)/s);
  const n = when === 'p' ? within(number, 0, 1) : count(number);
  if (n === undefined || !Object.hasOwn(WHEN, when))
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
  return { spec, kind, code, when: when as keyof typeof WHEN, n, options };
}

/** The faults of a running sandbox. `profiles help faults` lists them. */
export interface Faults {
  /**
   * Adds a fault, such as `503:first=3`. It counts requests from now on.
   * @throws UsageError for a spec that cannot be parsed
   */
  add(spec: string): void;
  /** The specs of all faults, in the order in which they were added. */
  list(): string[];
  /** Removes the first fault with this spec; false if there is none. */
  remove(spec: string): boolean;
  /** Removes all faults. */
  clear(): void;
}

export interface FaultPlan extends Faults {
  /** Counts a request, and returns the fault that applies to it: of several, the one added first. */
  strike(operation: Exclude<Target, 'any'>): Fault | undefined;
  /** Counts an accepted job of `rows` rows, and returns how it will end. */
  outcome(rows: number): SimulatedOutcome;
  /** Starts counting from one again. */
  restart(): void;
}

/**
 * @param seed for faults with a probability: the same seed and the same order of requests give the same
 * faults
 * @param failJobs returns the share of jobs that fail; called for each job
 */
export function createFaultPlan(seed: number, failJobs: () => number): FaultPlan {
  const set: { fault: Fault; seen: number }[] = [];
  let jobs = 0;

  /** Every matching fault counts the event, even if an earlier one applies. */
  const struck = (watches: (fault: Fault) => boolean): Fault | undefined => {
    const watching = set.filter(({ fault }) => watches(fault));
    for (const one of watching) one.seen++;
    return watching.find(({ fault, seen }) => {
      const [, , is]: When = WHEN[fault.when];
      return is(fault.n, seen, chance(seed, fault.spec, seen));
    })?.fault;
  };

  return {
    add: (spec) => void set.push({ fault: parseFault(spec), seen: 0 }),
    list: () => set.map(({ fault }) => fault.spec),
    remove: (spec) => {
      const at = set.findIndex(({ fault }) => fault.spec === spec);
      if (at >= 0) set.splice(at, 1);
      return at >= 0;
    },
    clear: () => void set.splice(0),
    restart: () => {
      for (const one of set) one.seen = 0;
      jobs = 0;
    },
    strike: (operation) =>
      struck(({ kind, options }) => {
        const on = options.on ?? (kind === 'job-404' ? 'job' : 'submit');
        return !FAULTS[kind].ends && (on === 'any' || on === operation);
      }),
    outcome: (rows) => {
      jobs++;
      const fault = struck(({ kind }) => FAULTS[kind].ends !== undefined);
      if (fault !== undefined) return FAULTS[fault.kind].ends!(fault.options, rows);
      return { type: chance(seed, 'fail-jobs', jobs) < failJobs() ? 'failed' : 'completed' };
    },
  };
}

/** A repeatable random number in [0, 1): the same seed, name, and ordinal always give the same one. */
function chance(seed: number, name: string, ordinal: number): number {
  let hash = 0x811c9dc5; // FNV-1a
  for (const byte of new TextEncoder().encode(`${seed}\n${name}\n${ordinal}`)) {
    hash = Math.imul(hash ^ byte, 0x01000193);
  }
  // In FNV, the last bytes change too few bits. These are the final steps of MurmurHash3, which mix them.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
