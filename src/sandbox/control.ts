/**
 * The control route of a running sandbox, for tests in other processes and other languages:
 * `GET POST DELETE /faults` · `GET /ledger` · `GET PATCH /settings` · `POST /reset`.
 * It listens on loopback only, and refuses what a web page could send.
 */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import * as z from 'zod';
import { UsageError } from '../engine/errors.js';
import { type Answer, json, refuse } from './answer.js';
import type { Faults } from './faults.js';
import type { Ledger } from './ledger.js';
import type { Limits } from './limits.js';

export interface ControlParts {
  faults: Faults;
  limits: Limits;
  ledger: Ledger;
  reset(): void;
}

const settingsSchema = z
  .strictObject({
    latency_ms: z.number().min(0).max(86_400_000),
    rows_per_second: z.number().positive(),
    one_job_at_a_time: z.boolean(),
    max_items: z.int().positive().nullable(),
    max_bytes: z.int().positive(),
    rate_limit: z.number().positive().nullable(),
    fail_jobs: z.number().min(0).max(1),
  })
  .partial();
const faultSchema = z.strictObject({ spec: z.string() });

export function createControl(parts: ControlParts): Server {
  return createServer((request, reply) => {
    void answerTo(request, parts)
      .catch((error: unknown) => refuse(500, { message: String(error) }))
      .then(({ status, headers, body }) => reply.writeHead(status, headers).end(body));
  });
}

async function answerTo(
  request: IncomingMessage,
  { faults, limits, ledger, reset }: ControlParts,
): Promise<Answer> {
  // A page in a browser reaches loopback too: by a host name of its own, or by sending a form.
  const { host = '', origin } = request.headers;
  if (origin !== undefined || !/^(127\.0\.0\.1|localhost)(:\d+)?$/.test(host))
    return refuse(403, { message: 'this is for programs on this machine only' });
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  const body = await text(request);
  switch (`${request.method} ${pathname}`) {
    case 'GET /faults':
      return json(200, { faults: faults.list() });
    case 'POST /faults':
      return withBody(body, faultSchema, ({ spec }) => {
        faults.add(spec);
        return json(201, { faults: faults.list() });
      });
    case 'DELETE /faults':
      faults.clear();
      return json(200, { faults: [] });
    case 'GET /ledger':
      return json(200, { ledger: ledger.list(Number(searchParams.get('after') ?? 0)) });
    case 'GET /settings':
      return json(200, settingsOf(limits));
    case 'PATCH /settings':
      return withBody(body, settingsSchema, (change) => {
        Object.assign(limits, limitsOf(change));
        return json(200, settingsOf(limits));
      });
    case 'POST /reset':
      reset();
      return json(200, { reset: true });
    default:
      return refuse(404, {
        message: 'GET POST DELETE /faults, GET /ledger?after=<n>, GET PATCH /settings, POST /reset',
      });
  }
}

function withBody<T>(body: string, schema: z.ZodType<T>, act: (value: T) => Answer): Answer {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch (error) {
    return refuse(400, { where: 'body', message: `not JSON: ${(error as Error).message}` });
  }
  const read = schema.safeParse(value);
  if (!read.success)
    return refuse(
      422,
      read.error.issues.map(({ path, message }) => ({ where: path.join('.') || 'body', message })),
    );
  try {
    return act(read.data);
  } catch (error) {
    if (error instanceof UsageError)
      return refuse(422, { where: error.hint ?? 'spec', message: error.message });
    throw error;
  }
}

type Settings = z.infer<typeof settingsSchema>;

function settingsOf(limits: Limits): Required<Settings> {
  return {
    latency_ms: limits.latencyMs,
    rows_per_second: limits.rowsPerSecond,
    one_job_at_a_time: limits.oneJobAtATime,
    max_items: limits.maxItems,
    max_bytes: limits.maxBytes,
    rate_limit: limits.rateLimit,
    fail_jobs: limits.failJobs,
  };
}

function limitsOf(change: Settings): Partial<Limits> {
  const all: { [K in keyof Limits]: Limits[K] | undefined } = {
    latencyMs: change.latency_ms,
    rowsPerSecond: change.rows_per_second,
    oneJobAtATime: change.one_job_at_a_time,
    maxItems: change.max_items,
    maxBytes: change.max_bytes,
    rateLimit: change.rate_limit,
    failJobs: change.fail_jobs,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}
