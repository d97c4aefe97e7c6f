/** Faults before anything can be sent, and a redirect: nothing may arrive, and a resume brings it all there. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { built } from '../support/child.js';
import { FaultServer } from '../support/fault-server.js';
import { type Outcome, outcomeOf, workspace } from '../support/workspace.js';
import { status } from './faults.js';
import { balance, elevenCompanies, resumeToTheEnd } from './support.js';

const CERTS = new URL('../engine/service/certs/', import.meta.url);
const file = elevenCompanies();
const SEND = `import ${file.path} --chunk-size 4 -o retries=1`;

const { service, machine, run } = workspace({ [file.path]: file.text });
beforeAll(built);

/** Stopped with exit 6 before anything arrived; afterwards a resume brings everything there, once. */
async function nothingWasSent(first: Outcome): Promise<void> {
  expect([first.code, first.summary?.status, first.error?.code], first.stderr).toEqual([
    6,
    'stopped',
    'network',
  ]);
  expect(service.seen).toEqual({ submit: 0, poll: 0 });
  expect(first.summary!.maybe_sent_twice).toEqual([]);
  expect(first.summary!.rows).toMatchObject({ read: 12, submitted: 0, unsent: 12 });
  await balance(first.summary!, machine, service, file);
}

async function thenItArrives(first: Outcome): Promise<void> {
  const last = await resumeToTheEnd(machine, first);
  expect(last.code, last.stderr).toBe(0);
  await balance(last.summary!, machine, service, file);
  expect(last.summary!.rows).toMatchObject({ read: 12, merged: 1, submitted: 11 });
  expect(last.summary!.maybe_sent_twice).toEqual([]);
}

test('refused, then a service', async () => {
  await service.stop();
  const first = await run(SEND);
  expect(first.error?.message).toMatch(/refused the connection/);
  await nothingWasSent(first);
  await service.start();
  await thenItArrives(first);
});

test('a host that listens and never accepts, then a service', async () => {
  await service.stop();
  const port = Number(new URL(service.url).port);
  const deaf = fork(fileURLToPath(new URL('deaf-listener.mjs', import.meta.url)), [String(port)]);
  onTestFinished(() => void deaf.kill('SIGKILL'));
  await once(deaf, 'message');
  // Its queue of one is full from here on.
  const queued = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')];
  for (const socket of queued) socket.on('error', () => {});

  // The deadline is the network's, so it passes in real time: each attempt costs as much.
  const first = await run(`${SEND} -o request_timeout=300ms`);
  expect(first.error?.message).toMatch(/no connection .* within 300ms/);
  await nothingWasSent(first);

  deaf.kill('SIGKILL');
  await once(deaf, 'exit');
  for (const socket of queued) socket.destroy();
  await service.start();
  await thenItArrives(first);
});

test('a name that nobody knows, then a proxy that knows it', async () => {
  const host = 'profiles.invalid';
  machine.env = { ...machine.env, PROFILES_BASE_URL: `http://${host}`, PROFILES_ALLOW_HTTP: host };
  const first = await run(SEND);
  expect(first.error?.message).toMatch(
    /(?:host profiles\.invalid not found|the host name profiles\.invalid .*) \(E/,
  );
  await nothingWasSent(first);
  machine.env.HTTP_PROXY = await tunnelTo(service);
  await thenItArrives(first);
});

test.each([
  ['expired', /certificate has expired/],
  ['other-host', /certificate names another host/],
])('TLS: a certificate that is %s, then a good one', async (name, says) => {
  const tls = new FaultServer(certificate(name));
  await tls.start();
  onTestFinished(() => tls.stop());
  machine.env = {
    ...machine.env,
    PROFILES_BASE_URL: tls.url,
    NODE_EXTRA_CA_CERTS: fileURLToPath(new URL('authority.pem', CERTS)),
  };
  // Node reads the authority at its start, so this takes processes of their own.
  const process = async (line: string): Promise<Outcome> =>
    outcomeOf(await machine.start(`${line} --json`).ended);

  const first = await process(SEND);
  expect(first.error?.message).toMatch(says);
  await nothingWasSent(first);
  expect(tls.seen.submit).toBe(0);

  tls.present(certificate('good'));
  const last = await process('resume');
  expect(last.code, last.stderr).toBe(0);
  await balance(last.summary!, machine, tls, file);
  expect(tls.ledger.profiles.companies.size).toBe(11);
});

test.each([301, 302, 307, 308])('%i to another host: nothing arrives there', async (code) => {
  const stranger = await new FaultServer().start();
  onTestFinished(() => stranger.stop());
  const location = `${stranger.url}/v1/companies/bulk_identify`;
  service.trouble = { submit: () => status(code, { location }) };
  const first = await run(SEND);
  expect([first.code, first.error?.message]).toEqual([6, expect.stringContaining(location)]);
  await balance(first.summary!, machine, service, file);
  expect(stranger.connections).toBe(0);
  service.trouble = {};
  await thenItArrives(first);
});

const certificate = (name: string): { cert: Buffer; key: Buffer } => ({
  cert: readFileSync(new URL(`${name}.pem`, CERTS)),
  key: readFileSync(new URL(`${name}.key`, CERTS)),
});

/** A proxy that takes every name for the service's. */
async function tunnelTo({ url }: FaultServer): Promise<string> {
  const sockets = new Set<Socket>();
  const proxy = createServer((client) => {
    client.once('data', () => {
      const upstream = connect(Number(new URL(url).port), '127.0.0.1', () => {
        client.write('HTTP/1.1 200 Connection established\r\n\r\n');
        client.pipe(upstream).pipe(client);
      });
      for (const socket of [client, upstream]) sockets.add(socket.on('error', () => {}));
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}
