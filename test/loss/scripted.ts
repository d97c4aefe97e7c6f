/**
 * A service behind the client's own interface, for what sockets are too slow for: thousands of sequences of
 * answers. Its store is what the real one's would be after the same requests.
 */
import { setImmediate } from 'node:timers/promises';
import { ServiceError } from '../../src/engine/errors.js';
import { ID_FIELD, type Kind } from '../../src/engine/model.js';
import type { Answer, ServiceClient } from '../../src/engine/service/client.js';
import type { Job } from '../../src/engine/service/contract.js';

/** What becomes of one submission. */
export type Move =
  | 'accept'
  /** Carried out; the answer is lost. */
  | 'accept, answer lost'
  /** Not carried out, and the client cannot know. */
  | 'lost'
  | 'unsent'
  /** Carried out; the reply names no job. */
  | 'untraceable'
  | { status: 400 | 401 | 404 | 409 | 413 | 422 | 429 | 500 | 503 }
  /** The first Ctrl-C, while it is under way; carried out. */
  | 'interrupt'
  /** The second Ctrl-C, while it is under way; carried out, and nobody hears of it. */
  | 'abort';

/** What becomes of one job: its rows are in the store, or half of them, or none; it says so, or is gone. */
export type Fate = 'completed' | 'failed' | 'short' | 'missing' | 'unknown status';

export interface Script {
  moves: readonly Move[];
  fates: readonly Fate[];
}

interface Entry {
  id: string;
  metadata: Record<string, unknown>;
}

/** A bulk request that arrived. */
export interface Arrival {
  kind: Kind;
  ids: string[];
  body: string;
  /** It was carried out. */
  accepted: boolean;
  /** The client was told so, with a complete 2xx. */
  acknowledged: boolean;
}

export class ScriptedService {
  /** Profiles by kind and id, as the upserts left them. */
  readonly store = { companies: new Map<string, object>(), users: new Map<string, object>() };
  /** Every request, in order of arrival. */
  readonly arrivals: Arrival[] = [];
  /** Ids that were sent while the client knew of an unfinished job that holds them. */
  readonly overtaken: string[] = [];
  readonly #jobs = new Map<string, { rows: number; fate: Fate; polls: number }>();
  /** Ids of jobs that the client knows of and has not seen to their end. */
  readonly #open = new Map<string, { kind: Kind; ids: string[] }>();

  /** Another import begins: what is unfinished of those before is none of its business. */
  begin(): void {
    this.overtaken.length = 0;
    this.#open.clear();
  }

  /** A client whose submissions meet with these moves in turn, and then with a service in good health. */
  client(script: Script, signals: { stop: AbortController; abort: AbortController }): ServiceClient {
    const moves = [...script.moves];
    const fates = [...script.fates];

    const accept = (kind: Kind, entries: Entry[]): Job => {
      const fate = fates.shift() ?? 'completed';
      const applied = { completed: 1, 'unknown status': 1, failed: 0.5, short: 0.5, missing: 0 }[fate];
      for (const { id, metadata } of entries.slice(0, Math.ceil(entries.length * applied))) {
        const profile = this.store[kind].get(id);
        this.store[kind].set(id, { ...profile, ...metadata });
      }
      const job_id = `job-${this.#jobs.size + 1}`;
      this.#jobs.set(job_id, { rows: entries.length, fate, polls: 0 });
      return { job_id, status: 'queued', total_rows: entries.length };
    };

    const submit = async (
      kind: Kind,
      body: Uint8Array,
      signal?: AbortSignal,
      ready?: () => void,
    ): Promise<Answer> => {
      signal?.throwIfAborted();
      ready?.();
      const entries = entriesOf(kind, body);
      const move = moves.shift() ?? 'accept';
      await setImmediate();
      const carriesOut = typeof move === 'string' && move !== 'lost' && move !== 'unsent';
      const job = carriesOut ? accept(kind, entries) : null;
      const ids = entries.map(({ id }) => id);
      for (const held of this.#open.values()) {
        if (held.kind === kind) this.overtaken.push(...ids.filter((id) => held.ids.includes(id)));
      }
      const arrival: Arrival = { kind, ids, body: String(body), accepted: carriesOut, acknowledged: false };
      this.arrivals.push(arrival);
      if (move === 'interrupt') signals.stop.abort('SIGINT');
      if (move === 'abort') {
        signals.stop.abort('SIGINT');
        signals.abort.abort('SIGINT');
      }
      signal?.throwIfAborted();
      if (typeof move === 'object') return reply(move.status, '{"errors":[]}');
      if (move === 'unsent') return { type: 'unsent', reason: 'refused', tls: false };
      if (move === 'lost' || move === 'accept, answer lost') return { type: 'lost', reason: 'reset' };
      arrival.acknowledged = true;
      if (job && move !== 'untraceable') this.#open.set(job.job_id, { kind, ids });
      return reply(202, move === 'untraceable' ? '{}' : JSON.stringify(job));
    };

    const job = async (job_id: string, signal?: AbortSignal): Promise<Job> => {
      await setImmediate();
      signal?.throwIfAborted();
      const found = this.#jobs.get(job_id)!;
      const { rows, fate } = found;
      if (fate !== 'unknown status' || found.polls === 2) this.#open.delete(job_id);
      const done = { job_id, status: 'completed', total_rows: rows, completed_rows: rows };
      switch (fate) {
        case 'missing':
          throw new ServiceError('no such job', { status: 404 });
        case 'failed':
          return { ...done, status: 'failed', completed_rows: 0 };
        case 'short':
          return { ...done, completed_rows: Math.ceil(rows / 2) };
        case 'unknown status':
          return ++found.polls < 3 ? { ...done, status: 'reindexing', completed_rows: 0 } : done;
        case 'completed':
          return done;
      }
    };

    return {
      baseUrl: 'http://service.test',
      lookupBaseUrl: null,
      submit,
      job,
      identifyCompany: () => Promise.reject(new Error('not used')),
      lookup: () => Promise.reject(new Error('not used')),
      close: async () => {},
    };
  }
}

function entriesOf(kind: Kind, body: Uint8Array): Entry[] {
  const parsed = JSON.parse(Buffer.from(body).toString('utf8')) as Record<
    Kind,
    { company_id: string; user_id: string; metadata?: Record<string, unknown> }[]
  >;
  const entries = parsed[kind].map((item) => ({ id: item[ID_FIELD[kind]], metadata: item.metadata ?? {} }));
  if (new Set(entries.map(({ id }) => id)).size < entries.length)
    throw new Error('an id appears twice in a request');
  return entries;
}

function reply(status: number, body: string): Answer {
  return { type: 'reply', status, retryAfter: null, requestId: null, contentType: 'application/json', body };
}
