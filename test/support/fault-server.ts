/**
 * A service that is not the product's own: it reads requests off real sockets, keeps a ledger, and has bad
 * moments where a test wants them. It shares no code with the sandbox, so that the two cannot agree on a mistake.
 */
import { EventEmitter } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer, type ServerOptions, type Server as TlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Kind } from '../../src/engine/model.js';
import { type Arrival, Ledger } from './ledger.js';

export interface JobRecord {
  job_id: string;
  status: string;
  total_rows: number;
  completed_rows: number;
}

/** One request and the means to mistreat it. */
export class Exchange {
  readonly #service: FaultServer;
  #arrival: Arrival | undefined;
  #job: JobRecord | undefined;

  constructor(
    service: FaultServer,
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
    /** Ordinal among the requests of its sort, from 1. */
    readonly nth: number,
  ) {
    this.#service = service;
  }

  get socket(): Socket {
    return this.request.socket;
  }

  /** Reads the request to its end; a bulk request goes into the ledger. */
  async read(): Promise<Arrival> {
    const chunks: Buffer[] = [];
    for await (const chunk of this.request) chunks.push(chunk as Buffer);
    const kind: Kind = this.request.url!.includes('/users/') ? 'users' : 'companies';
    this.#arrival ??= this.#service.ledger.enter(kind, Buffer.concat(chunks));
    return this.#arrival;
  }

  /** Carries the request out, and says nothing yet. */
  async accept(): Promise<JobRecord> {
    const arrival = await this.read();
    this.#service.ledger.accept(arrival);
    this.#job ??= this.#service.addJob(arrival.ids.length);
    return this.#job;
  }

  /** The whole reply of a service in good health. */
  async acknowledge(): Promise<void> {
    const job = await this.accept();
    this.confirm();
    this.reply(202, JSON.stringify(job));
  }

  /** From here on the client has been told with a complete 2xx. */
  confirm(): void {
    this.#arrival!.acknowledged = true;
  }

  reply(status: number, body: string, headers: Record<string, string> = {}): void {
    const length = { 'content-length': String(Buffer.byteLength(body)) };
    this.response.writeHead(status, { 'content-type': 'application/json', ...length, ...headers }).end(body);
  }

  /** Bytes past everything that knows HTTP. */
  raw(bytes: string): void {
    this.socket.write(bytes);
  }
}

export type Strike = (exchange: Exchange) => void | Promise<void>;
/** What a poll of a job finds; `polls` counts those of this job, from 1. */
export type Fate = (job: JobRecord, polls: number) => JobRecord;

/** What goes wrong: for each request, by its ordinal, a fault or none. */
export interface Trouble {
  submit?: (nth: number) => Strike | undefined;
  poll?: (nth: number) => Strike | undefined;
  /** By the ordinal of the job. */
  fate?: (nth: number) => Fate | undefined;
}

const COMPLETED: Fate = (job) => ({ ...job, status: 'completed', completed_rows: job.total_rows });

export class FaultServer {
  readonly ledger = new Ledger();
  trouble: Trouble = {};
  /** Requests of each sort since the start. */
  readonly seen = { submit: 0, poll: 0 };
  connections = 0;
  /** `submit` and `poll`, as they arrive. */
  readonly events = new EventEmitter();
  #server: Server | undefined;
  #jobs: { record: JobRecord; polls: number }[] = [];
  #port = 0;

  constructor(private readonly tls?: ServerOptions) {}

  get url(): string {
    return `${this.tls ? 'https' : 'http'}://127.0.0.1:${this.#port}`;
  }

  /** Listens on its port of last time, or on the one given, or on a free one. */
  async start(port = this.#port): Promise<this> {
    const answer: RequestListener = (request, response) => {
      // A fault that cuts the connection makes the rest of its own work fail.
      void this.#answer(request, response).catch(() => request.socket.destroy());
    };
    const server = this.tls ? createTlsServer(this.tls, answer) : createServer(answer);
    server.on('tlsClientError', () => {});
    server.on('connection', (socket) => {
      this.connections++;
      socket.on('error', () => {}); // the client went away
    });
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port;
    return this;
  }

  /** From here on: has this done when the nth request was carried out, before it is answered. The others are in good health. */
  during(nth: number, happens: () => void | Promise<void>): void {
    const strike: Strike = async (exchange) => {
      await exchange.accept();
      await happens();
      await exchange.acknowledge();
    };
    this.trouble = { submit: (request) => (request === nth ? strike : undefined) };
  }

  /** Refuses connections from here on. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (!server) return;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }

  /** Shows another certificate from here on. */
  present(certificate: ServerOptions): void {
    (this.#server as TlsServer).setSecureContext(certificate);
  }

  addJob(rows: number): JobRecord {
    const record = {
      job_id: `job-${this.#jobs.length + 1}`,
      status: 'queued',
      total_rows: rows,
      completed_rows: 0,
    };
    this.#jobs.push({ record, polls: 0 });
    return record;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const sort = request.method === 'POST' ? 'submit' : 'poll';
    const nth = ++this.seen[sort];
    this.events.emit(sort);
    const exchange = new Exchange(this, request, response, nth);
    const strike = this.trouble[sort]?.(nth);
    if (strike) return strike(exchange);
    if (sort === 'submit') return exchange.acknowledge();
    const id = decodeURIComponent(request.url!.split('/').at(-1)!);
    const place = this.#jobs.findIndex(({ record }) => record.job_id === id);
    const job = this.#jobs[place];
    if (!job) return exchange.reply(404, '{"errors":[{"message":"no such job"}]}');
    const fate = this.trouble.fate?.(place + 1) ?? COMPLETED;
    exchange.reply(200, JSON.stringify(fate(job.record, ++job.polls)));
  }
}
