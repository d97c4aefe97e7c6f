/** Where the rejected rows of an import go: a rejects file for each input, and the first few into the report. */
import { type OpenedInput, readRows } from '../input/index.js';
import type { ImportEvent, RejectedRow, Rejection } from '../model.js';
import { createRejects, type Rejects } from '../output/rejects.js';
import type { Chunk } from './chunk.js';
import { keepFirst } from './summary.js';

export class Rejecting {
  /** The first 20. */
  readonly first: Rejection[] = [];
  readonly #files: Rejects[];

  /**
   * @param written rejects files of an earlier sitting, by input: what the plan rejects is in them already
   * @param path `--rejects`, for an import of one input
   */
  constructor(
    private readonly inputs: readonly OpenedInput[],
    private readonly written: readonly (string | null)[],
    where: { cwd: string; path: string | null },
  ) {
    this.#files = inputs.map((input) => createRejects(input, where));
  }

  /** A row that the plan refused. */
  planned(input: number, row: RejectedRow): void {
    keepFirst(this.first, { file: row.file, line: row.line, reason: row.reason });
    if (!this.written[input]) this.#files[input]!.add(row);
  }

  /** The rows of a request that the service refused for good: read again, since only their items were kept. */
  async refused(
    chunk: Chunk,
    reason: string,
    emit: (event: ImportEvent) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const input = this.inputs[chunk.input]!;
    for await (const { line, original } of readRows(input, chunk.rows, signal)) {
      const rejection = { file: input.path, line, reason };
      this.#files[chunk.input]!.add({ ...rejection, original });
      keepFirst(this.first, rejection);
      emit({ type: 'rejected', ...rejection });
    }
    await this.#files[chunk.input]!.flush();
  }

  /** What was rejected so far is in the files when this resolves. @returns for each input its rejects file, or null */
  async flush(): Promise<(string | null)[]> {
    const files = await Promise.all(this.#files.map((file) => file.flush()));
    return files.map((file, input) => file ?? this.written[input] ?? null);
  }

  async close(): Promise<void> {
    await Promise.all(this.#files.map((file) => file.close()));
  }
}
