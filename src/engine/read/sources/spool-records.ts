/** Writes the records of a program to a file as JSON Lines: an input is read twice, but a program gives them once. */
import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { UsageError } from '../../errors.js';
import { orAborted } from '../../util/clock.js';
import { ensureFolder } from '../../util/private-folder.js';
import { notSpooled } from './spool.js';

/** Anything that yields one record after another. */
export type Records = Iterable<unknown> | AsyncIterable<unknown>;

/** Bytes per write. No more records than fill it are pulled before they are on disk. */
const BUFFERED = 64 * 1024;

/**
 * Copies records to a private file, one per line. Returns the file's path; the caller removes the file.
 * @throws UsageError for a value that JSON does not have; what the records throw; StateError if the file cannot be
 * written; the signal's reason when aborted, without waiting for the next record
 */
export async function spoolRecords(records: Records, folder: string, signal?: AbortSignal): Promise<string> {
  const path = join(folder, 'records');
  let file: FileHandle | undefined;
  const write = async (text: string): Promise<void> => {
    try {
      ensureFolder(folder);
      file ??= await open(path, 'wx', 0o600);
      await file.writeFile(text);
    } catch (error) {
      throw notSpooled('the records', path, error);
    }
  };
  try {
    let number = 0;
    let text = '';
    for await (const record of untilAborted(records, signal)) {
      text += `${recordText(record, ++number)}\n`;
      if (text.length < BUFFERED) continue;
      await write(text);
      text = '';
    }
    // An empty file would be taken for a truncated one.
    await write(number === 0 ? '\n' : text);
  } catch (error) {
    await file?.close();
    await rm(path, { force: true });
    throw error;
  }
  await file!.close();
  return path;
}

/** Yields the values of an iterable, until the signal is aborted. */
async function* untilAborted(records: Records, signal?: AbortSignal): AsyncGenerator<unknown> {
  const iterator =
    Symbol.asyncIterator in records ? records[Symbol.asyncIterator]() : records[Symbol.iterator]();
  let open = true;
  try {
    for (;;) {
      signal?.throwIfAborted();
      const coming = iterator.next();
      const next = coming instanceof Promise ? await orAborted(ending(coming), signal) : coming;
      if (next.done) {
        open = false;
        return;
      }
      const { value } = next;
      // Values may be promises, as in `for await`.
      yield value instanceof Promise ? await orAborted(value, signal) : value;
    }
  } finally {
    if (open) await closed(iterator, signal);
  }

  /** Notes that an iterator that throws has ended. */
  function ending<T>(next: Promise<T>): Promise<T> {
    return next.catch((error: unknown) => {
      open = false;
      throw error;
    });
  }
}

/** Lets the iterator clean up. One that is still waiting may never answer. */
async function closed(
  iterator: Iterator<unknown> | AsyncIterator<unknown>,
  signal?: AbortSignal,
): Promise<void> {
  const returned = Promise.resolve(iterator.return?.()).catch(() => {});
  if (!signal?.aborted) await returned;
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
