/** Reads files that are small: plans, mapping files, settings, tokens. */
import { constants, openSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { InterruptedError } from '../errors.js';

/**
 * Reads a whole file, or a pipe to its end, such as one made by `<(…)`. A pipe may have no writer yet: a thread that
 * waits in `open` or `read` could not be stopped, and would keep the process from ending.
 * @throws the error of the file system; InterruptedError (or the reason of `stop`, if it is a ProfilesError)
 */
export async function readSmallFile(path: string, stop?: AbortSignal): Promise<Buffer> {
  if (!(await stat(path)).isFIFO()) return readFile(path);
  const { Socket } = await import('node:net');
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const pipe = new Socket({ fd, readable: true, writable: false, ...(stop && { signal: stop }) });
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of pipe) chunks.push(chunk);
  } catch (error) {
    throw stop?.aborted ? InterruptedError.of(stop) : error;
  }
  return Buffer.concat(chunks);
}
