/** A server in front of a sandbox that records the bodies of bulk requests unchanged. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Sandbox } from '../../src/sandbox/index.js';

export interface Recorder {
  url: string;
  /** The bodies in order of arrival. */
  bodies: string[];
  stop(): Promise<void>;
}

export async function record(sandbox: Pick<Sandbox, 'url'>): Promise<Recorder> {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', async () => {
      const { method = 'GET', url = '/' } = request;
      const body = Buffer.concat(chunks);
      if (method === 'POST') bodies.push(body.toString('utf8'));
      const reply = await fetch(sandbox.url + url, {
        method,
        headers: { authorization: request.headers.authorization ?? '', 'content-type': 'application/json' },
        ...(method === 'POST' && { body }),
      });
      const id = reply.headers.get('x-request-id') ?? '';
      response.writeHead(reply.status, { 'content-type': 'application/json', 'x-request-id': id });
      response.end(await reply.text());
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    stop: () => new Promise((done) => server.close(() => done())),
  };
}
