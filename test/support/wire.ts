/** Reads the examples in `fixtures/wire`, and serves them while checking every request against the spec. */
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { checkRequest, type SeenRequest } from './wire-checks.js';

/** The format is described in `fixtures/wire/README.md`. */
export interface WireExample {
  name: string;
  about: string;
  listener: 'base' | 'lookup';
  request: { method: string; path: string; headers: Record<string, string>; body?: unknown };
  reply: { status: number; headers: Record<string, string>; body?: unknown; text?: string };
  sandbox?:
    | false
    | {
        faults?: string[];
        limits?: Record<string, unknown>;
        submit?: { path: string; body: unknown };
        after_ms?: number;
      };
}

const FOLDER = new URL('../../fixtures/wire/', import.meta.url);

/** All examples in the order of their names, or those named. */
export function wireExamples(...names: string[]): WireExample[] {
  const files = names.length > 0 ? names.map((name) => `${name}.json`) : readdirSync(FOLDER).sort();
  return files
    .filter((file) => file.endsWith('.json'))
    .map((file) => JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) as WireExample);
}

export interface WireServer {
  baseUrl: string;
  lookupBaseUrl: string;
  /** Every request that arrived. */
  requests: SeenRequest[];
  /** How requests violate the spec. Tests assert that this is empty. */
  violations: string[];
  stop(): Promise<void>;
}

/**
 * Answers requests with the examples for their listener, method, and path, in order; the last one is
 * repeated. A request without an example is a violation, and gets 404.
 */
export async function startWireServer(examples: readonly WireExample[], key = 'KEY'): Promise<WireServer> {
  const requests: SeenRequest[] = [];
  const violations: string[] = [];
  const waiting = new Map<string, WireExample[]>();
  for (const example of examples) {
    const { method, path } = example.request;
    const place = `${example.listener} ${method} ${path}`;
    waiting.set(place, [...(waiting.get(place) ?? []), example]);
  }
  const serve = (listener: 'base' | 'lookup'): Server =>
    createServer(async (request, reply) => {
      const seen = await read(listener, request);
      requests.push(seen);
      const place = `${listener} ${seen.method} ${seen.path}`;
      violations.push(...checkRequest(seen, key).map((what) => `${place}: ${what}`));
      const queue = waiting.get(place) ?? [];
      const example = queue.length > 1 ? queue.shift() : queue[0];
      if (example === undefined) {
        violations.push(`${place}: no example`);
        reply.writeHead(404).end();
        return;
      }
      const { status, headers, body, text: raw } = example.reply;
      reply.writeHead(status, headers).end(raw ?? (body === undefined ? undefined : JSON.stringify(body)));
    });
  const servers = { base: serve('base'), lookup: serve('lookup') };
  const [baseUrl, lookupBaseUrl] = await Promise.all([listen(servers.base), listen(servers.lookup)]);
  return {
    baseUrl,
    lookupBaseUrl,
    requests,
    violations,
    stop: async () => {
      for (const server of Object.values(servers)) {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
    },
  };
}

async function read(listener: 'base' | 'lookup', request: IncomingMessage): Promise<SeenRequest> {
  const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)]);
  return {
    listener,
    method: request.method ?? '',
    path: request.url ?? '',
    headers: Object.fromEntries(headers) as Record<string, string>,
    body: await text(request),
  };
}

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
