/** The records of an input, in batches: file, decompression, encoding and cutting put together. */
import { InputError } from '../errors.js';
import { CsvCutter } from './csv/cutter.js';
import { ArrayCutter } from './json/array-cutter.js';
import { NdjsonCutter } from './json/ndjson-cutter.js';
import type { Cutter } from './text/cutter.js';
import { BadTextError, toUtf8 } from './text/encoding.js';
import { openFile, readBytes, type Tally } from './text/source.js';
import type { OpenedInput, RecordBatch } from './types.js';

function cutterOf(input: OpenedInput): Cutter {
  if (input.format === 'ndjson') return new NdjsonCutter(input.path);
  if (input.format === 'json') return new ArrayCutter(input.path, { body: input.body !== null });
  return new CsvCutter({ ...input, delimiter: input.delimiter! }, { header: true });
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
  const cutter = cutterOf(input);
  try {
    for await (const text of toUtf8(readBytes(input, options.signal, options.tally), input.encoding)) {
      const batch = cutter.push(text);
      if (batch) yield batch;
    }
  } catch (error) {
    if (!(error instanceof BadTextError)) throw error;
    throw new InputError(error.sentence, { file: input.path, line: cutter.line, hint: error.hint });
  }
  const last = cutter.end();
  if (last) yield last;
}

/** A plan holds for the file that was planned. */
async function refuseChanged(input: OpenedInput): Promise<void> {
  const { handle, stamp } = await openFile(input);
  await handle.close();
  if (stamp.size !== input.stamp.size || stamp.mtimeMs !== input.stamp.mtimeMs) {
    throw new InputError('changed while it was being imported', {
      file: input.path,
      hint: 'run the import again when nothing writes to the file',
    });
  }
}
