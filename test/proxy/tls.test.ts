/**
 * HTTPS by nginx under a private authority, and a forward proxy on the way there. Node reads the authority at its
 * start, so the command runs in a process of its own, in real time.
 */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import type { Summary } from '../../src/engine/model.js';
import { built, profiles } from '../support/child.js';
import { startNginx, withNginx } from './nginx.js';
import { expectDone, SEND, Sender, startService } from './support.js';

const certs = (name: string): string =>
  fileURLToPath(new URL(`../engine/service/certs/${name}`, import.meta.url));
const TRUST = { NODE_EXTRA_CA_CERTS: certs('authority.pem') };

interface Outcome {
  code: number | null;
  stderr: string;
  summary: Summary;
}

async function run(sender: Sender, argv: string[], env: Record<string, string>): Promise<Outcome> {
  const options = { cwd: sender.folder, env: { ...sender.env, ...env } };
  const { code, stdout, stderr } = await profiles([...argv, '--json'], options).ended;
  return { code, stderr, summary: JSON.parse(stdout) as Summary };
}

/** A forward proxy that knows one name only, and leads it to 127.0.0.1. */
async function tunnelFor(
  name: string,
): Promise<{ url: string; tunnels: { to: string; headers: IncomingHttpHeaders }[] }> {
  const tunnels: { to: string; headers: IncomingHttpHeaders }[] = [];
  const sockets = new Set<Socket>();
  const proxy = createServer((_, reply) => void reply.writeHead(500).end('only tunnels'));
  proxy.on('connect', ({ url = '', headers }, client: Socket) => {
    tunnels.push({ to: url, headers });
    const [host, port] = url.split(':');
    if (host !== name) return void client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    const onward = connect(Number(port), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      client.pipe(onward).pipe(client);
    });
    for (const socket of [client, onward]) sockets.add(socket.on('error', () => {}));
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, tunnels };
}

withNginx(() => {
  beforeAll(built);

  test('HTTPS_PROXY: a tunnel to a name that only the proxy knows; the token goes inside it', async () => {
    const service = await startService();
    const tls = { cert: certs('other-host.pem'), key: certs('other-host.key') };
    const { port } = await startNginx({ upstream: service.url, tls });
    const sender = new Sender(`https://other.example:${port}`);

    const strangers = await tunnelFor('elsewhere.example');
    const first = await run(sender, [...SEND, '-o', 'retry_delay=10ms'], {
      ...TRUST,
      HTTPS_PROXY: strangers.url,
    });
    expect([first.code, first.summary.status]).toEqual([6, 'stopped']);
    expect(first.stderr).toContain(`the proxy refused to connect to other.example:${port}: it answered 502`);
    expect(strangers.tunnels).toHaveLength(3);
    expect(first.summary.maybe_sent_twice).toEqual([]);
    expect(service.ledger()).toEqual([]);

    const proxy = await tunnelFor('other.example');
    const last = await run(sender, ['resume'], { ...TRUST, HTTPS_PROXY: proxy.url });
    expect(last.code, last.stderr).toBe(0);
    expectDone(last.summary, sender, service);
    expect(last.summary.maybe_sent_twice).toEqual([]);
    expect(new Set(proxy.tunnels.map(({ to }) => to))).toEqual(new Set([`other.example:${port}`]));
    expect(JSON.stringify(proxy.tunnels)).not.toContain(sender.env.PROFILES_TOKEN);
  });
});
