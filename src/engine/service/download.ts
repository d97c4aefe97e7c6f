/**
 * Brings a file from an https:// address, without the account's token. A connection that breaks is taken up where it
 * broke, if the server allows it and confirms (by a strong ETag) that the file is still the same.
 */
import type { Dispatcher } from 'undici';
import { Channel } from '../channel.js';
import type { Clock } from '../clock.js';
import { InputError, NetworkError } from '../errors.js';
import { formatSize } from '../size.js';
import { isLoopback } from './address.js';
import { attemptFailure, Broken, MIN_WINDOW_BYTES, Pace, silence } from './download-failure.js';
import { type ProxyEnv, proxyAgent, proxySettings } from './proxy.js';
import { backoffDelay } from './retry.js';
import type { WebAddress } from './web-address.js';

const MAX_REDIRECTS = 10;
/** Attempts in a row that bring nothing new. A server that sends nothing gets fewer: each takes the whole deadline. */
const MAX_FAILURES = 5;
const MAX_SILENCES = 2;
/** Attempts in all: a server may break each one after a single byte. */
const MAX_ATTEMPTS = 100;
const CONNECT_TIMEOUT_MS = 10_000;
const BACKOFF_MS = 1_000;
const MAX_BYTES = 100 * 1024 ** 3;

/**
 * Where the bytes go, at once: undici fails an assertion where a connection ends while its reply is held back. Errors of
 * the sink end the download as they are.
 */
export interface Sink {
  /** Appends. */
  write(chunk: Uint8Array): void;
  /** Forgets what was written. */
  restart(): void;
}

/** More than can arrive between the head of a reply and the first chunk that is taken, bytes. */
const NEVER_HELD_BACK = 16 * 1024 ** 2;

export interface DownloadOptions {
  /** Longest time without data, milliseconds. */
  timeoutMs: number;
  proxy: ProxyEnv;
  clock: Clock;
  random: () => number;
  signal: AbortSignal;
  /** A longer file is refused, bytes. */
  maxBytes?: number;
}

export interface Downloaded {
  /** False where the server neither gave a length nor sent the end: a file that was cut off looks whole. */
  sure: boolean;
}

interface Progress {
  bytes: number;
  total: number | null;
}

/**
 * Writes the file to the sink. Yields how far it is, for each chunk.
 * @throws InputError for an answer that is not the file; NetworkError when it cannot be had; the signal's reason
 */
export async function* download(
  address: Pick<WebAddress, 'url' | 'shown'>,
  sink: Sink,
  options: DownloadOptions,
): AsyncGenerator<Progress, Downloaded> {
  const transfer = new Transfer(address, sink, options);
  const { clock, random, signal } = options;
  let most = 0;
  let failures = 0;
  let silences = 0;
  try {
    for (let attempt = 1; ; attempt++) {
      try {
        return yield* transfer.attempt();
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (!(error instanceof Broken)) throw error;
        // A few bytes more, as from a server that drips, do not end a silence.
        if (transfer.size >= most + MIN_WINDOW_BYTES) silences = 0;
        if (transfer.size > most) [most, failures] = [transfer.size, 0];
        failures++;
        if (error.kind === 'silent') silences++;
        if (failures >= MAX_FAILURES || silences >= MAX_SILENCES || attempt >= MAX_ATTEMPTS)
          throw transfer.givenUp(error);
        await clock.sleep(backoffDelay({ attempt: failures, baseMs: BACKOFF_MS, random }), signal);
      }
    }
  } finally {
    await transfer.close();
  }
}

type Reply = Dispatcher.ResponseData;

class Transfer {
  size = 0;
  #total: number | null = null;
  /** A strong one: what comes under the same is the same file, byte for byte. */
  #etag: string | null = null;
  readonly #agents = new Map<boolean, Dispatcher>();

  constructor(
    private readonly address: Pick<WebAddress, 'url' | 'shown'>,
    private readonly sink: Sink,
    private readonly options: DownloadOptions,
  ) {}

  async *attempt(): AsyncGenerator<Progress, Downloaded> {
    const reply = await this.#ask();
    try {
      this.#begin(reply);
      yield* this.#receive(reply);
    } finally {
      reply.body.on('error', () => {}).destroy();
    }
    if (this.#total !== null && this.size !== this.#total) {
      throw new Broken(`${this.address.url.host} sent ${this.size} of ${this.#total} bytes`);
    }
    return { sure: this.#total !== null || header(reply, 'transfer-encoding') !== null };
  }

  givenUp({ message, kind, status }: Broken): NetworkError {
    const { shown } = this.address;
    const far = this.size > 0 ? ` after ${formatSize(this.size)}` : '';
    return new NetworkError(`${shown}: the download failed${far}: ${message}`, {
      hint: kind === 'changed' ? 'import it again when nothing writes to it' : undefined,
      problem:
        kind === 'silent' ? { code: 'no_answer_in_time', timeoutMs: this.options.timeoutMs } : undefined,
      status,
    });
  }

  async close(): Promise<void> {
    for (const agent of this.#agents.values()) await agent.destroy();
  }

  /** Follows redirects. @returns the reply that has the file, or its rest */
  async #ask(): Promise<Reply> {
    let { url } = this.address;
    for (let redirects = 0; ; redirects++) {
      const reply = await this.#request(url);
      const to = /^30[12378]$/.test(String(reply.statusCode)) ? header(reply, 'location') : null;
      if (to === null) return this.#checked(reply, url);
      reply.body.on('error', () => {}).destroy();
      if (redirects === MAX_REDIRECTS) throw this.#refused(`it redirects more than ${MAX_REDIRECTS} times`);
      url = this.#redirected(to, url);
    }
  }

  #redirected(to: string, from: URL): URL {
    if (!URL.canParse(to, from.href)) throw this.#refused('it redirects to something that is not a URL');
    const url = new URL(to, from);
    const stays = url.protocol === 'http:' && isLoopback(url.hostname) && isLoopback(from.hostname);
    if (url.protocol === 'https:' || stays) return url;
    throw this.#refused(`it redirects to ${url.protocol}//${url.host}, and only https:// is followed`);
  }

  async #request(url: URL): Promise<Reply> {
    const { signal } = this.options;
    const resumes = this.size > 0 && this.#etag !== null;
    const agent = await this.#agent(isLoopback(url.hostname));
    try {
      return await agent.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method: 'GET',
        signal,
        highWaterMark: NEVER_HELD_BACK,
        headers: {
          accept: '*/*',
          'accept-encoding': 'identity',
          'user-agent': 'profiles-cli',
          ...(resumes && { range: `bytes=${this.size}-`, 'if-range': this.#etag! }),
        },
      });
    } catch (error) {
      throw this.#failure(error, url, false);
    }
  }

  #checked(reply: Reply, url: URL): Reply {
    const { statusCode: status } = reply;
    if (status === 200 || (status === 206 && this.size > 0)) return reply;
    reply.body.on('error', () => {}).destroy();
    // The rest is no longer where it was.
    if (status === 416 && this.size > 0) {
      this.#etag = null;
      throw new Broken('the file changed while it was downloaded', 'changed');
    }
    const says = `${url.host} answered ${status}`;
    if (status === 408 || status === 425 || status === 429 || status >= 500)
      throw new Broken(says, 'broken', status);
    const hint =
      status === 401 || status === 403 || status === 410
        ? 'a signed link works for a limited time: get a new one. The token of your account is never sent to another server'
        : status === 404
          ? 'check the address'
          : 'the address must give the file itself';
    throw this.#refused(says, hint, status);
  }

  /** Sets the sink to where this reply begins. */
  #begin(reply: Reply): void {
    const etag = header(reply, 'etag');
    if (reply.statusCode === 206) {
      const [, from, total] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(header(reply, 'content-range') ?? '') ?? [];
      const same = etag === null || etag === this.#etag;
      if (Number(from) === this.size && same && (this.#total === null || total === String(this.#total)))
        return;
      this.#etag = null; // the next attempt begins at the beginning
      throw new Broken('the file changed while it was downloaded', 'changed');
    }
    const encoding = (header(reply, 'content-encoding') ?? 'identity').toLowerCase();
    // gzip and zstd are known by their first bytes when the file is read.
    if (!['identity', 'gzip', 'x-gzip', 'zstd'].includes(encoding)) {
      throw this.#refused(`it is sent with the content-encoding ${encoding}, which is not supported`);
    }
    this.sink.restart();
    this.size = 0;
    const length = header(reply, 'content-length');
    this.#total = length !== null && /^\d+$/.test(length) ? Number(length) : null;
    const resumable = /^"[^"]+"$/.test(etag ?? '') && header(reply, 'accept-ranges') !== 'none';
    this.#etag = resumable ? etag : null;
    this.#bounded(this.#total ?? 0);
  }

  /** Takes each chunk as it comes, however long the consumer takes for what is yielded. */
  async *#receive({ body }: Reply): AsyncGenerator<Progress> {
    const { clock, timeoutMs } = this.options;
    const pace = new Pace(this.size, timeoutMs, clock);
    const arrived = new Channel<Progress>();
    let failure: unknown;
    body.on('data', (chunk: Buffer) => {
      try {
        this.sink.write(chunk);
        this.size += chunk.length;
        this.#bounded(this.size);
        if (pace.isSilent(this.size)) throw silence(this.address.url.host, timeoutMs);
        arrived.push({ bytes: this.size, total: this.#total });
      } catch (error) {
        body.destroy(error as Error);
      }
    });
    body.once('error', (error) => {
      failure = error;
    });
    body.once('close', () => arrived.close());
    yield* arrived;
    if (failure) throw this.#failure(failure, this.address.url, true);
  }

  #bounded(bytes: number): void {
    const { maxBytes = MAX_BYTES } = this.options;
    if (bytes > maxBytes)
      throw this.#refused(
        `the file is larger than ${formatSize(maxBytes)}`,
        'download it yourself, and import the copy',
      );
  }

  #failure(error: unknown, url: URL, started: boolean): unknown {
    const { timeoutMs, signal } = this.options;
    return signal.aborted
      ? signal.reason
      : attemptFailure(error, { shown: this.address.shown, host: url.host, timeoutMs, started });
  }

  #refused(sentence: string, hint?: string, status?: number): InputError {
    return new InputError(sentence, { file: this.address.shown, hint, status });
  }

  /** Loopback never goes through a proxy. */
  async #agent(loopback: boolean): Promise<Dispatcher> {
    const made = this.#agents.get(loopback);
    if (made) return made;
    const { timeoutMs, proxy } = this.options;
    const connect = { timeout: Math.min(CONNECT_TIMEOUT_MS, timeoutMs) };
    const common = { connect, headersTimeout: timeoutMs, bodyTimeout: timeoutMs };
    const settings = loopback ? null : proxySettings(proxy);
    const { default: undici } = await import('undici'); // bundled CommonJS has no other name
    const agent = settings
      ? await proxyAgent(settings, { ...common, tunnelTimeoutMs: timeoutMs })
      : new undici.Agent(common);
    this.#agents.set(loopback, agent);
    return agent;
  }
}

function header({ headers }: Reply, name: string): string | null {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
}
