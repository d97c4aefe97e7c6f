/** The one module that reads `process`: it makes the `World` that all others are handed. */
import { availableParallelism } from 'node:os';
import { systemClock } from '../engine/clock.js';
import type { World } from './context.js';

/** What writing to a reader that has left says: of a pipe, of a terminal. */
const GONE = new Set(['EPIPE', 'EIO', 'ENXIO']);

/** Signals: the first stops intake, the second ends the work in flight (contract §4). */
export function worldOf(host: NodeJS.Process): World {
  const stop = new AbortController();
  const abort = new AbortController();
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stop.signal.aborted) abort.abort(signal);
    else stop.abort(signal);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) host.on(signal, onSignal);
  // A closed pipe (`| head -1`) or terminal is the reader's choice, not a failure.
  for (const stream of [host.stdout, host.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (!GONE.has(error.code ?? '')) throw error;
    });
  }
  return {
    env: host.env,
    platform: host.platform,
    cwd: host.cwd(),
    stdin: host.stdin,
    stdout: host.stdout,
    stderr: host.stderr,
    clock: systemClock,
    nodeVersion: host.versions.node,
    cores: availableParallelism(),
    stop: stop.signal,
    abort: abort.signal,
  };
}
