/** Types for single files of undici. Its index also loads fetch, caches, and mocks, which takes 30 ms. */
declare module 'undici/lib/dispatcher/pool.js' {
  import { Pool } from 'undici';
  export default Pool;
}
declare module 'undici/lib/core/connect.js' {
  import { buildConnector } from 'undici';
  export default buildConnector;
}
declare module 'undici/lib/core/socks5-client.js' {
  import type { EventEmitter } from 'node:events';
  import type { Socket } from 'node:net';

  /** Emits `authenticated`, `connected`, `error`, and `close`. */
  class Socks5Client extends EventEmitter {
    constructor(socket: Socket, options: { username: string; password: string });
    handshake(): void;
    connect(host: string, port: number): void;
  }
  const socks5: { Socks5Client: typeof Socks5Client };
  export default socks5;
}
