/**
 * Collects the rejected rows of an import: writes a rejects file for each input, and keeps totals for the
 * summary.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { ImportEvent } from '../events.js';
import type { RejectedRow, Rejection } from '../model.js';
import type { Scanned } from '../plan/plan.js';
import { KeptRecords, type Marks, type OpenedInput, readRows, ShapeRejections } from '../read/index.js';
import { type Chunk, rowsIn } from '../send/chunk.js';
import { notReplaced, type RequestRecord, rangesOf } from '../state/requests.js';
import type { Scope, State } from '../state/state.js';
import { CauseTotals } from './causes.js';
import { type FileMark, isFileOf } from './file-mark.js';
import { readingOf, rowKey } from './origin.js';
import { writeOrigin } from './origin-file.js';
import { createRejects, type Rejects } from './rejects.js';
import { RememberedRejects } from './remembered-rejects.js';
import { keepFirst } from './summary.js';
import type { Unsent } from './unsent.js';

type Paths = readonly (string | null)[];

interface Where {
  cwd: string;
  /** Path of the rejects file if the user named one; null for the default name. */
  path: string | null;
  /** Has the records of rejects files: which may be replaced, and how their rows were read. */
  state: State;
  /**
   * Returns the id of the run. It may change during planning, when an unfinished run of the same content is
   * found.
   */
  run: () => string;
  /** No file is written. */
  isRehearsal: boolean;
}

const NO_FILE: Rejects = {
  add: () => {},
  flush: async () => null,
  written: () => null,
  close: async () => null,
};

export class Rejecting {
  readonly #remembered: RememberedRejects;
  /** The first rejections, for the summary (`keepFirst`). */
  readonly first: Rejection[] = [];
  readonly causes = new CauseTotals();
  #files: Rejects[] = [];
  /** Rejects files of an earlier session, by input: they already have the rows that the plan rejects. */
  #earlier: Paths = [];
  /** Inputs with a rejects file of an earlier session that is not on this machine. */
  #absent: number[] = [];
  /** Rows of chunks that are split to find the rows at fault, by input. */
  readonly #kept = new WeakMap<Chunk, Map<number, Promise<KeptRecords>>>();
  /** Rows that are rejected only because of their shape. */
  readonly #shapes: ShapeRejections[];
  #scanned: Scanned['inputs'] = [];
  /** By input: earlier files that were written for the same content, by location. */
  #replaceable: readonly ReadonlyMap<string, FileMark>[] = [];
  readonly #recorded: (string | undefined)[] = [];

  private constructor(
    private readonly inputs: readonly OpenedInput[],
    private readonly where: Where,
  ) {
    this.#remembered = new RememberedRejects(inputs);
    const key = rowKey(where.state.secret);
    this.#shapes = inputs.map((input) => new ShapeRejections(input, key));
  }

  /** @param earlier rejects files of an earlier session, by input */
  static async open(inputs: readonly OpenedInput[], earlier: Paths, where: Where): Promise<Rejecting> {
    const rejecting = new Rejecting(inputs, where);
    await rejecting.#findEarlier(earlier);
    for (const input of inputs.keys()) rejecting.#files.push(await rejecting.#open(input));
    return rejecting;
  }

  /**
   * Continues the files of an earlier session that was found during planning. They already have the rows of
   * the plan.
   */
  async adopt(earlier: Paths): Promise<void> {
    await this.#findEarlier(earlier);
    for (const [input, path] of this.#earlier.entries()) {
      if (path === null) continue;
      await this.#files[input]!.close();
      this.#files[input] = await this.#open(input);
    }
  }

  /**
   * Finds which files of earlier sessions are on this machine. The name alone is not enough if the state has
   * a mark of the file.
   */
  async #findEarlier(paths: Paths): Promise<void> {
    const known = paths.some((path) => path !== null)
      ? await this.where.state.rejects.ofRun(this.where.run())
      : [];
    const isHere = (path: string, input: number): boolean => {
      const location = resolve(this.where.cwd, path);
      const own = known.filter((record) => record.input === input);
      if (own.length === 0) return existsSync(location);
      return own.some(({ mark, location: written }) =>
        mark === null ? written === location && existsSync(location) : isFileOf(location, mark),
      );
    };
    this.#earlier = paths.map((path, input) => (path !== null && isHere(path, input) ? path : null));
    this.#absent = paths.flatMap((path, input) => (path !== null && !this.#earlier[input] ? [input] : []));
  }

  /**
   * Adds rows that the service refused in earlier sessions, if their file is not on this machine. With the
   * rows that the plan rejects, the new file is then complete.
   * @returns a warning if the records of some rows are gone; otherwise null
   */
  async restore(records: readonly RequestRecord[], signal: AbortSignal): Promise<string | null> {
    const { state, run } = this.where;
    let unknown = 0;
    for (const input of this.#absent) {
      const reasons = new Map<number, string>();
      const rows: number[] = [];
      for (const record of notReplaced(records)) {
        const range = record.state === 'rejected' && rangesOf(record).find((each) => each.input === input);
        if (!range) continue;
        const known = await state.history.ofRequest(run(), record.seq);
        const lines = known?.sent.filter((each) => each.input === input).flatMap((each) => [...each.lines]);
        if (!lines) unknown += range.rows;
        for (const line of lines ?? []) reasons.set(line, record.reason ?? 'refused by the service');
        for (let row = range.first_row; row < range.end_row; row++) rows.push(row);
      }
      if (reasons.size === 0) continue;
      const ascending = [...new Set(rows)].sort((a, b) => a - b);
      const reading = { planned: this.#marksOf(input), signal };
      for await (const { line, original } of readRows(this.inputs[input]!, ascending, reading)) {
        const reason = reasons.get(line);
        const { path } = this.inputs[input]!;
        if (reason !== undefined) this.#files[input]!.add({ file: path, line, reason, original });
      }
    }
    return unknown === 0
      ? null
      : `the rejects file of an earlier session is not here, and ${unknown} of the rows that the service refused then cannot be found again`;
  }

  async #open(input: number): Promise<Rejects> {
    if (this.where.isRehearsal) return NO_FILE;
    const { cwd, path, run, state } = this.where;
    const earlier = this.#earlier[input] ?? null;
    const known = earlier === null ? null : await state.rejects.at(resolve(cwd, earlier));
    return createRejects(this.inputs[input]!, {
      cwd,
      path,
      run: run(),
      continues: earlier === null ? null : { path: earlier, mark: known?.mark ?? null },
      mayReplace: (location) => this.#replaceable[input]?.get(location) ?? null,
    });
  }

  /** Records rows that the plan rejected for the history of profiles. */
  keepRemembered(scope: Scope): Promise<void> {
    return this.#remembered.record(this.where.run(), scope, this.where.state);
  }

  /** Adds a row that the plan rejected. */
  planned(input: number, row: RejectedRow): void {
    this.#shapes[input]!.add(row);
    keepFirst(this.first, { file: row.file, line: row.line, reason: row.reason });
    this.causes.add(this.inputs[input]!, row);
    this.#remembered.add(input, row);
    if (!this.#earlier[input]) this.#files[input]!.add(row);
  }

  /**
   * Call this after the scan. By digest, finds the files that were written for the same content: they may be
   * replaced.
   */
  async scanned({ inputs }: Scanned): Promise<void> {
    this.#scanned = inputs;
    const { rejects } = this.where.state;
    this.#replaceable = await Promise.all(inputs.map(({ scan }) => rejects.marksOf(scan.digest)));
  }

  #marksOf(input: number): Marks {
    return this.#scanned[input]!.scan.marks;
  }

  /**
   * Adds the rows of a request that the service refused for good. Reads the original rows again, since the
   * request has only items. Resolves when the rows are on disk.
   * @param of the chunk that contains the rows, if more of its rows may follow: then its rows are read only
   * once
   * @returns the rejects file of each input of the request
   */
  async refused(
    chunk: Chunk,
    reason: string,
    emit: (event: ImportEvent) => void,
    { signal, of }: { signal: AbortSignal; of?: Chunk | undefined },
  ): Promise<Map<number, string | null>> {
    const files = new Map<number, string | null>();
    for (const [part, { input }] of chunk.parts.entries()) {
      const rows = [...rowsIn(chunk, part)];
      const originals = of
        ? (await this.#keptOf(of, input, signal)).rows(rows)
        : readRows(this.inputs[input]!, rows, { planned: this.#marksOf(input), signal });
      for await (const { line, original } of originals) {
        const rejection = { file: this.inputs[input]!.path, line, reason };
        this.#files[input]!.add({ ...rejection, original });
        keepFirst(this.first, rejection);
        emit({ type: 'rejected', ...rejection });
      }
      files.set(input, await this.#files[input]!.flush());
      await this.#record(input, null);
    }
    return files;
  }

  /** Writes all rows so far to the files. @returns the rejects file of each input, or null */
  async flush(): Promise<(string | null)[]> {
    const files: (string | null)[] = [];
    for (const file of this.#files) files.push(await file.flush());
    return files.map((file, input) => file ?? this.#earlier[input] ?? null);
  }

  /**
   * Records the files in the state, so that they can be imported and replaced.
   * @param unsent what the run does not send @throws StateError
   */
  async record(unsent: Unsent | null): Promise<void> {
    for (const input of this.inputs.keys()) await this.#record(input, unsent);
  }

  /** The original rows of a chunk that come from one input. Cached until the chunk is garbage-collected. */
  #keptOf(chunk: Chunk, input: number, signal: AbortSignal): Promise<KeptRecords> {
    const known = this.#kept.get(chunk) ?? new Map<number, Promise<KeptRecords>>();
    this.#kept.set(chunk, known);
    const rows = chunk.parts.flatMap((part, at) => (part.input === input ? [...rowsIn(chunk, at)] : []));
    const pass = { planned: this.#marksOf(input), signal };
    const kept = known.get(input) ?? KeptRecords.read(this.inputs[input]!, rows, pass);
    known.set(input, kept);
    return kept;
  }

  /**
   * Records the file of an input. `run` is the id in its rows; it differs from `owner` if the import later
   * continued an earlier run.
   */
  async #record(input: number, unsent: Unsent | null): Promise<void> {
    const written = this.#files[input]!.written();
    if (!written) return;
    const { location, mark, run } = written;
    if (mark !== null && mark.sha256 === this.#recorded[input]) return;
    const isFirst = this.#recorded[input] === undefined;
    this.#recorded[input] = mark?.sha256;
    const { scan } = this.#scanned[input]!;
    const key = rowKey(this.where.state.secret);
    const reading = readingOf(this.inputs[input]!, scan.schema.types, key);
    const unedited = this.#shapes[input]!.hashes();
    const origin = { run, input, owner: this.where.run(), digest: scan.digest, reading, unedited, unsent };
    await this.where.state.rejects.put({ ...origin, location, mark });
    if (isFirst) await writeOrigin(location, { ...origin, key });
  }

  async close(): Promise<void> {
    await Promise.all(this.#files.map((file) => file.close()));
  }
}
