/**
 * HTTPS by nginx under a private authority, and a forward proxy on the way there. Node reads the authority at its
 * start, so the command runs in a process of its own, in real time.
 */
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test } from 'vitest';
import type { Summary } from '../../src/engine/model.js';
import { built, profiles } from '../support/child.js';
import { tunnelTo } from '../support/servers.js';
import { expectDone, SEND, Sender, startNginx, startService, withNginx } from './nginx.js';

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

withNginx(() => {
  beforeAll(built);

  test('HTTPS_PROXY: a tunnel to a name that only the proxy knows; the token goes inside it', async () => {
    const service = await startService();
    const tls = { cert: certs('other-host.pem'), key: certs('other-host.key') };
    const { port } = await startNginx({ upstream: service.url, tls });
    const sender = new Sender(`https://other.example:${port}`);

    const strangers = await tunnelTo(port, { only: 'elsewhere.example' });
    const first = await run(sender, [...SEND, '-o', 'retry_delay=10ms'], {
      ...TRUST,
      HTTPS_PROXY: strangers.url,
    });
    expect([first.code, first.summary.status]).toEqual([6, 'stopped']);
    expect(first.stderr).toContain(`the proxy refused to connect to other.example:${port}: it answered 502`);
    expect(strangers.tunnels).toHaveLength(3);
    expect(first.summary.maybe_sent_twice).toEqual([]);
    expect(service.ledger()).toEqual([]);

    const proxy = await tunnelTo(port, { only: 'other.example' });
    const last = await run(sender, ['resume'], { ...TRUST, HTTPS_PROXY: proxy.url });
    expect(last.code, last.stderr).toBe(0);
    expectDone(last.summary, sender, service);
    expect(last.summary.maybe_sent_twice).toEqual([]);
    expect(new Set(proxy.tunnels.map(({ to }) => to))).toEqual(new Set([`other.example:${port}`]));
    expect(JSON.stringify(proxy.tunnels)).not.toContain(sender.env.PROFILES_TOKEN);
  });
});
