/**
 * The service of the model: real sockets, a script for what goes wrong, jobs that end when their time has come, and a
 * ledger of every body that arrived.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Kind } from '../../src/engine/model.js';
import type { IdleClock } from '../support/clock.js';

/** What becomes of one submission. */
export type Move =
  | 'accept'
  /** Not carried out, and the client cannot know. */
  | 'lose before'
  /** Carried out, and the client cannot know. */
  | 'lose after'
  /** Carried out, and the reply names no job. */
  | 'name no job'
  | 400
  | 401
  | 409
  | 413
  | 422
  | 429
  | 500
  | 503;

/** How a job ends, and after how many seconds. While it is `gone`, it answers 404, and works on. */
export interface Fate {
  end: 'completed' | 'failed' | 'short';
  seconds: number;
  gone: boolean;
}

export interface Script {
  moves: readonly Move[];
  fates: readonly Fate[];
}

interface Item {
  id: string;
  name: string;
}

/** Everything is well. */
const WELL: Fate = { end: 'completed', seconds: 1, gone: false };

interface Job extends Fate {
  job_id: string;
  kind: Kind;
  items: readonly Item[];
  due: number;
  isOver: boolean;
}

/** A request with rows that was read completely. */
export interface Arrival {
  n: number;
  /** The number of the command that was at work. */
  command: number;
  items: readonly Item[];
  /** Whether the service took it, whatever it answered. */
  accepted: boolean;
  /** Whether a complete 2xx was sent. */
  acknowledged: boolean;
  /** Whether the client got an answer that says that it was not taken. */
  refused: boolean;
  job: Job | null;
  /** Whether the client was told which job it is, and can ask for it. */
  isFollowed: boolean;
  /** By the clock of the model. */
  at: number;
}

/** Answers that say that a request was not taken. Any other may come from a gateway, after the service has taken it. */
const REFUSALS: readonly Move[] = [400, 401, 409, 413, 422, 429];

export class ModelService {
  readonly arrivals: Arrival[] = [];
  /** What is next for the command at work; without it, everything goes well. */
  script: { moves: Move[]; fates: Fate[] } = { moves: [], fates: [] };
  /** The numbers of the commands at work: one, and one that sends a profile meanwhile. */
  commands: number[] = [];
  /** Nothing gets through, and nothing is answered. */
  isDead = false;
  /** Items (`textOf`) that fail the job of every request that has one of them. */
  readonly atFault = new Set<string>();
  /** Called when a request has arrived, and when it was carried out and not answered yet. */
  moment: (arrival: Arrival | null) => void | Promise<void> = () => {};
  readonly #jobs = new Map<string, Job>();
  readonly #profiles = new Map<string, string>();
  #server: Server | null = null;

  constructor(private readonly clock: IdleClock) {}

  async start(): Promise<string> {
    const server = createServer((request, response) => {
      this.clock.open++;
      response.on('close', () => this.clock.open--);
      this.#answer(request, response).catch(() => request.socket.destroy());
    });
    server.on('connection', (socket) => socket.on('error', () => {}));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    this.#server = server;
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server?.closeAllConnections();
    await new Promise((resolve) => this.#server?.close(resolve));
  }

  /** What a profile holds now. */
  held(kind: Kind, id: string): string | undefined {
    this.#work();
    return this.#profiles.get(`${kind} ${id}`);
  }

  /** Ends the jobs whose time has come, in the order in which they end. */
  #work(): void {
    const now = this.clock.monotonic();
    const over = [...this.#jobs.values()].filter((job) => !job.isOver && job.due <= now);
    for (const job of over.sort((a, b) => a.due - b.due)) {
      job.isOver = true;
      for (const { id, name } of appliedOf(job)) this.#profiles.set(`${job.kind} ${id}`, name);
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const cut = (): void => void request.socket.destroy();
    const reply = (status: number, body: object): void => {
      const text = JSON.stringify(body);
      const length = Buffer.byteLength(text);
      response.writeHead(status, { 'content-type': 'application/json', 'content-length': length }).end(text);
    };
    if (request.method === 'GET') {
      await this.moment(null);
      if (this.isDead) return cut();
      const job = this.#jobs.get(decodeURIComponent(request.url!.split('/').at(-1)!));
      return job && !job.gone
        ? reply(200, this.#recordOf(job))
        : reply(404, { errors: [{ message: 'no such job' }] });
    }
    const kind: Kind = request.url!.includes('/users/') ? 'users' : 'companies';
    const body = JSON.parse(String(Buffer.concat(chunks))) as Record<string, object[]> & object;
    const isSingle = request.url!.endsWith('/companies/identify');
    const items = (isSingle ? [body] : body[kind]!).map(itemOf);
    const arrival: Arrival = {
      n: this.arrivals.length,
      command: isOfIdentify(items) ? this.commands.at(-1)! : this.commands[0]!,
      items,
      accepted: false,
      acknowledged: false,
      refused: false,
      job: null,
      isFollowed: false,
      at: this.clock.monotonic(),
    };
    this.arrivals.push(arrival);
    await this.moment(arrival);
    if (this.isDead) return cut();
    const move = this.script.moves.shift() ?? 'accept';
    if (move === 'lose before') return cut();
    if (typeof move === 'number') {
      arrival.refused = REFUSALS.includes(move);
      return reply(move, { errors: [{ error_code: `e${move}`, message: 'no' }] });
    }
    arrival.accepted = true;
    arrival.job = this.#take(kind, items, isSingle);
    await this.moment(arrival);
    if (this.isDead || move === 'lose after') return cut();
    arrival.acknowledged = true;
    arrival.isFollowed = move !== 'name no job' && !arrival.job.gone;
    if (isSingle) return reply(200, { status: 'accepted' });
    reply(202, move === 'name no job' ? {} : this.#recordOf(arrival.job));
  }

  #take(kind: Kind, items: readonly Item[], isSingle: boolean): Job {
    const fate = isSingle ? { ...WELL, seconds: 0 } : (this.script.fates.shift() ?? WELL);
    const job_id = `job-${this.#jobs.size + 1}`;
    const due = this.clock.monotonic() + fate.seconds * 1_000;
    const isAtFault = !isSingle && items.some((item) => this.atFault.has(textOf(item)));
    const end = isAtFault ? 'failed' : fate.end;
    const job: Job = { ...fate, end, job_id, kind, items, due, isOver: false };
    this.#jobs.set(job_id, job);
    this.#work();
    return job;
  }

  #recordOf(job: Job): object {
    this.#work();
    const { job_id, items, isOver, end } = job;
    const status = !isOver ? 'processing' : end === 'failed' ? 'failed' : 'completed';
    return { job_id, status, total_rows: items.length, completed_rows: isOver ? appliedOf(job).length : 0 };
  }
}

/** The items that a job carries out: of a short one all but the last, of a failed one none. */
export const appliedOf = ({ items, end }: Pick<Job, 'items' | 'end'>): readonly Item[] =>
  end === 'completed' ? items : end === 'short' ? items.slice(0, -1) : [];

export const textOf = ({ id, name }: Item): string => `${id}=${name}`;

/** As the model names what `identify` sends. */
const isOfIdentify = ([item]: readonly Item[]): boolean => item!.name.startsWith('i');

function itemOf(item: object): Item {
  const { company_id, user_id, metadata } = item as {
    company_id?: string;
    user_id?: string;
    metadata: { name: string };
  };
  return { id: (user_id ?? company_id)!, name: metadata.name };
}
