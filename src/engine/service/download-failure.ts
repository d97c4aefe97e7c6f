/** How an attempt to download a file ended early. */
import type { Clock } from '../clock.js';
import { formatDuration } from '../duration.js';
import { NetworkError } from '../errors.js';
import { connectFailure, lostReason } from './failure.js';

/** What ended an attempt, where another may do better. */
export class Broken extends Error {
  constructor(
    reason: string,
    readonly kind: 'broken' | 'silent' | 'changed' = 'broken',
    readonly status?: number,
  ) {
    super(reason);
  }
}

export const silence = (host: string, timeoutMs: number): Broken =>
  new Broken(`${host} sent nothing for ${formatDuration(timeoutMs)}`, 'silent');

/** Less than this in the time of one deadline is silence, bytes. */
export const MIN_WINDOW_BYTES = 1_024;

/** Tells when almost nothing has come for as long as the deadline: a server that drips never lets it pass. */
export class Pace {
  #since: number;

  /** @param base bytes that have come so far */
  constructor(
    private base: number,
    private readonly timeoutMs: number,
    private readonly clock: Clock,
  ) {
    this.#since = clock.monotonic();
  }

  /** @param bytes that have come by now */
  isSilent(bytes: number): boolean {
    const now = this.clock.monotonic();
    if (now - this.#since <= this.timeoutMs) return false;
    const came = bytes - this.base;
    [this.#since, this.base] = [now, bytes];
    return came < MIN_WINDOW_BYTES;
  }
}

interface Attempt {
  /** The address as it is printed. */
  shown: string;
  host: string;
  timeoutMs: number;
  /** Whether the reply had begun. */
  started: boolean;
}

/** Errors of the connection, as what becomes of the attempt; all others as they are. */
export function attemptFailure(error: unknown, { shown, host, timeoutMs, started }: Attempt): unknown {
  if (!(error instanceof Error) || error instanceof Broken) return error;
  const { code = '' } = error as NodeJS.ErrnoException;
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') return silence(host, timeoutMs);
  const lost = ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(code) || error.name === 'HTTPParserError';
  if (started) return lost || code.startsWith('UND_ERR') ? new Broken(lostReason(error, host, true)) : error;
  const { reason, tls, hint } = connectFailure(error, host);
  if (tls || code === 'ENOTFOUND') {
    return new NetworkError(`${shown}: ${reason}`, {
      hint: hint?.replace('the base URL', 'the address') ?? 'check the address and the network',
      cause: error,
    });
  }
  return new Broken(lost ? lostReason(error, host, false) : reason);
}
