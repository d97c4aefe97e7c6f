/**
 * A connection to the service, which carries one request at a time. Interim replies are taken out of what is read from
 * its socket before undici parses it: undici 7 destroys a connection on a `100 Continue` that it did not ask for. net and
 * tls pass what they read to `socket.push`, which is replaced on the socket; nothing of undici itself is changed.
 */
import type { Socket } from 'node:net';
import type { buildConnector, Dispatcher } from 'undici';

/** The longest head of an interim (1xx) reply, in bytes. */
const MAX_INTERIM = 64 << 10;
const HEAD_END = '\r\n\r\n';
const NOTHING = Buffer.alloc(0);

export class Connection {
  /** Sends over this connection. Connects again if the connection was closed. */
  dispatcher!: Dispatcher;
  /** Number of complete replies on the current socket. */
  replies = 0;
  /** Whether a request was written, and its final reply has not begun. */
  #isWaiting = false;
  /** The beginning of a reply, until it is long enough to know its kind. */
  #held: Buffer = NOTHING;
  #socket: Socket | null = null;

  /** @param compiling see `TransportOptions` */
  constructor(private readonly compiling = (compile: () => void) => compile()) {}

  /** Returns a connector that makes the socket of this connection. */
  watched(connect: buildConnector.connector): buildConnector.connector {
    return (options, callback) =>
      connect(options, (error, socket) => {
        if (error) return callback(error, null);
        this.#watch(socket!);
        this.compiling(() => callback(null, socket!));
      });
  }

  /** Call this right before a request is written. */
  begins(): void {
    this.#isWaiting = true;
  }

  /**
   * Resolves when the operating system has taken all that was written so far: a service may reply before it
   * has read the whole request, and TLS reports its writes with a delay.
   * @returns false if the connection ends first, or if that is unknown
   */
  async written(): Promise<boolean> {
    const socket = this.#socket;
    if (!socket || socket.destroyed) return false;
    if (socket.writableLength === 0) return true;
    // If the socket is destroyed, Node may call back without an error.
    return new Promise((resolve) => socket.write('', (error) => resolve(!error && !socket.destroyed)));
  }

  #watch(socket: Socket): void {
    const push = socket.push.bind(socket);
    this.#socket = socket;
    this.replies = 0;
    this.#held = NOTHING;
    socket.push = (chunk: Buffer | null): boolean => {
      const bytes = chunk === null ? this.#held : this.#read(socket, chunk);
      const goesOn = bytes.length === 0 || push(bytes);
      return chunk === null ? push(null) : goesOn;
    };
  }

  /** Returns the bytes of a chunk that undici may read: no interim replies. */
  #read(socket: Socket, chunk: Buffer): Buffer {
    if (!this.#isWaiting) return chunk;
    let bytes = Buffer.concat([this.#held, chunk]);
    this.#held = NOTHING;
    for (;;) {
      const kind = replyKind(bytes);
      if (kind === 'broken') return refuse(socket, 'its status line is malformed');
      if (kind === 'final') {
        this.#isWaiting = false;
        return bytes;
      }
      const end = kind === 'interim' ? bytes.indexOf(HEAD_END) : -1;
      if (end < 0 && bytes.length > MAX_INTERIM) return refuse(socket, 'an interim reply has no end');
      if (end < 0) {
        this.#held = bytes;
        return NOTHING;
      }
      bytes = bytes.subarray(end + HEAD_END.length);
    }
  }
}

/** Destroys a connection, with an error that is named as those of undici's parser are. */
function refuse(socket: Socket, reason: string): Buffer {
  socket.destroy(Object.assign(new Error(reason), { name: 'HTTPParserError' }));
  return NOTHING;
}

/** The kind of reply that begins with these bytes. A `101` counts as final: the parser of undici refuses it. */
function replyKind(bytes: Buffer): 'short' | 'interim' | 'final' | 'broken' {
  const line = bytes.toString('latin1', 0, 16);
  const status = /^(?:\r?\n)?HTTP\/\d\.\d (\d{3})/.exec(line)?.[1];
  if (status === undefined) return line.length < 15 ? 'short' : 'final';
  if (status.startsWith('0')) return 'broken'; // undici would fail an assertion
  return status.startsWith('1') && status !== '101' ? 'interim' : 'final';
}
