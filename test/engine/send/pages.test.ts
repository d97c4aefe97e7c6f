/**
 * Pages of single requests.
 *
 * - `next <request> <rules> # <why>`, with the states of a request and of those that have its rows instead, each with its number
 *   of items: the step, the place of its request (`0.1` is the right half of the request that repeats the first one), and
 *   what a search has found
 * - `send <answer>, <answer>, … {setup}`: sends one to answers in turn, of which the last one answers whatever follows, and
 *   prints what happens, its outcome, and its record
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { LockLostError, ProfilesError, StateError } from '../../../src/engine/errors.js';
import type { RequestRecord } from '../../../src/engine/model/requests.js';
import { RunRequests } from '../../../src/engine/model/run-requests.js';
import { foundIn, nextStep, starts } from '../../../src/engine/send/next.js';
import { type Outcome, sendRequest } from '../../../src/engine/send/request.js';
import type { Answer, Expected } from '../../../src/engine/service/answer.js';
import { IdleClock } from '../../support/clock.js';
import { page } from '../../support/page.js';
import { recordedRange } from '../support/rows.js';

const ended = (status: string, more: object = {}): Partial<RequestRecord> => ({
  state: 'settled',
  job: { job_id: 'j', status, ...more },
});
const STATES: Record<string, Partial<RequestRecord>> = {
  failed: ended('failed'),
  completed: ended('completed'),
  short: ended('completed', { completed_rows: 0 }),
  oneShort: ended('completed', { completed_rows: 1 }),
  waiting: { state: 'withdrawn' },
  unknown: { state: 'unknown' },
  rejected: { state: 'rejected', failure: 'job failed' },
  otherwise: { state: 'refused', failure: '422 invalid' },
  known: { state: 'divided' },
  tooLarge: { state: 'divided', failure: '413' },
};

function next(line: string): string {
  const [, tree, given = ''] = /^(.*?)((?: \w+=\w+)*) #/.exec(line)!;
  const words = tree!.match(/\w+|[(),]/g)!;
  const requests = new RunRequests();
  const places = new Map<number, string>();
  const add = (parent: number | null, place: string): void => {
    const [state, items] = [words.shift()!, Number(words.shift())];
    const seq = requests.next;
    requests.add({ ...recordedRange(0, items), job: null, seq, parent, rows: items, ...STATES[state] });
    places.set(seq, place);
    if (words[0] !== '(') return;
    for (let at = 0; words.shift() !== ')'; at++) add(seq, place === '' ? `${at}` : `${place}.${at}`);
  };
  add(null, '');
  const rules = { isolate: true, jobs: 128, wait: true, most: Number.POSITIVE_INFINITY };
  const changes = given.split(' ').flatMap((one) => (one ? [one.split('=')] : []));
  const over = Object.fromEntries(changes.map(([name, value]) => [name, JSON.parse(value!)]));
  const root = requests.of(1)!;
  const step = nextStep(root, requests, { ...rules, ...over });
  if (!step) return requests.all.length > 2 ? `done: ${foundIn(root, requests)}` : 'done';
  return `${step.do} ${places.get(step.request.seq)}`.trim() + (starts(step) ? ', a search begins' : '');
}

interface Signals {
  stop: AbortController;
  abort: AbortController;
}

const reply = (status: number, body = '{"errors":[{"message":"no","error_code":"E1"}]}'): Answer => ({
  type: 'reply',
  status,
  retryAfter: null,
  requestId: 'r-1',
  contentType: body.startsWith('<') ? 'text/html' : 'application/json',
  body,
});
const NAMED: Record<string, Answer> = {
  accepted: reply(202, '{"job_id":"job-1","status":"queued"}'),
  untraceable: reply(202, '{"status":"queued"}'),
  page: reply(200, '<html>Sign in</html>'),
  nothing: reply(204, ''),
  lost: { type: 'lost', reason: 'connection reset' },
  unsent: { type: 'unsent', reason: 'connection refused', tls: false },
};
const LOST_LOCK = new LockLostError('another import took over');

/** Such as `429 after 7`, `503 at 90` (a date in so many seconds), `stopping 429` (Ctrl-C meanwhile). */
function answerIn(word: string, { stop, abort }: Signals): Answer {
  const [, stopping, name, how, seconds] = /^(stopping )?(\w+)(?: (after|at) (\d+))?$/.exec(word)!;
  if (stopping || name === 'interrupt') stop.abort('SIGINT');
  if (name === 'interrupt') abort.abort('SIGINT');
  if (name === 'interrupt' || name === 'defect') throw new TypeError('a defect');
  if (name === 'lock') throw LOST_LOCK;
  const date = (): string => new Date(new IdleClock().now() + Number(seconds) * 1_000).toUTCString();
  const retryAfter = how === 'at' ? date() : (seconds ?? null);
  return NAMED[name!] ?? Object.assign(reply(Number(name)), { retryAfter });
}

interface Setup {
  record?: Partial<RequestRecord>;
  expected?: Expected;
  retries?: number;
  isStopped?: boolean;
  /** Stops it in its first pause. */
  stopsInPause?: boolean;
  /** Fails the nth commit, from 1. */
  failingCommit?: number;
}

async function send(line: string): Promise<string> {
  const [, answers, json = '{}'] = /^(.*?)(?: (\{.*\}))?$/.exec(line)!;
  const script = answers!.split(', ');
  const setup = JSON.parse(json) as Setup;
  const clock = new IdleClock();
  const record = recordedRange(0, 3, setup.record);
  const log: string[] = [];
  const signals: Signals = { stop: new AbortController(), abort: new AbortController() };
  if (setup.isStopped) signals.stop.abort('SIGINT');
  let [commits, attempts] = [0, 0];
  const options = { retryDelayMs: 1_000, maxRetryAfterMs: 300_000, busyTimeoutMs: 60_000 };
  let outcome: Outcome | { type: 'thrown'; error: unknown };
  try {
    outcome = await sendRequest(
      record,
      { ...options, retries: setup.retries ?? 5 },
      {
        expected: setup.expected ?? 'job',
        submit: async () => {
          log.push('submit');
          return answerIn(script[Math.min(attempts++, script.length - 1)]!, signals);
        },
        commit: async () => {
          if (++commits === setup.failingCommit) throw new StateError('the disk is full');
          await null;
          log.push(`commit ${record.state}${record.possibleDuplicate === null ? '' : ' (maybe twice)'}`);
        },
        emit: (event) => {
          if (event.type !== 'retry') return;
          log.push(
            `wait ${event.delay_ms} ms${event.maybe_sent_twice ? ' (maybe sent)' : ''}: ${event.reason}`,
          );
          if (setup.stopsInPause) queueMicrotask(() => signals.stop.abort('SIGINT'));
        },
        clock,
        random: () => 1,
        stop: signals.stop.signal,
        abort: signals.abort.signal,
      },
    );
  } catch (error) {
    outcome = { type: 'thrown', error };
  }
  const { type, error, ...more } = { error: undefined, ...outcome };
  const { state, reason, retries, possibleDuplicate, job_id } = record;
  return [
    ...log,
    `${type} after ${clock.monotonic()} ms${Object.keys(more).length > 0 ? ` ${JSON.stringify(more)}` : ''}`,
    ...(error === undefined ? [] : [`  ${told(error)}`]),
    `  ${JSON.stringify({ state, reason, retries, possibleDuplicate, job_id })}`,
  ].join('\n');
}

function told(error: unknown): string {
  if (!(error instanceof ProfilesError)) return String(error);
  const { name, message, exit, status, requestId } = error;
  return `${name}: ${message} ${JSON.stringify({ exit, status, requestId })}`;
}

const COMMANDS: Record<string, (line: string) => string | Promise<string>> = { next, send };
const PAGES = join(import.meta.dirname, 'pages');
for (const name of readdirSync(PAGES))
  page(join(PAGES, name), () => ({
    type: async (line) => {
      const [command, rest] = line.split(/ (.*)/s);
      return `${await COMMANDS[command!]!(rest!)}\n`;
    },
  }));
