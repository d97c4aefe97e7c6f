/**
 * A service that is independent of the product: it reads requests from real sockets, keeps a ledger, and
 * fails where a test asks for it. It shares no code with the sandbox, so that they cannot have the same
 * mistakes.
 */

import { createHash } from 'node:crypto';
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
import { ID_FIELD, type Kind } from '../../src/engine/model.js';
import { type Clock, systemClock } from '../../src/engine/util/clock.js';
import { checkRequest } from './wire.js';

/** A request with items that was read completely. */
export interface Arrival {
  /** Number in order of arrival, from 1. */
  n: number;
  kind: Kind;
  ids: string[];
  /** SHA-256 of the body, hexadecimal. */
  sha256: string;
  /** Whether the service carried it out, whatever it answered. */
  accepted: boolean;
  /** Whether a complete 2xx reply was sent: from then on, the client has no reason to send it again. */
  acknowledged: boolean;
}

interface Item {
  company_id?: string;
  user_id?: string;
  metadata?: Record<string, unknown>;
}

export class Ledger {
  readonly arrivals: Arrival[] = [];
  /** The profiles that result from the upserts, by kind and id. */
  readonly profiles = { companies: new Map<string, object>(), users: new Map<string, object>() };
  readonly #bodies = new Map<Arrival, Item[]>();

  enter(kind: Kind, body: Buffer): Arrival {
    const content = JSON.parse(body.toString('utf8')) as Record<Kind, Item[] | undefined> & Item;
    const items = content[kind] ?? [content];
    const arrival: Arrival = {
      n: this.arrivals.length + 1,
      kind,
      ids: items.map((item) => item[ID_FIELD[kind]]!),
      sha256: createHash('sha256').update(body).digest('hex'),
      accepted: false,
      acknowledged: false,
    };
    this.arrivals.push(arrival);
    this.#bodies.set(arrival, items);
    return arrival;
  }

  /** Applies the upserts of a request. */
  apply(arrival: Arrival): void {
    const profiles = this.profiles[arrival.kind];
    for (const [index, item] of this.#bodies.get(arrival)!.entries()) {
      const id = arrival.ids[index]!;
      profiles.set(id, { ...profiles.get(id), ...item.metadata });
    }
  }

  /** The ids of each request, in order of arrival. */
  get sent(): string[] {
    return this.arrivals.map(({ ids }) => ids.join(' '));
  }

  /** How often each id was upserted. */
  get timesAccepted(): Map<string, number> {
    const times = new Map<string, number>();
    for (const { ids } of this.arrivals.filter(({ accepted }) => accepted)) {
      for (const id of ids) times.set(id, (times.get(id) ?? 0) + 1);
    }
    return times;
  }

  /**
   * Ids that arrived again after a request with them was acknowledged. For inputs in which each id occurs
   * once.
   */
  get resentAfterAcknowledgement(): string[] {
    const acknowledged = new Set<string>();
    const resent = new Set<string>();
    for (const { ids, acknowledged: done } of this.arrivals) {
      for (const id of ids) if (acknowledged.has(id)) resent.add(id);
      if (done) for (const id of ids) acknowledged.add(id);
    }
    return [...resent];
  }
}

export interface JobRecord {
  job_id: string;
  status: string;
  total_rows: number;
  completed_rows: number;
}

/** One request, and the ways to answer it well or badly. */
export class Exchange {
  readonly #service: FaultServer;
  #arrival: Arrival | undefined;
  #job: JobRecord | undefined;

  constructor(
    service: FaultServer,
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
    /** Number among the requests of its sort (`submit` or `poll`), from 1. */
    readonly nth: number,
  ) {
    this.#service = service;
  }

  get socket(): Socket {
    return this.request.socket;
  }

  /** Reads the whole request, and adds it to the ledger. */
  async read(): Promise<Arrival> {
    if (this.#arrival) return this.#arrival;
    const chunks: Buffer[] = [];
    for await (const chunk of this.request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    this.#service.check(this.request, body);
    const kind: Kind = this.request.url!.includes('/users/') ? 'users' : 'companies';
    this.#arrival = this.#service.ledger.enter(kind, body);
    return this.#arrival;
  }

  /** Carries the request out, but does not answer yet. @param works whether its job takes effect */
  async accept(works = true): Promise<JobRecord> {
    const arrival = await this.read();
    this.#job ??= this.#service.take(arrival, works);
    return this.#job;
  }

  /** Carries the request out, and answers as a healthy service does. */
  async acknowledge(works = true): Promise<void> {
    const job = await this.accept(works);
    this.confirm();
    this.reply(202, JSON.stringify(job));
  }

  /** Records that the client gets a complete 2xx reply. */
  confirm(): void {
    this.#arrival!.acknowledged = true;
  }

  reply(status: number, body: string, headers: Record<string, string> = {}): void {
    const length = { 'content-length': String(Buffer.byteLength(body)) };
    this.response.writeHead(status, { 'content-type': 'application/json', ...length, ...headers }).end(body);
  }

  /** Writes bytes to the socket, past everything that knows HTTP. */
  raw(bytes: string): void {
    this.socket.write(bytes);
  }
}

export type Strike = (exchange: Exchange) => void | Promise<void>;
/** Returns what a poll of a job finds. `polls` counts the polls of this job, from 1. */
export type Fate = (job: JobRecord, polls: number) => JobRecord;

/** What goes wrong: returns a fault, or undefined, for the number of a request. */
export interface Trouble {
  submit?: (nth: number) => Strike | undefined;
  poll?: (nth: number) => Strike | undefined;
  /** By the number of the job. */
  fate?: (nth: number) => Fate | undefined;
  /** By the number of the job: how long it takes. Its upserts take effect at its end. */
  seconds?: (nth: number) => number;
}

interface Job {
  record: JobRecord;
  polls: number;
  /** What it has still to do, and when it is done. */
  rest: Arrival | null;
  due: number;
}

/** A job that completes. */
export const COMPLETED: Fate = (job) => ({ ...job, status: 'completed', completed_rows: job.total_rows });

export class FaultServer {
  ledger = new Ledger();
  trouble: Trouble = {};
  /** Number of requests of each sort since the start. */
  seen = { submit: 0, poll: 0 };
  connections = 0;
  /** How requests break the specification. Whoever uses a `workspace()` finds none. */
  violations: string[] = [];
  /** By which jobs that take their time end. */
  clock: Pick<Clock, 'monotonic'> = systemClock;
  /** Emits `submit` and `poll` when requests arrive. */
  readonly events = new EventEmitter();
  #server: Server | undefined;
  #jobs: Job[] = [];
  #port = 0;

  constructor(private readonly tls?: ServerOptions) {}

  get url(): string {
    return `${this.tls ? 'https' : 'http'}://127.0.0.1:${this.#port}`;
  }

  /** Listens on the given port, otherwise on the one that it had before, otherwise on a free one. */
  async start(port = this.#port): Promise<this> {
    const answer: RequestListener = (request, response) => {
      // A fault that cuts the connection makes the rest of its own code fail.
      void this.#answer(request, response).catch(() => request.socket.destroy());
    };
    const server = this.tls ? createTlsServer(this.tls, answer) : createServer(answer);
    server.on('tlsClientError', () => {});
    server.on('connection', (socket) => {
      this.connections++;
      socket.on('error', () => {}); // the client is gone
    });
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port;
    return this;
  }

  /** Makes it another service, which has received nothing. */
  async renew(): Promise<this> {
    Object.assign(this, { ledger: new Ledger(), trouble: {}, seen: { submit: 0, poll: 0 } });
    Object.assign(this, { connections: 0, violations: [] });
    this.#jobs = [];
    return this.start(0);
  }

  /**
   * From now on, runs a function after the nth request was carried out, but before it is answered. All
   * requests are answered well.
   */
  during(nth: number, happens: () => void | Promise<void>): void {
    const strike: Strike = async (exchange) => {
      await exchange.accept();
      await happens();
      await exchange.acknowledge();
    };
    this.trouble = { submit: (request) => (request === nth ? strike : undefined) };
  }

  /** Refuses connections from now on. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (!server) return;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }

  /** Uses another certificate from now on. */
  present(certificate: ServerOptions): void {
    (this.#server as TlsServer).setSecureContext(certificate);
  }

  /** Holds a request against the specification. */
  check({ method, url, headers }: IncomingMessage, body: Buffer): void {
    const names = Object.entries(headers).map(([name, value]) => [name, String(value)]);
    const seen = { listener: 'base', method: method!, path: url!, body: body.toString() } as const;
    const key = headers.authorization?.slice('Token '.length) ?? '';
    this.violations.push(...checkRequest({ ...seen, headers: Object.fromEntries(names) }, key));
  }

  /** A profile, as the jobs that have ended left it. */
  held(kind: Kind, id: string): object | undefined {
    this.#work();
    return this.ledger.profiles[kind].get(id);
  }

  /** @param rest what it has to do, and takes its time for */
  addJob(rows: number, rest: Arrival | null = null): JobRecord {
    const nth = this.#jobs.length + 1;
    const record = { job_id: `job-${nth}`, status: 'queued', total_rows: rows, completed_rows: 0 };
    const due = this.clock.monotonic() + (this.trouble.seconds?.(nth) ?? 0) * 1_000;
    this.#jobs.push({ record, polls: 0, rest, due });
    return record;
  }

  /** Accepts what arrived. */
  take(arrival: Arrival, works: boolean): JobRecord {
    arrival.accepted = true;
    const record = this.addJob(arrival.ids.length, works ? arrival : null);
    this.#work();
    return record;
  }

  /** Ends the jobs whose time has come, in the order in which they end. */
  #work(): void {
    const now = this.clock.monotonic();
    const over = this.#jobs.filter(({ rest, due }) => rest !== null && due <= now);
    for (const job of over.sort((a, b) => a.due - b.due)) {
      this.ledger.apply(job.rest!);
      job.rest = null;
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const sort = request.method === 'POST' ? 'submit' : 'poll';
    const nth = ++this.seen[sort];
    this.events.emit(sort);
    const exchange = new Exchange(this, request, response, nth);
    if (sort === 'poll') this.check(request, Buffer.alloc(0));
    const strike = this.trouble[sort]?.(nth);
    if (strike) return strike(exchange);
    if (sort === 'submit') return exchange.acknowledge();
    const id = decodeURIComponent(request.url!.split('/').at(-1)!);
    const place = this.#jobs.findIndex(({ record }) => record.job_id === id);
    const job = this.#jobs[place];
    if (!job) return exchange.reply(404, '{"errors":[{"message":"no such job"}]}');
    this.#work();
    const fate = this.trouble.fate?.(place + 1) ?? (job.rest ? (record: JobRecord) => record : COMPLETED);
    exchange.reply(200, JSON.stringify(fate(job.record, ++job.polls)));
  }
}
