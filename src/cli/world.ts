/** Makes the `World` that all other modules get. Only this module reads `process`. */
import { fstatSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { Writable } from 'node:stream';
import { OutputError } from '../engine/errors.js';
import { systemClock } from '../engine/util/clock.js';
import type { World } from './context.js';
import { breakCommands, inGitHubActions, isReaderGone, type TextStream } from './output/terminal.js';

/** Makes the world. The first signal stops reading; the second one ends the work in flight (contract §4). */
export function worldOf(host: NodeJS.Process): World {
  const stop = new AbortController();
  const abort = new AbortController();
  let signals = 0;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (signals++ > 0) abort.abort(signal);
    else stop.abort(signal);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) host.on(signal, onSignal);
  const output = (name: 'stdout' | 'stderr') => {
    const { fd } = host[name];
    const isFile = !host[name].isTTY && fstatSync(fd).isFile();
    const stream: TextStream = isFile ? whole(fd) : host[name];
    // A file is not the log.
    if (inGitHubActions(host.env) && !isFile) breakCommands(stream);
    // If the reader closes the pipe (`| head -1`) or the terminal, that is not an error. Anything else stops
    // the work in an orderly way.
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (!isReaderGone(error)) stop.abort(new OutputError(name, error));
    });
    return stream;
  };
  return {
    env: host.env,
    platform: host.platform,
    cwd: host.cwd(),
    stdin: () => host.stdin,
    stdout: output('stdout'),
    stderr: output('stderr'),
    clock: systemClock,
    nodeVersion: host.versions.node,
    cores: availableParallelism(),
    stop: stop.signal,
    abort: abort.signal,
  };
}

/**
 * Writes to files completely, or fails. Node writes once and does not check how much was written: a full disk
 * accepts only a part.
 */
function whole(fd: number): TextStream {
  const toFile = new Writable({
    write: (chunk: Buffer, _, done) => {
      try {
        writeFileSync(fd, chunk);
      } catch (error) {
        done(error as Error);
        return;
      }
      done();
    },
  });
  return Object.assign(toFile, { fd });
}
