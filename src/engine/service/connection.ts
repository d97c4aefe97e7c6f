/**
 * Filters what is read from a connection before undici parses it, because of two problems of undici 7:
 * - It destroys a connection on a `100 Continue` that it did not ask for (`onHeadersComplete` in
 *   `client-h1.js`).
 * - If bytes arrive between two requests, it may read them as the reply to the next one.
 *
 * So each socket is watched: net and tls pass what they read to `socket.push`, and undici writes requests
 * with `socket.write`. Both methods are replaced on the socket; nothing of undici itself is changed.
 */
import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import connectorOf from 'undici/lib/core/connect.js';

type Connector = buildConnector.connector;

/** The longest head of an interim (1xx) reply, in bytes. */
const MAX_INTERIM = 64 << 10;
const HEAD_END = '\r\n\r\n';
const NOTHING = Buffer.alloc(0);

/** The connections of one transport. */
export class Connections {
  #next: ((connection: Connection) => void) | null = null;
  /**
   * For each accepted request: a promise that resolves when all of it was written, or the connection has
   * ended.
   */
  readonly #owed = new Set<Promise<void>>();

  /** @param compiling see `TransportOptions` */
  constructor(private readonly compiling = (compile: () => void) => compile()) {}

  /** Returns a connector like that of undici, which watches the sockets that it makes. */
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
   * Calls `on` with the connection of the request that is about to be written. undici does not tell it, but
   * starts and writes a request in the same turn of the event loop, so it is the next connection that is
   * written to.
   */
  expect(on: (connection: Connection) => void): void {
    this.#next = on;
  }

  #begin(connection: Connection): void {
    this.#next?.(connection);
    this.#next = null;
  }

  /**
   * Call this when the current request of a connection was accepted.
   * @param written called when all of it was written
   */
  owe(connection: Connection, written: () => void): void {
    const ended = connection.written().then((isWritten) => {
      this.#owed.delete(ended);
      if (isWritten) written();
    });
    this.#owed.add(ended);
  }

  /** Resolves when all accepted requests were written, or their connections have ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#owed);
  }
}

type Written = (error?: Error | null) => void;

export class Connection {
  /** Number of complete replies on this connection. */
  replies = 0;
  /** Number of bytes read. */
  arrived = 0;
  /** `idle`: no request is outstanding. `waiting`: the final reply has not begun. `reply`: it has. */
  #state: 'idle' | 'waiting' | 'reply' = 'idle';
  /**
   * Number of calls of `write`, and of those that the operating system has taken completely, which happens in
   * order.
   */
  #writes = 0;
  #taken = 0;
  #waiting: { until: number; end: (isWritten: boolean) => void }[] = [];
  /** The beginning of a reply, until it is long enough to know its kind. */
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
        // If the socket was destroyed in the meantime, Node calls back without an error.
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

  /** Call this when a reply is complete. Bytes before the next request then close the connection. */
  completed(): void {
    this.replies++;
    this.#state = 'idle';
  }

  /**
   * Resolves when the operating system has taken all that was written so far: a service may reply before it
   * has read the whole request, and TLS reports its writes with a delay.
   * @returns false if the connection ends first
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

  /** Returns the bytes of a chunk that undici may read: no interim replies, and nothing between requests. */
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

  /** Destroys the connection. @param reason given if the reply is malformed */
  #refuse(reason?: string): Buffer {
    const error = reason === undefined ? undefined : new Error(reason);
    // `lostReason` recognizes errors of the HTTP parser by this name.
    if (error) error.name = 'HTTPParserError';
    this.#held = NOTHING;
    this.socket.destroy(error);
    return NOTHING;
  }
}

/**
 * The kind of reply that begins with these bytes. A `101` counts as final: the parser of undici refuses it.
 */
function replyKind(bytes: Buffer): 'short' | 'interim' | 'final' | 'broken' {
  const line = bytes.toString('latin1', 0, 16);
  const status = /^(?:\r?\n)?HTTP\/\d\.\d (\d{3})/.exec(line)?.[1];
  if (status === undefined) return line.length < 15 ? 'short' : 'final';
  if (status.startsWith('0')) return 'broken'; // undici would fail an assertion
  return status.startsWith('1') && status !== '101' ? 'interim' : 'final';
}
