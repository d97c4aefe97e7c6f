/** The life of one request: the contract's table "What becomes of an answer", with answers from a script. As long as that table. */
import { describe, expect, test } from 'vitest';
import {
  AuthError,
  ContractError,
  LockLostError,
  NetworkError,
  type ProfilesError,
  ServiceError,
  StateError,
} from '../../../src/engine/errors.js';
import type { ImportEvent } from '../../../src/engine/events.js';
import { foundAfterCrash, type Outcome, sendRequest } from '../../../src/engine/send/request.js';
import type { Expected } from '../../../src/engine/service/answer.js';
import type { Answer } from '../../../src/engine/service/client.js';
import type { RetryOptions } from '../../../src/engine/service/retry.js';
import type { RequestRecord } from '../../../src/engine/state/requests.js';
import { IdleClock } from '../../support/clock.js';
import { recordedRange } from '../support/rows.js';

const DEFAULTS: RetryOptions = {
  retries: 5,
  retryDelayMs: 1_000,
  maxRetryAfterMs: 300_000,
  busyTimeoutMs: 1_800_000,
};

const reply = (status: number, over: Partial<Extract<Answer, { type: 'reply' }>> = {}): Answer => ({
  type: 'reply',
  status,
  retryAfter: null,
  requestId: 'r-1',
  contentType: 'application/json',
  body: '{"errors":[{"message":"no","error_code":"E1"}]}',
  ...over,
});
const accepted = reply(202, { body: '{"job_id":"job-1","status":"queued"}' });
const lost: Answer = { type: 'lost', reason: 'connection reset' };
const unsent: Answer = { type: 'unsent', reason: 'connection refused', tls: false };

type Scripted = Answer | ((signal: AbortSignal) => Answer | Promise<Answer>);

interface Setup {
  record?: Partial<RequestRecord>;
  expected?: Expected;
  options?: Partial<RetryOptions>;
  /** Of jitter: 1 is the bound itself. */
  random?: number;
  stop?: AbortController;
  abort?: AbortController;
  /** Is called as the first pause begins. */
  onPause?: () => void;
  /** Fails the nth commit, from 1. */
  failingCommit?: number;
}

interface Sent {
  outcome: Outcome;
  record: RequestRecord;
  /** What happened, in order: `commit <state>`, `submit`. */
  log: string[];
  /** The record at each commit. */
  commits: RequestRecord[];
  /** Milliseconds since the start, of each attempt. */
  attempts: number[];
  retries: Extract<ImportEvent, { type: 'retry' }>[];
  /** When it was over. */
  end: number;
}

/** Sends a request to answers in turn; the last one answers whatever follows. */
async function send(script: Scripted[], setup: Setup = {}): Promise<Sent> {
  const { failure, ...sent } = await attempt(script, setup);
  if (failure) throw failure;
  return sent;
}

/** The same, with the error it threw. */
async function attempt(
  script: Scripted[],
  { record: over, expected = 'job', options, random = 1, onPause, failingCommit, ...signals }: Setup = {},
): Promise<Sent & { failure: unknown }> {
  const clock = new IdleClock();
  const record = recordedRange(0, 3, over);
  const log: string[] = [];
  const commits: RequestRecord[] = [];
  const attempts: number[] = [];
  const retries: Sent['retries'] = [];
  const stop = signals.stop ?? new AbortController();
  const abort = signals.abort ?? new AbortController();
  let outcome: Outcome = { type: 'stopped' };
  let failure: unknown = null;
  try {
    outcome = await sendRequest(
      record,
      { ...DEFAULTS, ...options },
      {
        expected,
        submit: async (signal) => {
          log.push('submit');
          attempts.push(clock.monotonic());
          const next = script[Math.min(attempts.length, script.length) - 1]!;
          return typeof next === 'function' ? next(signal) : next;
        },
        commit: async () => {
          if (commits.length + 1 === failingCommit) throw new StateError('the disk is full');
          await null;
          commits.push({ ...record });
          log.push(`commit ${record.state}`);
        },
        emit: (event) => {
          if (event.type !== 'retry') return;
          retries.push(event);
          if (onPause && retries.length === 1) queueMicrotask(onPause);
        },
        clock,
        random: () => random,
        stop: stop.signal,
        abort: abort.signal,
      },
    );
  } catch (error) {
    failure = error;
  }
  return { outcome, record, log, commits, attempts, retries, end: clock.monotonic(), failure };
}

/** Times between one attempt and the next. */
const pauses = ({ attempts }: Sent): number[] => attempts.slice(1).map((at, i) => at - attempts[i]!);

const errorOf = (outcome: Outcome): ProfilesError => {
  if (!('error' in outcome)) throw new Error(`it ended as ${outcome.type}`);
  return outcome.error;
};

describe('acknowledged', () => {
  test.each([200, 201, 202])('%i with a job id: recorded, never sent again', async (status) => {
    const sent = await send([reply(status, { body: '{"job_id":"job-1","status":"queued","type":"bulk"}' })]);
    expect(sent.outcome).toEqual({
      type: 'acknowledged',
      job: { job_id: 'job-1', status: 'queued', type: 'bulk' },
      warning: null,
    });
    expect(sent.record).toMatchObject({
      state: 'acknowledged',
      job_id: 'job-1',
      reason: null,
      possibleDuplicate: null,
    });
    expect(sent.attempts).toHaveLength(1);
  });

  test.each([
    ['no job id', '{"status":"queued"}'],
    ['an empty job id', '{"job_id":"","status":"queued"}'],
    ['an array', '[]'],
    ['null', 'null'],
  ])('a complete 2xx with %s: accepted, not traceable, never sent again', async (_name, body) => {
    const sent = await send([reply(202, { body })]);
    expect(sent.outcome).toMatchObject({ type: 'acknowledged', job: null });
    expect(sent.record).toMatchObject({ state: 'settled', job_id: null, job: null });
    expect(sent.record.reason).toContain('accepted with 202');
    expect(sent.outcome).toHaveProperty('warning', sent.record.reason);
    expect(sent.attempts).toHaveLength(1);
  });
});

describe('a complete 2xx that is not JSON', () => {
  const page = reply(200, { body: '<html>Sign in</html>', contentType: 'text/html' });

  test('once: sent again, and named', async () => {
    const sent = await send([page, accepted]);
    expect(sent.outcome).toMatchObject({ type: 'acknowledged', job: { job_id: 'job-1' } });
    expect(sent.record).toMatchObject({
      retries: 1,
      possibleDuplicate: expect.stringContaining('captive portal'),
    });
  });

  test('two in a row: the run cannot go on, whatever retries are left', async () => {
    const sent = await send([page]);
    expect(sent.attempts).toHaveLength(2);
    expect(sent.record).toMatchObject({
      state: 'unknown',
      reason: expect.stringContaining('captive portal'),
    });
    expect(errorOf(sent.outcome)).toBeInstanceOf(ContractError);
    expect(errorOf(sent.outcome)).toMatchObject({ exit: 6, hint: expect.stringContaining('sign in') });
  });

  test('two that are not in a row: it goes on', async () => {
    const sent = await send([page, reply(500), page, accepted]);
    expect(sent.outcome.type).toBe('acknowledged');
  });

  test('is a success where any is expected, but for a page', async () => {
    const nothing = reply(204, { body: '', contentType: null });
    const one = await send([nothing], { expected: 'anything' });
    expect(one.outcome).toMatchObject({ type: 'acknowledged', job: null });
    const two = await send([page], { expected: 'anything' });
    expect(two.outcome.type).toBe('failed');
  });
});

describe('tried again', () => {
  test.each<[name: string, answer: Answer, reason: string, twice: boolean]>([
    ['no connection', unsent, 'connection refused', false],
    ['lost', lost, 'connection reset', true],
    ['408', reply(408), '408', true],
    ['500', reply(500), '500', true],
    ['502', reply(502), '502', true],
    ['504', reply(504), '504', true],
    ['any other 5xx', reply(599), '599', true],
    ['429', reply(429), '429', false],
    ['503', reply(503), '503', true],
    ['503 with Retry-After', reply(503, { retryAfter: '1' }), '503', false],
    ['409', reply(409), '409', false],
  ])('%s, then accepted', async (_name, answer, reason, twice) => {
    const sent = await send([answer, accepted]);
    expect(sent.outcome).toMatchObject({ type: 'acknowledged', job: { job_id: 'job-1' }, warning: null });
    expect(sent.record).toMatchObject({ state: 'acknowledged', retries: 1, reason: null });
    if (twice) expect(sent.record.possibleDuplicate).toContain(reason);
    else expect(sent.record.possibleDuplicate).toBeNull();
    expect(sent.retries).toMatchObject([
      { request: 1, attempt: 1, delay_ms: 1_000, maybe_sent_twice: twice },
    ]);
    expect(sent.retries[0]!.reason).toContain(reason);
  });

  test.each<[name: string, answer: Answer, state: string, error: new (message: string) => Error]>([
    ['no connection', unsent, 'withdrawn', NetworkError],
    ['lost', lost, 'unknown', NetworkError],
    ['500', reply(500), 'unknown', ServiceError],
    ['429', reply(429), 'withdrawn', ServiceError],
    ['503', reply(503), 'unknown', ServiceError],
    ['503 with Retry-After', reply(503, { retryAfter: '1' }), 'withdrawn', ServiceError],
  ])('%s to the end: given up after five retries, resumable', async (_name, answer, state, Kind) => {
    const sent = await send([answer]);
    expect(sent.attempts).toHaveLength(6);
    expect(sent.retries.map((retry) => retry.attempt)).toEqual([1, 2, 3, 4, 5]);
    expect(sent.outcome.type).toBe('failed');
    expect(errorOf(sent.outcome)).toBeInstanceOf(Kind);
    expect(errorOf(sent.outcome).exit).toBe(6);
    expect(errorOf(sent.outcome).message).toContain('(6 attempts)');
    expect(sent.record).toMatchObject({ state, retries: 5 });
  });

  test('-o retries=0 gives up at once', async () => {
    const sent = await send([unsent], { options: { retries: 0 } });
    expect(sent.attempts).toHaveLength(1);
    expect(sent.retries).toEqual([]);
    expect(errorOf(sent.outcome).message).toBe('connection refused');
  });

  test.each([
    ['at most', 1, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]],
    ['half as long', 0.5, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]],
    ['at least', 0, [0, 0, 0, 0, 0, 0, 0, 0]],
  ])(
    'the pauses double from -o retry_delay to a minute, with full jitter: %s',
    async (_name, random, wanted) => {
      const sent = await send([lost], { random, options: { retries: 8 } });
      expect(pauses(sent)).toEqual(wanted);
      expect(sent.retries.map(({ delay_ms }) => delay_ms)).toEqual(wanted);
    },
  );

  test('-o retry_delay is where they begin', async () => {
    const sent = await send([lost, unsent, reply(500), accepted], { options: { retryDelayMs: 50 } });
    expect(pauses(sent)).toEqual([50, 100, 200]);
  });
});

describe('a wait that was asked for', () => {
  const date = (seconds: number): string => new Date(new IdleClock().now() + seconds * 1_000).toUTCString();

  test.each<[header: string | null, pause: number]>([
    ['7', 7_000],
    ['0', 0],
    ['300', 300_000],
    [date(90), 90_000],
    [null, 250],
    ['soon', 250],
    [date(-90), 250],
  ])('Retry-After: %s', async (retryAfter, pause) => {
    for (const status of [429, 503]) {
      const sent = await send([reply(status, { retryAfter }), accepted], { random: 0.25 });
      expect(pauses(sent)).toEqual([pause]);
      expect(sent.outcome.type).toBe('acknowledged');
    }
  });

  test.each([['301'], [date(301)], ['99999999999999999999']])(
    'longer than -o max_retry_after (%s): stops at once, resumable, and says how long',
    async (retryAfter) => {
      const sent = await send([reply(429, { retryAfter })]);
      expect(sent.attempts).toHaveLength(1);
      expect(sent.end).toBe(0);
      expect(sent.outcome.type).toBe('failed');
      expect(errorOf(sent.outcome)).toMatchObject({ exit: 6, status: 429, requestId: 'r-1' });
      expect(errorOf(sent.outcome).message).toContain('the service asks to wait');
      expect(errorOf(sent.outcome).problem?.code).toBe('retry_after_too_long');
      expect(sent.record).toMatchObject({ state: 'withdrawn', retries: 0 });
    },
  );

  test('the error says what was asked for', async () => {
    const sent = await send([reply(503, { retryAfter: '601' })]);
    expect(errorOf(sent.outcome).message).toContain('asks to wait 10m 01s');
    expect(errorOf(sent.outcome).problem).toEqual({ code: 'retry_after_too_long', waitMs: 601_000 });
  });

  test('it does not stretch the pauses of other failures', async () => {
    const sent = await send([reply(500, { retryAfter: '200' }), accepted]);
    expect(pauses(sent)).toEqual([1_000]);
  });

  test('a wait counts as a retry', async () => {
    const sent = await send([reply(429, { retryAfter: '1' })], { options: { retries: 2 } });
    expect(sent.attempts).toEqual([0, 1_000, 2_000]);
    expect(sent.outcome.type).toBe('failed');
  });
});

describe('busy', () => {
  const busy = reply(409);

  test('asks again after 1 s, growing to 10 s, however often; retries are not for this', async () => {
    const sent = await send([...Array.from({ length: 20 }, () => busy), accepted], {
      options: { retries: 0 },
      random: 0,
    });
    expect(pauses(sent).slice(0, 6)).toEqual([1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
    expect(pauses(sent)).toHaveLength(20);
    expect(sent.outcome.type).toBe('acknowledged');
    expect(sent.record).toMatchObject({ retries: 20, possibleDuplicate: null });
  });

  test('until -o busy_timeout and not beyond, then stops, resumable', async () => {
    const sent = await send([busy], { options: { busyTimeoutMs: 60_000 } });
    expect(sent.attempts.slice(-3)).toEqual([45_000, 55_000, 60_000]);
    expect(sent.outcome.type).toBe('failed');
    expect(errorOf(sent.outcome)).toMatchObject({ exit: 6, status: 409 });
    expect(errorOf(sent.outcome).message).toContain('busy for 1m 00s');
    expect(errorOf(sent.outcome).problem).toEqual({ code: 'busy_too_long', timeoutMs: 60_000 });
    expect(sent.record).toMatchObject({ state: 'withdrawn', possibleDuplicate: null });
  });
});

describe('not tried again', () => {
  test.each([400, 402, 415, 422, 418])('%i: refused for what is in it', async (status) => {
    const sent = await send([reply(status)]);
    expect(sent.outcome.type).toBe('refused');
    expect(errorOf(sent.outcome)).toMatchObject({ exit: 6, status, requestId: 'r-1' });
    expect(errorOf(sent.outcome).message).toContain('E1');
    expect(sent.record.state).toBe('withdrawn');
    expect(sent.record.reason).toContain(String(status));
    expect(sent.attempts).toHaveLength(1);
  });

  test('413: too large; its halves are requests of their own', async () => {
    const sent = await send([reply(413)]);
    expect(sent.outcome.type).toBe('too_large');
    expect(errorOf(sent.outcome)).toMatchObject({ status: 413, requestId: 'r-1' });
    expect(sent.record.state).toBe('withdrawn');
    expect(sent.log.at(-1)).toBe('commit withdrawn');
  });

  test.each([401, 403])('%i: the token', async (status) => {
    const sent = await send([reply(status)]);
    expect(sent.outcome.type).toBe('failed');
    expect(errorOf(sent.outcome)).toBeInstanceOf(AuthError);
    expect(errorOf(sent.outcome).exit).toBe(4);
    expect(sent.record.state).toBe('withdrawn');
    expect(sent.attempts).toHaveLength(1);
  });

  test.each<[name: string, answer: Answer]>([
    ['301', reply(301, { location: 'https://elsewhere.test' })],
    ['308', reply(308)],
    ['404', reply(404)],
    ['405', reply(405)],
    ['501', reply(501)],
    ['a TLS failure', { type: 'unsent', reason: 'certificate has expired', tls: true, hint: 'renew it' }],
  ])('%s: the address', async (_name, answer) => {
    const sent = await send([answer]);
    expect(sent.outcome.type).toBe('failed');
    expect(errorOf(sent.outcome).exit).toBe(6);
    expect(errorOf(sent.outcome).hint).toMatch(/base URL|renew it/);
    expect(sent.record.state).toBe('withdrawn');
    expect(sent.attempts).toHaveLength(1);
  });
});

describe('what may have arrived', () => {
  test('stays so when a later attempt is refused: the service may have it already', async () => {
    const sent = await send([lost, reply(400)]);
    expect(sent.outcome.type).toBe('refused');
    expect(sent.record).toMatchObject({
      state: 'unknown',
      reason: 'connection reset',
      possibleDuplicate: 'connection reset',
    });
  });

  test.each([
    ['the token is refused', reply(401), 'failed'],
    ['the address is wrong', reply(404), 'failed'],
    ['it has to wait too long', reply(503, { retryAfter: '9999' }), 'failed'],
  ] as const)('stays so when %s', async (_name, answer, type) => {
    const sent = await send([lost, answer]);
    expect(sent.outcome.type).toBe(type);
    expect(sent.record).toMatchObject({ state: 'unknown', possibleDuplicate: 'connection reset' });
  });

  test('is named although it turns out too large, and its halves are sent', async () => {
    const sent = await send([lost, reply(413)]);
    expect(sent.outcome.type).toBe('too_large');
    expect(sent.record).toMatchObject({ state: 'unknown', possibleDuplicate: 'connection reset' });
  });

  test('is named with the first reason, and kept with the last', async () => {
    const sent = await send([lost, reply(500), reply(400)]);
    expect(sent.record.possibleDuplicate).toBe('connection reset');
    expect(sent.record.reason).toContain('500');
  });

  test('was not sent twice when no later attempt reached the service', async () => {
    const sent = await send([lost, unsent]);
    expect(sent.outcome.type).toBe('failed');
    expect(sent.record).toMatchObject({
      state: 'unknown',
      reason: 'connection reset',
      possibleDuplicate: null,
    });
    expect(sent.commits.at(-1)).toMatchObject({ state: 'unknown', possibleDuplicate: null });
  });

  test('was sent twice once one attempt did, whatever came after', async () => {
    const sent = await send([lost, reply(429), unsent], { options: { retries: 3 } });
    expect(sent.record).toMatchObject({ state: 'unknown', possibleDuplicate: 'connection reset' });
  });

  test('from an earlier session is named when it is sent again', async () => {
    const record = { state: 'unknown', reason: 'reply timeout', retries: 2 } as const;
    const sent = await send([accepted], { record });
    expect(sent.record).toMatchObject({
      state: 'acknowledged',
      possibleDuplicate: 'reply timeout',
      reason: null,
      retries: 2,
    });
    expect(sent.commits[0]).toMatchObject({ state: 'unknown', possibleDuplicate: 'reply timeout' });
  });

  test('from an earlier session is not named when the lock was lost before a byte was written', async () => {
    const record = { state: 'unknown', reason: 'reply timeout' } as const;
    const sent = await attempt([() => Promise.reject(new LockLostError('another import took over'))], {
      record,
    });
    expect(sent.failure).toBeInstanceOf(LockLostError);
    expect(sent.commits.map(({ possibleDuplicate }) => possibleDuplicate)).toEqual(['reply timeout', null]);
    expect(sent.record).toMatchObject({ state: 'unknown', reason: 'reply timeout', possibleDuplicate: null });
  });

  test('from an earlier session, refused now, is still unknown', async () => {
    const sent = await send([reply(422)], { record: { state: 'unknown', reason: 'reply timeout' } });
    expect(sent.record).toMatchObject({
      state: 'unknown',
      reason: 'reply timeout',
      possibleDuplicate: 'reply timeout',
    });
  });

  test('found after a crash: a bare intent is unknown, everything else is what it is', () => {
    expect(foundAfterCrash(recordedRange(0, 3))).toMatchObject({
      state: 'unknown',
      reason: 'the import ended before the answer was read',
      possibleDuplicate: null,
    });
    const known = recordedRange(0, 3, { state: 'unknown', reason: 'reset' });
    expect(foundAfterCrash(known)).toEqual(known);
  });
});

describe('stopped', () => {
  const stopped = (): AbortController => {
    const stop = new AbortController();
    stop.abort('SIGINT');
    return stop;
  };

  test('before it was sent: not sent, and to be sent by a resume', async () => {
    const sent = await send([accepted], { stop: stopped() });
    expect(sent.outcome.type).toBe('stopped');
    expect(sent.log).toEqual(['commit withdrawn']);
  });

  test('before it was sent again: what is unknown stays unknown, and was not sent twice', async () => {
    const sent = await send([accepted], {
      stop: stopped(),
      record: { state: 'unknown', reason: 'reply timeout' },
    });
    expect(sent.log).toEqual(['commit unknown']);
    expect(sent.record).toMatchObject({ state: 'unknown', reason: 'reply timeout', possibleDuplicate: null });
  });

  test.each<[name: string, answer: Answer, state: string]>([
    ['no connection', unsent, 'withdrawn'],
    ['429', reply(429, { retryAfter: '120' }), 'withdrawn'],
    ['409', reply(409), 'withdrawn'],
    ['lost', lost, 'unknown'],
    ['500', reply(500), 'unknown'],
  ])('while it waits after %s: at once, and nothing is sent any more', async (_name, answer, state) => {
    const stop = new AbortController();
    const sent = await send([answer, accepted], { stop, onPause: () => stop.abort('SIGINT') });
    expect(sent.attempts).toHaveLength(1);
    expect(sent.end).toBe(0);
    expect(sent.outcome.type).toBe('stopped');
    expect(sent.record).toMatchObject({ state, possibleDuplicate: null });
    expect(sent.log.at(-1)).toBe(`commit ${state}`);
  });

  test('while it is answered: what was answered counts', async () => {
    const stop = new AbortController();
    const sent = await send(
      [
        () => {
          stop.abort('SIGINT');
          return accepted;
        },
      ],
      { stop },
    );
    expect(sent.outcome.type).toBe('acknowledged');
    expect(sent.record.state).toBe('acknowledged');
  });

  test('while it is answered with a passing failure: no retry is announced or counted', async () => {
    const stop = new AbortController();
    const sent = await send(
      [
        () => {
          stop.abort('SIGINT');
          return reply(429);
        },
      ],
      { stop },
    );
    expect(sent.outcome.type).toBe('stopped');
    expect(sent.record).toMatchObject({ state: 'withdrawn', retries: 0 });
    expect(sent.retries).toEqual([]);
  });
});

describe('ended at once, during the attempt', () => {
  test('nobody knows what became of it', async () => {
    const [stop, abort] = [new AbortController(), new AbortController()];
    const sent = await send(
      [
        (signal) => {
          stop.abort('SIGINT');
          abort.abort('SIGINT');
          return Promise.reject(signal.reason);
        },
      ],
      { stop, abort },
    );
    expect(sent.outcome.type).toBe('stopped');
    expect(sent.record).toMatchObject({
      state: 'unknown',
      reason: 'interrupted while it was sent',
      possibleDuplicate: null,
    });
    expect(sent.log).toEqual(['commit intent', 'submit', 'commit unknown']);
  });

  test('what was unknown before keeps its reason, and may be there twice now', async () => {
    const [stop, abort] = [new AbortController(), new AbortController()];
    const sent = await send(
      [
        lost,
        () => {
          stop.abort();
          abort.abort();
          throw new Error('aborted');
        },
      ],
      { stop, abort },
    );
    expect(sent.record).toMatchObject({
      state: 'unknown',
      reason: 'connection reset',
      possibleDuplicate: 'connection reset',
    });
  });

  test('any other failure of the sending itself is thrown, and the intent stands', async () => {
    const sent = await attempt([() => Promise.reject(new TypeError('a defect'))]);
    expect(sent.failure).toBeInstanceOf(TypeError);
    expect(sent.log).toEqual(['commit intent', 'submit']);
  });
});

describe('what is on disk', () => {
  test('the intent before the attempt, the acknowledgement before the outcome', async () => {
    const sent = await send([accepted]);
    expect(sent.log).toEqual(['commit intent', 'submit', 'commit acknowledged']);
    expect(sent.commits.at(-1)).toMatchObject({ job_id: 'job-1', job: { job_id: 'job-1' } });
  });

  test('while it waits, what is known of it; before each attempt, the intent again', async () => {
    const sent = await send([reply(429), unsent, reply(409), accepted]);
    expect(sent.log).toEqual([
      'commit intent',
      'submit',
      'commit withdrawn',
      'commit intent',
      'submit',
      'commit withdrawn',
      'commit intent',
      'submit',
      'commit withdrawn',
      'commit intent',
      'submit',
      'commit acknowledged',
    ]);
    expect(sent.commits.map(({ retries }) => retries)).toEqual([0, 1, 1, 2, 2, 3, 3, 3]);
    expect(sent.commits.find(({ state }) => state === 'intent')!.reason).toBeNull();
  });

  test('an answer that was lost, before the pause; that it is sent again, before it is', async () => {
    const sent = await send([lost, accepted]);
    expect(sent.log).toEqual([
      'commit intent',
      'submit',
      'commit unknown',
      'commit unknown',
      'submit',
      'commit acknowledged',
    ]);
    expect(sent.commits.map(({ possibleDuplicate }) => possibleDuplicate)).toEqual([
      null,
      null,
      'connection reset',
      'connection reset',
    ]);
  });

  test('what cannot be recorded is not sent', async () => {
    const sent = await attempt([accepted], { failingCommit: 1 });
    expect(sent.failure).toBeInstanceOf(StateError);
    expect(sent.log).toEqual([]);
  });

  test('an acknowledgement that cannot be recorded is not reported as one', async () => {
    const sent = await attempt([accepted], { failingCommit: 2 });
    expect(sent.failure).toBeInstanceOf(StateError);
    expect(sent.attempts).toHaveLength(1);
  });

  test.each([2, 3])('commit %i failing, nothing is sent after it', async (failingCommit) => {
    const sent = await attempt([lost, accepted], { failingCommit });
    expect(sent.failure).toBeInstanceOf(StateError);
    expect(sent.attempts).toHaveLength(1);
  });
});
