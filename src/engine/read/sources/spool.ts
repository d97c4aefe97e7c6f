/** Makes private copies of inputs that are not files, and writes the records of a program as JSON Lines: an import reads its input twice. */
import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { addAbortSignal, type Readable } from 'node:stream';
import { InputError, StateError, UsageError } from '../../errors.js';
import { orAborted } from '../../util/clock.js';
import { folderAdvice } from '../../util/file-trouble.js';
import { ensureFolder } from '../../util/private-folder.js';

/**
 * Copies to a private file, which the caller removes; after an error there is none.
 * @param what the copy is of, for messages
 * @throws what the source throws; StateError if the file cannot be written; the signal's reason when aborted
 */
export async function spool(
  source: AsyncIterable<Buffer | string>,
  { what, to }: { what: string; to: string },
  signal?: AbortSignal,
): Promise<void> {
  const kept = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw notSpooled(what, to, error);
    }
  };
  const file = kept(() => {
    ensureFolder(dirname(to));
    return openSync(to, 'wx', 0o600);
  });
  try {
    for await (const chunk of untilAborted(source, signal)) kept(() => writeFileSync(file, chunk));
  } catch (error) {
    rmSync(to, { force: true });
    throw signal?.aborted ? signal.reason : error;
  } finally {
    closeSync(file);
  }
}

/** Copies stdin. Returns the file's path. @throws InputError if stdin is a terminal or breaks off; as `spool` does */
export async function spoolStdin(
  stdin: Readable & { isTTY?: boolean },
  folder: string,
  signal?: AbortSignal,
): Promise<string> {
  if (stdin.isTTY) {
    throw new InputError('stdin is a terminal', {
      file: '-',
      hint: 'pipe a file in, or name one',
      problem: { code: 'stdin_is_terminal' },
    });
  }
  const to = join(folder, 'stdin');
  if (signal) addAbortSignal(signal, stdin); // one that waits for more would keep the process
  await spool(stdin, { what: 'stdin', to }, signal).catch((error: Error) => {
    if (error instanceof StateError || signal?.aborted) throw error;
    throw new InputError(`stdin cannot be read: ${error.message}`, {
      file: '-',
      hint: 'pipe it in again, or name a file',
      cause: error,
    });
  });
  return to;
}

/** The error for a disk that is full or not writable: the input is not at fault. */
export function notSpooled(what: string, path: string, error: unknown): StateError {
  return new StateError(`cannot keep ${what} in ${path}: ${(error as Error).message}`, {
    ...folderAdvice(error),
    cause: error,
  });
}

/** Anything that yields one record after another. */
export type Records = Iterable<unknown> | AsyncIterable<unknown>;

/** Bytes per write. */
const BUFFERED = 64 * 1024;

/**
 * Copies records, one per line. Returns the file's path.
 * @throws UsageError for a value that JSON does not have; as `spool` does, without waiting for the next record
 */
export async function spoolRecords(records: Records, folder: string, signal?: AbortSignal): Promise<string> {
  const to = join(folder, 'records');
  await spool(linesOf(records, signal), { what: 'the records', to }, signal);
  return to;
}

async function* linesOf(records: Records, signal?: AbortSignal): AsyncGenerator<string> {
  let number = 0;
  let text = '';
  for await (const record of untilAborted(records, signal)) {
    text += `${recordText(record, ++number)}\n`;
    if (text.length < BUFFERED) continue;
    yield text;
    text = '';
  }
  // An empty file would be taken for a truncated one.
  if (number === 0 || text !== '') yield text || '\n';
}

/** Yields the values of an iterable, until the signal is aborted. */
async function* untilAborted<T>(
  values: Iterable<T> | AsyncIterable<T>,
  signal?: AbortSignal,
): AsyncGenerator<Awaited<T>> {
  const iterator =
    Symbol.asyncIterator in values ? values[Symbol.asyncIterator]() : values[Symbol.iterator]();
  const unlessAborted = <V>(value: V): Promise<Awaited<V>> | V =>
    value instanceof Promise ? orAborted(value, signal) : value;
  try {
    for (;;) {
      signal?.throwIfAborted();
      const { done, value } = await unlessAborted(iterator.next());
      if (done) return;
      // Values may be promises, as in `for await`.
      yield await unlessAborted(value);
    }
  } finally {
    const closed = Promise.resolve(iterator.return?.()).catch(() => {});
    // One that is still waiting may never answer.
    if (!signal?.aborted) await closed;
  }
}

/**
 * A record as JSON text, as `JSON.stringify` writes it, including `toJSON` and without undefined members. Values that
 * `JSON.stringify` would lose silently are refused.
 * @throws UsageError naming the record and the member
 */
function recordText(record: unknown, number: number): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(record, function (this: Record<string, unknown>, key, value: unknown) {
      return checked(key, this[key], value);
    });
  } catch (error) {
    const reason = error instanceof RangeError ? 'is nested too deeply' : firstLine(error);
    throw new UsageError(`record ${number}: ${reason}`, { hint: HINT, cause: error });
  }
  if (text !== undefined) return text;
  throw new UsageError(`record ${number} is ${typeof record}, not an object`, { hint: HINT });
}

const HINT = 'a record is an object of texts, numbers, booleans, null, lists and objects of these';

/** @param raw the value before `toJSON` */
function checked(key: string, raw: unknown, value: unknown): unknown {
  if (typeof value === 'bigint') {
    // As in Parquet, an integer that a double cannot hold becomes text.
    const exact = BigInt(Number(value)) === value && Number.isSafeInteger(Number(value));
    return exact ? Number(value) : String(value);
  }
  const lost =
    raw instanceof Date && value === null
      ? 'an invalid date'
      : typeof value === 'number' && !Number.isFinite(value)
        ? String(value)
        : value instanceof Map || value instanceof Set
          ? `a ${value.constructor.name}`
          : null;
  if (lost === null) return value;
  throw new Error(`${key === '' ? 'it' : JSON.stringify(key)} is ${lost}, which JSON does not have`);
}

const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n')[0]!;
