/** A proxy before a server, which cuts connections off where a test wants it. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export interface Cutter {
  readonly port: number;
  /** Connections that were made, so far. */
  readonly connections: number;
  /** Commits that were cut off. */
  readonly commitsCut: number;
  /** Cuts off all connections now. */
  cut(): void;
  /** Cuts off the next commit: what asks for it, or the answer of the server, which carries it out. */
  cutAtCommit(what: 'request' | 'answer'): void;
  /** Passes nothing on any more on the connections there are, and keeps them open. */
  freeze(): void;
  /** Resolves when another one is made. */
  nextConnection(): Promise<void>;
  close(): Promise<void>;
}

export async function cutter(port: number): Promise<Cutter> {
  const pairs = new Set<{ from: Socket; to: Socket; frozen: boolean }>();
  let armed: 'request' | 'answer' | null = null;
  let commitsCut = 0;
  let connections = 0;
  const server = createServer((from) => {
    connections++;
    const to = connect(port, '127.0.0.1');
    const pair = { from, to, frozen: false };
    pairs.add(pair);
    const end = (): void => {
      pairs.delete(pair);
      from.destroy();
      to.destroy();
    };
    let awaitsAnswer = false;
    from.on('data', (data) => {
      if (pair.frozen) return;
      if (armed !== null && data.includes('; COMMIT\0')) {
        commitsCut++;
        if (armed === 'request') end();
        else awaitsAnswer = true;
        armed = null;
      }
      if (!to.destroyed) to.write(data);
    });
    to.on('data', (data) => {
      if (awaitsAnswer) end();
      else if (!pair.frozen) from.write(data);
    });
    for (const socket of [from, to]) socket.on('error', end).on('close', end);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as { port: number }).port,
    get connections() {
      return connections;
    },
    get commitsCut() {
      return commitsCut;
    },
    cut() {
      for (const { from, to } of pairs) {
        from.destroy();
        to.destroy();
      }
    },
    cutAtCommit(what) {
      armed = what;
    },
    freeze() {
      for (const pair of pairs) pair.frozen = true;
    },
    async nextConnection() {
      await once(server, 'connection');
    },
    async close() {
      for (const { from, to } of pairs) {
        from.destroy();
        to.destroy();
      }
      server.close();
      await once(server, 'close');
    },
  };
}
