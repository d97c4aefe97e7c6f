/** Failures of a download. */
import type { Clock } from '../clock.js';
import { formatDuration } from '../duration.js';
import { NetworkError } from '../errors.js';
import { connectFailure, lostReason } from './failure.js';

/** The failure of an attempt, after which another attempt may succeed. */
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

/** If fewer bytes than this arrive within one deadline, the server counts as silent. */
export const MIN_WINDOW_BYTES = 1_024;

/**
 * Detects that almost nothing arrives: a server that sends single bytes would never reach the deadline of
 * undici.
 */
export class Pace {
  #since: number;

  /** @param base bytes that have arrived so far */
  constructor(
    private base: number,
    private readonly timeoutMs: number,
    private readonly clock: Clock,
  ) {
    this.#since = clock.monotonic();
  }

  /** @param bytes that have arrived by now. @returns whether too few arrived within the last deadline */
  isSilent(bytes: number): boolean {
    const now = this.clock.monotonic();
    if (now - this.#since <= this.timeoutMs) return false;
    const came = bytes - this.base;
    [this.#since, this.base] = [now, bytes];
    return came < MIN_WINDOW_BYTES;
  }
}

interface Attempt {
  /** The address as it may be printed. */
  shown: string;
  host: string;
  timeoutMs: number;
  /** Whether the reply had begun. */
  started: boolean;
}

/**
 * Turns an error of the connection into `Broken`, or into a NetworkError if retries do not help. Others stay
 * as they are.
 */
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
