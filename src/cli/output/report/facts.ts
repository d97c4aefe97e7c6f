/** The data of a report, and which of its texts others may see. */
import { STATUS_CODES } from 'node:http';
import type { Plan, RunStatus, Summary } from '../../../engine/model.js';
import type { RequestRecord } from '../../../engine/state/requests.js';
import { type Public, withoutValues } from '../cause-text.js';

/** The wait between two attempts of a request; times in milliseconds since 1970. */
export interface Wait {
  /** Number of the request in the run. */
  request: number;
  from: number;
  until: number;
  reason: string;
}

/** When a job was accepted and last polled, as ISO 8601 by this machine's clock. */
export interface Seen {
  submitted_at: string;
  seen_at: string;
}

export interface Facts {
  /** Milliseconds since 1970. */
  now: number;
  service: Pick<Summary, 'account' | 'region' | 'base_url'>;
  /** The inputs, as they were given on the command line. */
  paths: readonly string[];
  run: string | null;
  status: RunStatus | 'running' | 'crashed' | 'superseded';
  /** Milliseconds since 1970; null if nothing was started. */
  startedAt: number | null;
  /** Null if no session has ended. */
  summary: Summary | null;
  /** Null for a run loaded from the state, and for one that failed before its plan. */
  plan: Plan | null;
  requests: readonly RequestRecord[];
  /** By job id. */
  seen: ReadonlyMap<string, Seen>;
  /** The waits of this session. The state counts retries, but does not record their times. */
  waits: readonly Wait[];
  /** The error that ended the import early, or null. */
  failure: { message: string; hint: string | undefined; errorCode: string | undefined } | null;
  /** Whether the report is about a stored run: the state keeps no causes, warnings, or columns. */
  stored: boolean;
  /** Whether the run had earlier sessions. */
  resumed: boolean;
  /** Commands to run, each with its purpose. */
  next: readonly { what: string | null; command: string }[];
  /** Which texts may be shown. */
  shown: Public;
}

/** The start of the reason for a row that failed alone; a colon and the service's own words follow. */
const ALONE = 'the service failed the job of this row alone';

/** Reduces the service's words to the status and the `error_code`, and removes other quoted text. */
export class Wording {
  /** The recorded reasons of requests, and their reduced forms. */
  readonly #recorded: [words: string, reduced: string][];

  constructor(
    requests: readonly RequestRecord[],
    private readonly shown: Public,
  ) {
    const reduced = new Map<string, string>();
    for (const { reason, failure } of requests) {
      if (reason !== null) reduced.set(reason, reduce(reason, codeIn(failure)));
    }
    // Longest first, because one reason may be the start of another.
    this.#recorded = [...reduced].sort(([a], [b]) => b.length - a.length).slice(0, MOST_RECORDED);
  }

  /**
   * A sentence that may contain a cell or the service's words.
   * @param errorCode the service's `error_code`, if known
   */
  text(text: string, errorCode?: string): string {
    if (this.shown.values) return text;
    const known = this.#recorded.find(([words]) => text.includes(words));
    const own = known ? text.replace(known[0], () => known[1]) : reduce(text, errorCode);
    return withoutValues(own, this.shown.names);
  }

  /** The reason for the type of a column: a cell is replaced with its location. */
  typeReason(reason: string): string {
    if (this.shown.values) return reason;
    const [, place, what] =
      /^((?:line|row|item) \d+): .*?( is (?:a|an|null|text)[a-z ]*, others are [a-z ]+)?$/s.exec(reason) ??
      [];
    if (place === undefined) return withoutValues(reason, this.shown.names);
    return what === undefined ? `${place} must stay text` : `${place}${what}`;
  }
}

/** The maximum number of recorded reasons that are searched for in a sentence. */
const MOST_RECORDED = 1_000;

/** The `error_code` of a failure: `422 invalid_item` has one; `422` and `job failed` do not. */
const codeIn = (failure: string | null): string | undefined => /^\d{3} (\S.*)$/s.exec(failure ?? '')?.[1];

function reduce(text: string, errorCode: string | undefined): string {
  for (const found of text.matchAll(/\b([1-5]\d\d) /g)) {
    const line = `${found[1]} ${STATUS_CODES[found[1]!] ?? ''}`.trimEnd();
    if (line.length < 4 || !text.startsWith(line, found.index)) continue;
    const note = /; \d[\d,]* items? fail only together$/.exec(text)?.[0] ?? '';
    return text.slice(0, found.index) + line + (errorCode ? ` (${errorCode.slice(0, 100)})` : '') + note;
  }
  const alone = text.indexOf(`${ALONE}: `);
  return alone < 0 ? text : text.slice(0, alone + ALONE.length);
}
