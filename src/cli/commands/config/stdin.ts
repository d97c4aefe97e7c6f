/** Reads a value from stdin that must not appear on a command line. */

import { addAbortSignal } from 'node:stream';
import { UsageError } from '../../../engine/errors.js';
import type { Context } from '../../context.js';
import { stopOnSignal } from '../../output/waiting.js';

/**
 * In seconds. A CI system may leave stdin open without writing to it; a password manager may first ask the
 * user.
 */
const PATIENCE_S = 30;

/**
 * Reads all of stdin, which cannot be used again afterwards.
 * @throws UsageError if it has not ended after 30 s; InterruptedError
 */
export function readAll({ stdin, stop, clock }: Pick<Context, 'stdin' | 'stop' | 'clock'>): Promise<string> {
  const late = new AbortController();
  const ended = new AbortController();
  clock.sleep(PATIENCE_S * 1_000, ended.signal).then(
    () => late.abort(),
    () => {}, // it ended in time
  );
  return stopOnSignal({ stop }, async (signal) => {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of addAbortSignal(AbortSignal.any([signal, late.signal]), stdin())) {
        chunks.push(Buffer.from(chunk as string | Uint8Array));
      }
    } catch (error) {
      if (!late.signal.aborted) throw error;
      throw new UsageError(`no token after ${PATIENCE_S}s: stdin is still open`, {
        hint: 'redirect a file (< token.txt) or nothing (< /dev/null)',
      });
    } finally {
      ended.abort();
    }
    return Buffer.concat(chunks).toString('utf8');
  });
}
