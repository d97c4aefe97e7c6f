/** A bare HTTP client for tests: sends the path as it is given, follows nothing, repeats nothing. */
import { type Agent, type IncomingHttpHeaders, request } from 'node:http';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/index.js';
import { ManualClock, test } from '../support/sandbox.js';

export interface Reply {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** The body as JSON. */
  json(): unknown;
}

export interface Send {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** Default: a connection for each request. */
  agent?: Agent | false;
  signal?: AbortSignal;
}

/** Resolves with a complete reply; rejects with the connection's error, or `aborted` when the reply was cut. */
export function send(
  url: string,
  { method = 'GET', headers = {}, body, agent = false, signal }: Send = {},
): Promise<Reply> {
  const [, host = '', port = '', path = '/'] = /^http:\/\/([^:/]+):(\d+)(.*)$/.exec(url) ?? [];
  // Node leaves a body's length out for GET.
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  return new Promise((resolve, reject) => {
    const sent = request(
      { host, port, path, method, headers: { ...length, ...headers }, agent, ...(signal && { signal }) },
      (reply) => {
        const chunks: Buffer[] = [];
        reply.on('data', (chunk: Buffer) => chunks.push(chunk));
        reply.on('error', reject);
        reply.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          const { statusCode: status = 0 } = reply;
          resolve({ status, headers: reply.headers, text, json: () => JSON.parse(text) });
        });
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

export const COMPANIES = '/v1/companies/bulk_identify';
export const COMPANY = '/v1/companies/identify';
export const USERS = '/v1/users/bulk_identify';
export const LOOKUPS = '/api/v1/analytics/exports/lookups/';
export const EMBEDS = `${LOOKUPS}embeds`;

const authorized = (sandbox: Sandbox): Record<string, string> => ({
  authorization: `Token ${sandbox.token}`,
});

/** Posts a JSON value to the default region, or to another base URL. */
export function post(
  sandbox: Sandbox,
  path: string,
  value: unknown,
  options: Send & { to?: string } = {},
): Promise<Reply> {
  const headers = { ...authorized(sandbox), 'content-type': 'application/json', ...options.headers };
  const body = typeof value === 'string' ? value : JSON.stringify(value);
  return send((options.to ?? sandbox.url) + path, { method: 'POST', body, ...options, headers });
}

export function get(sandbox: Sandbox, url: string, options: Send = {}): Promise<Reply> {
  return send(url, { ...options, headers: { ...authorized(sandbox), ...options.headers } });
}

/** `n` companies with one key each. */
export const companies = (n: number): { companies: { company_id: string; metadata: object }[] } => ({
  companies: Array.from({ length: n }, (_, i) => ({ company_id: `c-${i}`, metadata: { name: `Name ${i}` } })),
});

/** With a clock that the test sets. */
export const timed = test.extend<{ clock: ManualClock; sandboxOptions: SandboxOptions }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of the fixtures from the pattern
  clock: async ({}, use) => use(new ManualClock()),
  sandboxOptions: async ({ clock }, use) => use({ clock }),
});
