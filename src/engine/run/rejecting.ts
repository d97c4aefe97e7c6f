/** Where the rejected rows of an import go: a rejects file for each input, and the first few into the report. */
import { existsSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import type { ImportEvent, RejectedRow, Rejection } from '../model.js';
import { type Marks, type OpenedInput, readRows } from '../read/index.js';
import { type Chunk, rowsIn } from '../send/chunk.js';
import { createRejects, type Rejects } from './rejects.js';
import { keepFirst } from './summary.js';

type Paths = readonly (string | null)[];

export class Rejecting {
  /** The first 20. */
  readonly first: Rejection[] = [];
  #files: Rejects[];
  /** Rejects files of an earlier session, by input: what the plan refuses is in them already. */
  #earlier: Paths;

  /** @param where `path` is of the rejects file, for an import of one input */
  constructor(
    private readonly inputs: readonly OpenedInput[],
    earlier: Paths,
    private readonly where: { cwd: string; path: string | null },
  ) {
    this.#earlier = this.#stillThere(earlier);
    this.#files = this.#open();
  }

  /** Goes on with the files of an earlier session after all: what was written since is in them already. */
  async adopt(earlier: Paths): Promise<void> {
    const here = this.#stillThere(earlier);
    const written = await Promise.all(this.#files.map((file) => file.close()));
    for (const [input, path] of written.entries()) {
      if (path !== null && here[input]) rmSync(resolve(this.where.cwd, path), { force: true });
    }
    this.#earlier = here.map((path, input) => path ?? written[input] ?? null);
    this.#files = this.#open();
  }

  #stillThere(paths: Paths): Paths {
    return paths.map((path) => (path !== null && existsSync(resolve(this.where.cwd, path)) ? path : null));
  }

  #open(): Rejects[] {
    return this.inputs.map((input, index) =>
      createRejects(input, { ...this.where, continues: this.#earlier[index] ?? null }),
    );
  }

  /** A row that the plan refused. */
  planned(input: number, row: RejectedRow): void {
    keepFirst(this.first, { file: row.file, line: row.line, reason: row.reason });
    if (!this.#earlier[input]) this.#files[input]!.add(row);
  }

  /**
   * The rows of a request that the service refused for good: read again, since only their items were kept.
   * @param marks of what was planned of each input
   * @returns the rejects file of each input that the request is of; the rows are on disk
   */
  async refused(
    chunk: Chunk,
    reason: string,
    emit: (event: ImportEvent) => void,
    pass: { marks: (input: number) => Marks; signal: AbortSignal },
  ): Promise<Map<number, string | null>> {
    const files = new Map<number, string | null>();
    for (const [part, { input }] of chunk.parts.entries()) {
      const opened = this.inputs[input]!;
      const reading = { planned: pass.marks(input), signal: pass.signal };
      for await (const { line, original } of readRows(opened, [...rowsIn(chunk, part)], reading)) {
        const rejection = { file: opened.path, line, reason };
        this.#files[input]!.add({ ...rejection, original });
        keepFirst(this.first, rejection);
        emit({ type: 'rejected', ...rejection });
      }
      files.set(input, await this.#files[input]!.flush());
    }
    return files;
  }

  /** What was rejected so far is in the files when this resolves. @returns for each input its rejects file, or null */
  async flush(): Promise<(string | null)[]> {
    const files = await Promise.all(this.#files.map((file) => file.flush()));
    return files.map((file, input) => file ?? this.#earlier[input] ?? null);
  }

  async close(): Promise<void> {
    await Promise.all(this.#files.map((file) => file.close()));
  }
}
