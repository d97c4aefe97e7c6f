/** The records of an input, in batches: file, decompression, encoding and cutting put together. */
import { InputError } from '../errors.js';
import { CsvSplitter } from './csv/splitter.js';
import { ArraySplitter } from './json/array-splitter.js';
import { NdjsonSplitter } from './json/ndjson-splitter.js';
import { BadTextError, toUtf8 } from './text/encoding.js';
import { changedMeanwhile, openFile, readBytes, type Tally } from './text/source.js';
import type { Splitter } from './text/splitter.js';
import type { OpenedInput, RecordBatch } from './types.js';

function splitterOf(input: OpenedInput): Splitter {
  if (input.format === 'ndjson') return new NdjsonSplitter(input.path);
  if (input.format === 'json') return new ArraySplitter(input.path, { body: input.body !== null });
  return new CsvSplitter({ ...input, delimiter: input.delimiter! }, { header: true });
}

/**
 * All records of the input in order. Closes the file when its consumer stops early.
 * @throws InputError for text that cannot be read; the signal's reason when aborted
 */
export async function* readRecords(
  input: OpenedInput,
  options: { signal?: AbortSignal | undefined; tally?: Tally | undefined } = {},
): AsyncGenerator<RecordBatch> {
  await refuseChanged(input);
  const splitter = splitterOf(input);
  try {
    for await (const text of toUtf8(readBytes(input, options.signal, options.tally), input.encoding)) {
      const batch = splitter.push(text);
      if (batch) yield batch;
    }
  } catch (error) {
    if (!(error instanceof BadTextError)) throw error;
    throw new InputError(error.sentence, { file: input.path, line: splitter.line, hint: error.hint });
  }
  const last = splitter.end();
  if (last) yield last;
}

/** A plan holds for the file that was planned. */
async function refuseChanged(input: OpenedInput): Promise<void> {
  const { handle, stamp } = await openFile(input);
  await handle.close();
  if (stamp.size !== input.stamp.size || stamp.mtimeMs !== input.stamp.mtimeMs) {
    throw changedMeanwhile(input.path);
  }
}
