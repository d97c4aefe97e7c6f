/** TLS that cannot be agreed: nothing is sent, and the sentence says which fix. */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import type { Answer } from '../../../src/engine/service/answer.js';
import { httpServer, type Listening, listen, rawServer } from '../../support/servers.js';
import { askInProcess, BODY, JOB, testClient } from './support/client.js';

const CERTS = new URL('certs/', import.meta.url);

/** An HTTPS server with one of the certificates of `certs/`; `seen` counts the requests that arrived. */
async function httpsServer(name: string): Promise<Listening & { seen: () => number }> {
  const [cert, key] = await Promise.all([
    readFile(new URL(`${name}.pem`, CERTS)),
    readFile(new URL(`${name}.key`, CERTS)),
  ]);
  let seen = 0;
  const server = createServer({ cert, key }, (_, response) => {
    seen++;
    response.writeContinue(); // skipped, as over plain HTTP
    response.writeHead(202, { 'content-type': 'application/json' }).end(JSON.stringify(JOB));
  });
  server.on('tlsClientError', () => {});
  return { ...(await listen(server, 'https')), seen: () => seen };
}

/** The answers that a process gets which trusts the test authority: Node reads the variable at its start only. */
async function askTrusting(urls: string[]): Promise<Answer[]> {
  const env = { NODE_EXTRA_CA_CERTS: fileURLToPath(new URL('authority.pem', CERTS)) };
  return (await askInProcess(urls, { env })).answers;
}

it('with the authority in NODE_EXTRA_CA_CERTS, only what is wrong with a certificate itself is refused', async () => {
  const servers = await Promise.all(
    ['good', 'expired', 'early', 'other-host', 'self-signed'].map(httpsServer),
  );
  const named = servers[3]!.url.replace('127.0.0.1', 'localhost');
  const [byName, ...answers] = await askTrusting([named, ...servers.map(({ url }) => url)]);
  const reason = expect.stringContaining('names another host: DNS:other.example (');
  expect(byName).toMatchObject({ reason });
  const at = servers.map(({ port }) => `127.0.0.1:${port}`);
  expect(answers).toMatchObject([
    { type: 'reply', status: 202, isAfterRequest: true, body: JSON.stringify(JOB) },
    {
      type: 'unsent',
      tls: true,
      reason: `${at[1]}'s certificate has expired (CERT_HAS_EXPIRED)`,
      hint: expect.stringMatching(/clock/),
    },
    {
      type: 'unsent',
      tls: true,
      reason: `${at[2]}'s certificate is not valid yet (CERT_NOT_YET_VALID)`,
      hint: expect.stringMatching(/clock/),
    },
    {
      type: 'unsent',
      tls: true,
      reason: expect.stringMatching(
        /^127.0.0.1:\d+'s certificate names another host.* \(ERR_TLS_CERT_ALTNAME_INVALID\)$/,
      ),
      hint: expect.stringMatching(/host name in the base URL/),
    },
    {
      type: 'unsent',
      tls: true,
      reason: `${at[4]}'s certificate is self-signed (DEPTH_ZERO_SELF_SIGNED_CERT)`,
      hint: expect.stringMatching(/NODE_EXTRA_CA_CERTS/),
    },
  ]);
  expect(servers.map(({ seen }) => seen())).toEqual([1, 0, 0, 0, 0]);
});

it('without it, the authority is unknown, and a job poll ends at once', async () => {
  const server = await httpsServer('good');
  const client = testClient(server.url);
  expect(await client.submit('companies', BODY)).toEqual({
    type: 'unsent',
    tls: true,
    reason: `127.0.0.1:${server.port}'s certificate comes from an authority this machine does not know (UNABLE_TO_VERIFY_LEAF_SIGNATURE)`,
    hint: expect.stringMatching(/NODE_EXTRA_CA_CERTS=<file>/),
  });
  await expect(client.job('j-1')).rejects.toMatchObject({
    name: 'NetworkError',
    exit: 6,
    hint: expect.stringMatching(/NODE_EXTRA_CA_CERTS/),
  });
  expect(client.slept).toEqual([]);
  expect(server.seen()).toBe(0);
});

it('with a proxy that is at fault, names the proxy', async () => {
  const secure = await httpsServer('self-signed');
  const plain = await httpServer((_, response) => response.end('{}'));
  const ask = (port: number): Promise<Answer> =>
    testClient('https://service.example', {
      proxy: { HTTPS_PROXY: `https://me:hunter2@127.0.0.1:${port}` },
    }).submit('users', BODY);
  expect(await ask(secure.port)).toMatchObject({
    type: 'unsent',
    tls: true,
    reason: `the proxy 127.0.0.1:${secure.port}'s certificate is self-signed (DEPTH_ZERO_SELF_SIGNED_CERT)`,
  });
  expect(await ask(plain.port)).toMatchObject({
    type: 'unsent',
    tls: true,
    reason: expect.stringMatching(`^the proxy 127.0.0.1:${plain.port} does not speak TLS on this port`),
    hint: 'check the scheme and the port of HTTPS_PROXY',
  });
});

it('a server that speaks plain HTTP', async () => {
  const server = await httpServer((_, response) => response.end());
  expect(await testClient(`https://127.0.0.1:${server.port}`).submit('users', BODY)).toMatchObject({
    type: 'unsent',
    tls: true,
    reason: expect.stringMatching(/does not speak TLS on this port/),
    hint: expect.stringMatching(/scheme and the port/),
  });
});

it('a server that hangs up during the handshake may do better next time', async () => {
  const server = await rawServer(() => {});
  server.server.on('connection', (socket) => socket.once('data', () => socket.destroy()));
  expect(await testClient(`https://127.0.0.1:${server.port}`).submit('users', BODY)).toMatchObject({
    type: 'unsent',
    tls: false,
    reason: expect.stringMatching(/closed the connection before anything was sent/),
  });
});
