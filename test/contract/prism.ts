/** Prism, a validator of other people's, as proxy before a service: it holds both directions against openapi.json. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';

const CLI = join(import.meta.dirname, 'node_modules/@stoplight/prism-cli/dist/index.js');
export const OPENAPI = resolve(import.meta.dirname, '../../openapi.json');

/** One request and its reply, after Prism has looked at both. */
export interface Exchange {
  method: string;
  /** As it was sent. */
  path: string;
  status: number;
  /** Of the reply, when it is JSON. */
  body: unknown;
  /** What Prism has against either; empty when nothing. */
  violations: string[];
}

export interface Validated {
  /** Where a client is to be pointed. */
  url: string;
  exchanges: Exchange[];
  stop(): Promise<void>;
}

/**
 * Puts Prism before a service, and before Prism a recorder: Prism tells of a violation in a header of the reply,
 * or in a reply of its own, and the program under test would show neither.
 */
export async function validated(upstream: string): Promise<Validated> {
  const flags = ['--errors', '--host', '127.0.0.1', '--port', '0'];
  const prism = spawn(process.execPath, [CLI, 'proxy', OPENAPI, upstream, ...flags], {
    env: {},
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const end = (): void => void prism.kill('SIGKILL');
  process.once('exit', end);
  const port = await listening(prism);

  const exchanges: Exchange[] = [];
  const recorder = createServer((request, reply) => {
    const { method = '', url: path = '', headers } = request;
    const onward = send({ host: '127.0.0.1', port, method, path, headers }, async (answer) => {
      const body = await buffer(answer);
      const json = jsonOf(body);
      const status = answer.statusCode!;
      exchanges.push({ method, path, status, body: json, violations: violationsOf(answer, json) });
      // Each hop has its own connection and framing.
      const { connection, 'keep-alive': _, 'transfer-encoding': __, ...rest } = answer.headers;
      reply.writeHead(status, rest).end(body);
    });
    onward.on('error', () => reply.destroy());
    request.pipe(onward);
  });
  recorder.listen(0, '127.0.0.1');
  await once(recorder, 'listening');

  return {
    url: `http://127.0.0.1:${(recorder.address() as AddressInfo).port}`,
    exchanges,
    stop: async () => {
      recorder.closeAllConnections();
      recorder.close();
      process.off('exit', end);
      const exit = once(prism, 'exit');
      end();
      await exit;
    },
  };
}

/** The port that Prism names when it listens. What it prints later is read and dropped, so that it never waits. */
async function listening(prism: ChildProcess): Promise<number> {
  let said = '';
  return new Promise((settle, reject) => {
    const hear = (chunk: Buffer): void => {
      said += chunk;
      const port = /listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(said)?.[1];
      if (port === undefined) return;
      said = '';
      settle(Number(port));
    };
    prism.stdout!.on('data', hear);
    prism.stderr!.on('data', hear);
    prism.once('error', reject);
    prism.once('exit', (code) => reject(new Error(`prism exited with ${code}: ${said}`)));
  });
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

interface Finding {
  location?: string[];
  message: string;
}

const sentence = ({ location = [], message }: Finding): string => `${location.join('.')}: ${message}`;

function violationsOf({ headers }: IncomingMessage, body: unknown): string[] {
  const found: string[] = [];
  const header = headers['sl-violations'];
  if (header !== undefined) {
    const list = jsonOf(Buffer.from(String(header)));
    found.push(...(Array.isArray(list) ? (list as Finding[]).map(sentence) : [String(header)]));
  }
  // A reply that Prism gave in the service's place: it does not know the route, or refuses the request.
  if (headers['content-type']?.startsWith('application/problem+json')) {
    const { title, validation = [] } = body as { title: string; validation?: Finding[] };
    found.push(title, ...validation.map(sentence));
  }
  return [...new Set(found)];
}
