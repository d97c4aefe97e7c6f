/**
 * What is read from a connection before undici parses it. undici 7 destroys a connection on a `100 Continue` that it
 * did not ask for (`onHeadersComplete` in `client-h1.js`) and has no option against it, and it takes bytes that
 * arrive between two requests for the reply to the next one where they arrive late enough. So each socket that its
 * connector makes is watched: net and tls hand whatever was read to `socket.push`, and undici writes a request with
 * `socket.write`. Both are replaced on the socket itself, and nothing of undici's own is touched.
 */
import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import connectorOf from 'undici/lib/core/connect.js';

type Connector = buildConnector.connector;

/** A head of an interim reply that is longer is not waited for, bytes. */
const MAX_INTERIM = 64 << 10;
const HEAD_END = '\r\n\r\n';
const NOTHING = Buffer.alloc(0);

/** The connections of one transport. */
export class Connections {
  #next: ((connection: Connection) => void) | null = null;
  /** Requests that were accepted, until the operating system has taken all of them. */
  readonly #owed = new Set<Promise<void>>();

  /** @param compiling as in `TransportOptions` */
  constructor(private readonly compiling = (compile: () => void) => compile()) {}

  /** Makes connections as undici's own connector does, and watches them. */
  watched(connect: buildConnector.BuildOptions | Connector): Connector {
    const make = typeof connect === 'function' ? connect : connectorOf(connect);
    return (options, callback) =>
      make(options, (error, socket) => {
        if (error) return callback(error, null);
        new Connection(socket!, (connection) => this.#begin(connection));
        this.compiling(() => callback(null, socket!));
      });
  }

  /**
   * Tells which connection carries the request that is about to be written: undici starts a request and writes it in
   * one go, and does not say where to.
   */
  expect(on: (connection: Connection) => void): void {
    this.#next = on;
  }

  #begin(connection: Connection): void {
    this.#next?.(connection);
    this.#next = null;
  }

  /** The request that a connection carried was accepted: the rest of it, if any, is still owed. */
  owe(connection: Connection, written: () => void): void {
    const ended = connection.written().then((isWritten) => {
      this.#owed.delete(ended);
      if (isWritten) written();
    });
    this.#owed.add(ended);
  }

  /** Resolves when nothing is owed any more: all was written, or the connections have ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#owed);
  }
}

type Written = (error?: Error | null) => void;

export class Connection {
  /** Complete replies that it carried. */
  replies = 0;
  /** Bytes that were read from it. */
  arrived = 0;
  /** `idle`: no request is outstanding. `waiting`: the final reply has not begun. */
  #state: 'idle' | 'waiting' | 'reply' = 'idle';
  /** Calls of `write`, and those of which the operating system has taken everything. They end in their order. */
  #writes = 0;
  #taken = 0;
  #waiting: { until: number; end: (isWritten: boolean) => void }[] = [];
  /** Of a head: what came while it was too short to tell what it is. */
  #held: Buffer = NOTHING;

  constructor(
    private readonly socket: Socket,
    onRequest: (connection: Connection) => void,
  ) {
    const push = socket.push.bind(socket);
    const write = socket.write.bind(socket) as (chunk: unknown, encoding: unknown, then: Written) => boolean;
    socket.write = (chunk: unknown, encoding?: unknown, callback?: unknown): boolean => {
      if (this.#state === 'idle') {
        this.#state = 'waiting';
        onRequest(this);
      }
      this.#writes++;
      const [how, then] = typeof encoding === 'function' ? [undefined, encoding] : [encoding, callback];
      return write(chunk, how, (error) => {
        // Node calls back without an error where the socket was destroyed meanwhile.
        if (!error && !socket.destroyed) this.#take();
        (then as Written | undefined)?.(error);
      });
    };
    socket.once('close', () => {
      for (const { end } of this.#waiting.splice(0)) end(false);
    });
    socket.push = (chunk: Buffer | null): boolean => {
      if (chunk === null) {
        if (this.#held.length > 0) push(this.#held);
        return push(null);
      }
      const passed = this.#read(chunk);
      return passed.length === 0 || push(passed);
    };
  }

  /** The reply is complete: what comes before the next request belongs to none. */
  completed(): void {
    this.replies++;
    this.#state = 'idle';
  }

  /**
   * Whether the operating system has taken all that was written so far; false if the connection ends first. A service may
   * reply before it has read the request. TLS reports its writes with a delay.
   */
  async written(): Promise<boolean> {
    const until = this.#writes;
    if (this.#taken === until) return true;
    if (this.socket.destroyed) return false;
    return new Promise((end) => this.#waiting.push({ until, end }));
  }

  #take(): void {
    this.#taken++;
    while (this.#waiting[0] && this.#waiting[0].until <= this.#taken) this.#waiting.shift()!.end(true);
  }

  close(): void {
    this.socket.destroy();
  }

  /** What undici is given of a chunk. */
  #read(chunk: Buffer): Buffer {
    this.arrived += chunk.length;
    if (this.#state === 'reply') return chunk;
    if (this.#state === 'idle') return this.#refuse();
    let bytes = this.#held.length > 0 ? Buffer.concat([this.#held, chunk]) : chunk;
    for (;;) {
      const kind = replyKind(bytes);
      if (kind === 'broken') return this.#refuse('its status line is malformed');
      if (kind === 'final') {
        this.#state = 'reply';
        this.#held = NOTHING;
        return bytes;
      }
      const end = kind === 'interim' ? bytes.indexOf(HEAD_END) : -1;
      if (end < 0) {
        if (bytes.length > MAX_INTERIM) return this.#refuse('an interim reply has no end');
        this.#held = bytes;
        return NOTHING;
      }
      bytes = bytes.subarray(end + HEAD_END.length);
    }
  }

  #refuse(reason?: string): Buffer {
    const error = reason === undefined ? undefined : new Error(reason);
    // By this name it is known as what undici's parser cannot read.
    if (error) error.name = 'HTTPParserError';
    this.#held = NOTHING;
    this.socket.destroy(error);
    return NOTHING;
  }
}

/** What begins here. A `101` ends HTTP on the connection, so it is left to the parser, which refuses it. */
function replyKind(bytes: Buffer): 'short' | 'interim' | 'final' | 'broken' {
  const line = bytes.toString('latin1', 0, 16);
  const status = /^(?:\r?\n)?HTTP\/\d\.\d (\d{3})/.exec(line)?.[1];
  if (status === undefined) return line.length < 15 ? 'short' : 'final';
  if (status.startsWith('0')) return 'broken'; // undici fails an assertion over it
  return status.startsWith('1') && status !== '101' ? 'interim' : 'final';
}
