/**
 * Writes to stdout and stderr so that nothing is lost. It is not an error if the reader of a pipe is gone.
 */
import { OutputError } from '../../engine/errors.js';
import { safeJson, safeLine } from './safe.js';
import type { TextStream } from './terminal.js';

type Write = (this: TextStream, text: string, done: (error?: Error | null) => void) => boolean;

/**
 * Writes text, and resolves when the stream has accepted all of it. So a slow pipe slows the writer down, and
 * output is not cut at the 64 KiB of a pipe. If the reader is gone (`| head -1`, a closed terminal), it
 * resolves, too.
 * @throws OutputError for any other failure, such as a full disk
 */
export function writeOut(stream: TextStream, text: string, by: 'write' | 'command' = 'write'): Promise<void> {
  return new Promise((resolve, reject) => {
    if (stream.destroyed || text === '') {
      resolve();
      return;
    }
    const write: Write = stream[by] ?? stream.write;
    write.call(stream, text, (error?: NodeJS.ErrnoException | null) => {
      if (error && !isReaderGone(error))
        reject(new OutputError(stream.fd === 2 ? 'stderr' : 'stdout', error));
      else resolve();
    });
  });
}

/** JSON text as a stream takes it: unchanged, but for a terminal and for the log of a runner. */
export const jsonFor = ({ isTTY, command }: TextStream, json: string): string =>
  isTTY || command ? safeJson(json) : json;

/** Writes JSON text and a line break. */
export function writeJson(stdout: TextStream, json: string): Promise<void> {
  return writeOut(stdout, `${jsonFor(stdout, json)}\n`);
}

/** Prints where the report page is. */
export async function printReportPath(
  name: string,
  { stderr, flags }: { stderr: TextStream; flags: { quiet?: boolean } },
): Promise<void> {
  if (!flags.quiet) await writeOut(stderr, `report: ${safeLine(name)}\n`);
}

const READER_GONE = new Set(['EPIPE', 'EIO', 'ENXIO', 'ERR_STREAM_DESTROYED', 'ECONNRESET']);

/** Whether a write failed because the reader of the pipe or terminal is gone. */
export const isReaderGone = ({ code = '' }: NodeJS.ErrnoException): boolean => READER_GONE.has(code);
