/** Faults before anything can be sent: nothing may arrive, and a resume brings it all there. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { built } from '../support/child.js';
import { FaultServer } from '../support/fault-server.js';
import { deafListener, tunnelTo } from '../support/servers.js';
import { type Outcome, outcomeOf, workspace } from '../support/workspace.js';
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
  const deaf = await deafListener(Number(new URL(service.url).port));

  // The deadline is the network's, so it passes in real time: each attempt costs as much.
  const first = await run(`${SEND} -o request_timeout=300ms`);
  expect(first.error?.message).toMatch(/no connection .* within 300ms/);
  await nothingWasSent(first);

  await deaf.end();
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
  machine.env.HTTP_PROXY = (await tunnelTo(Number(new URL(service.url).port))).url;
  await thenItArrives(first);
});

test('TLS: a certificate that has expired, then a good one', async () => {
  const tls = new FaultServer(certificate('expired'));
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
  expect(first.error?.message).toMatch(/certificate has expired/);
  await nothingWasSent(first);
  expect(tls.seen.submit).toBe(0);

  tls.present(certificate('good'));
  const last = await process('resume');
  expect(last.code, last.stderr).toBe(0);
  await balance(last.summary!, machine, tls, file);
  expect(tls.ledger.profiles.companies.size).toBe(11);
});

const certificate = (name: string): { cert: Buffer; key: Buffer } => ({
  cert: readFileSync(new URL(`${name}.pem`, CERTS)),
  key: readFileSync(new URL(`${name}.key`, CERTS)),
});
