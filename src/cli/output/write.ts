/** Writing to stdout and stderr so that nothing is lost, and a reader that closes the pipe is not an error. */
import { OutputError } from '../../engine/errors.js';
import { safeJson, safeLine } from './safe.js';
import type { TextStream } from './terminal.js';

/**
 * Writes text and resolves when the stream has taken all of it, so a slow pipe slows the writer and nothing is
 * cut at the pipe's 64 KiB. A reader that has gone (`| head -1`, a terminal that was closed) ends it quietly.
 * @throws OutputError for any other failure, such as a full disk
 */
export function writeOut(stream: TextStream, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    if (stream.destroyed || text === '') {
      resolve();
      return;
    }
    stream.write(text, (error?: NodeJS.ErrnoException | null) => {
      if (error && !isReaderGone(error))
        reject(new OutputError(stream.fd === 2 ? 'stderr' : 'stdout', error));
      else resolve();
    });
  });
}

/** JSON text and a line end; without control sequences at a terminal. */
export function writeJson(stdout: TextStream, json: string): Promise<void> {
  return writeOut(stdout, `${stdout.isTTY ? safeJson(json) : json}\n`);
}

/** One line of data: unchanged in a pipe, without control sequences at a terminal. */
export function writeLine(stdout: TextStream, text: string): Promise<void> {
  return writeOut(stdout, `${stdout.isTTY ? safeLine(text) : text}\n`);
}

/** Prints where the report page is. */
export async function sayReport(
  name: string,
  { stderr, flags }: { stderr: TextStream; flags: { quiet?: boolean } },
): Promise<void> {
  if (!flags.quiet) await writeOut(stderr, `report: ${safeLine(name)}\n`);
}

const READER_GONE = new Set(['EPIPE', 'EIO', 'ENXIO', 'ERR_STREAM_DESTROYED', 'ECONNRESET']);

/** Whether a write failed because the reader of the pipe or terminal is gone. */
export const isReaderGone = ({ code = '' }: NodeJS.ErrnoException): boolean => READER_GONE.has(code);
