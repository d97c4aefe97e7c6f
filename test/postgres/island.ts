/**
 * A network of its own (a namespace of Linux), from which some ports of this machine can be reached, and can be cut off
 * by a firewall that drops packets: nobody is told.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { scratch } from '../support/cli.js';

/** Passes connections to ports of this machine on to Unix sockets: <port> <socket>, as often as wanted. It ends with its stdin. */
const FORWARDER = `
import { connect, createServer } from 'node:net';
import { pipeline } from 'node:stream';

const words = process.argv.slice(1);
let left = words.length / 2;
for (let at = 0; at < words.length; at += 2) {
  const server = createServer((from) => {
    const to = connect(words[at + 1]);
    pipeline(from, to, from, () => {});
  });
  server.listen(Number(words[at]), '127.0.0.1', () => {
    if (--left === 0) console.log('ready');
  });
}
process.stdin.resume().on('end', () => process.exit());
`;

/** Why there can be none here; null where there can. */
export function missingForIsland(): string | null {
  if (process.platform !== 'linux') return 'namespaces are of Linux';
  const tried = spawnSync('unshare', ['--net', 'sh', '-c', 'ip link set lo up && nft add table inet cut'], {
    encoding: 'utf8',
  });
  return tried.status === 0 ? null : `no network namespace with a firewall: ${tried.stderr || tried.error}`;
}

export interface Island {
  /** Runs a command there. */
  readonly within: readonly string[];
  /** Drops what goes to a port and comes from it, or no longer does. */
  cut(port: number): void;
  heal(): void;
  remove(): Promise<void>;
}

/**
 * Ports have the same numbers there as here.
 * @param sockets the Unix socket behind a port, where a server has one
 */
export async function makeIsland(
  ports: readonly number[],
  sockets: Readonly<Record<number, string>>,
): Promise<Island> {
  // A namespace shares the files, and so the Unix sockets.
  const folder = scratch();
  const bridges = ports.map((port) => {
    const path = sockets[port] ?? join(folder, `${port}`);
    if (sockets[port]) return { port, path, server: null };
    const server = createServer((from) => {
      const to = connect(port, '127.0.0.1');
      pipeline(from, to, from, () => {});
    }).listen(path);
    return { port, path, server };
  });
  const words = bridges.flatMap(({ port, path }) => [`${port}`, path]);
  const forwarder = [process.execPath, '--input-type=module', '-e', FORWARDER, ...words];
  const holder = spawn(
    'unshare',
    ['--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh', ...forwarder],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  await once(holder.stdout!, 'data');
  const within = ['nsenter', `--net=/proc/${holder.pid}/ns/net`];
  const nft = (rules: string): void =>
    void execFileSync(within[0]!, [...within.slice(1), 'nft', '-f', '-'], {
      input: rules,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
  return {
    within,
    cut: (port) =>
      nft(`table inet cut {
        chain drops { type filter hook input priority 0; tcp dport ${port} drop; tcp sport ${port} drop; }
      }`),
    heal: () => nft('delete table inet cut'),
    async remove() {
      holder.stdin!.end();
      await once(holder, 'exit');
      for (const { server } of bridges) server?.close();
    },
  };
}
