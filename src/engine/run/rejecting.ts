/**
 * Collects the rejected rows of a session: writes a rejects file for each input, and keeps totals for the summary. A
 * session that reads rows writes each file whole: what the plan rejects, what the service refused in earlier sessions, and
 * what it refuses now.
 */
import { resolve } from 'node:path';
import type { ImportEvent } from '../events.js';
import { KINDS, type RejectedRow, type Rejection } from '../model.js';
import type { Scanned } from '../plan/plan.js';
import {
  idHashes,
  idOfOriginal,
  type OpenedInput,
  type OriginalRow,
  readRows,
  Unedited,
} from '../read/index.js';
import { type Chunk, rowsIn } from '../send/chunk.js';
import type { RejectsRecord } from '../state/rejects.js';
import type { Scope, State } from '../state/state.js';
import { CauseTotals } from './causes.js';
import { type FileMark, leadsTo, markOf, RejectsFile } from './rejects-file.js';
import { formOf, readingOf, rejectsName, rowKey, type Unsent, writeOrigin } from './rejects-form.js';
import type { RunRows } from './rows.js';
import { keepFirst } from './summary.js';

/** The most rejected rows of a run that are recorded for the history of profiles. */
const MOST_REMEMBERED = 10_000;

interface Where {
  cwd: string;
  /** Path of the rejects file if the user named one; null for the default name. */
  path: string | null;
  /** Has the records of rejects files: which may be replaced, and how their rows were read. */
  state: State;
  /** The id of the run. It changes if an unfinished run of the same content is found during planning. */
  run: () => string;
  /** No file is written. */
  isRehearsal: boolean;
}

/** What is collected of one input. */
interface Collected {
  opened: OpenedInput;
  file: RejectsFile;
  unedited: Unedited;
  /** Rows that the plan rejected, for the history. */
  ids: string[];
  lines: number[];
  /** The hash of the file as the state has it. */
  recorded: string | null;
}

export class Rejecting {
  /** The first rejections, for the summary (`keepFirst`). */
  readonly first: Rejection[] = [];
  readonly causes = new CauseTotals();
  readonly #inputs: Collected[];
  /** The run that the rows name. */
  readonly #tag: string;
  readonly #key: string;
  #remembered = 0;
  #scanned: Scanned['inputs'] = [];
  /** Files that may be replaced: earlier ones for the same content, by location, and those of this run, by hash. */
  #replaceable: ReadonlyMap<string, FileMark>[] = [];
  #own: readonly RejectsRecord[] = [];
  /** Rows of requests that are searched for rows at fault, by input. */
  readonly #kept = new WeakMap<Chunk, Map<number, Promise<OriginalRow[]>>>();

  constructor(
    opened: readonly OpenedInput[],
    private readonly where: Where,
  ) {
    const { state, cwd, path } = where;
    const tag = where.run();
    this.#tag = tag;
    this.#key = rowKey(state.secret);
    this.#inputs = opened.map((input, at) => {
      const name = path ?? rejectsName(input);
      const mayReplace = (location: string) => this.#mayReplace(at, location);
      return {
        opened: input,
        file: new RejectsFile(formOf(input, tag), { cwd, name, tag: `${tag}-${at}`, mayReplace }),
        unedited: new Unedited(input, this.#key),
        ...{ ids: [], lines: [], recorded: null },
      };
    });
  }

  /** Adds a row that the plan rejected. */
  planned(input: number, row: RejectedRow): void {
    const { opened, unedited, ids, lines } = this.#inputs[input]!;
    unedited.add(row);
    this.causes.add(opened, row);
    this.#add(input, row);
    const id = this.#remembered < MOST_REMEMBERED ? idOfOriginal(row.original, opened) : '';
    if (id === '') return;
    this.#remembered++;
    ids.push(id);
    lines.push(row.line);
  }

  #add(input: number, { file, line, reason, original }: RejectedRow): void {
    keepFirst(this.first, { file, line, reason });
    if (this.where.isRehearsal) return;
    this.#inputs[input]!.file.add({ line, reason, original });
    this.#inputs[input]!.unedited.addIds(original);
  }

  /** Call this after the scan. Finds the files that may be replaced. */
  async scanned({ inputs }: Scanned): Promise<void> {
    const { rejects } = this.where.state;
    this.#scanned = inputs;
    this.#own = await rejects.ofRun(this.where.run());
    this.#replaceable = await Promise.all(inputs.map(({ scan }) => rejects.marksOf(scan.digest)));
  }

  /** Whether a file is as it was written for the same content, or an unchanged copy of one of this run, and no input. */
  #mayReplace(input: number, location: string): boolean {
    const known = this.#replaceable[input]?.get(location);
    const own = this.#own.filter((record) => record.input === input && record.mark);
    const found = known || own.length > 0 ? markOf(location) : null;
    if (found === null) return false;
    if (this.#inputs.some(({ opened }) => leadsTo(resolve(this.where.cwd, opened.location), found)))
      return false;
    const isKnown = known?.inode === found.inode && known.sha256 === found.sha256;
    return isKnown || own.some(({ mark }) => mark!.sha256 === found.sha256);
  }

  /** Adds the rows that the service refused in earlier sessions. */
  async restore(rows: RunRows, signal: AbortSignal): Promise<void> {
    for (const [at, planned] of this.#scanned.entries()) {
      if (!rows.hasRefused(at)) continue;
      const refused = new Map<number, string>();
      for await (const batch of rows.walk(at, planned))
        for (const { row, outcome, request, reason } of batch)
          if (outcome === 'rejected' && request !== null) refused.set(row, reason ?? REFUSED);
      const file = planned.opened.path;
      for (const { row, line, original } of await this.#originals(at, [...refused.keys()], signal))
        this.#add(at, { file, line, reason: refused.get(row)!, original });
    }
  }

  /**
   * Adds the rows of a request that the service refused for good. Reads the original rows again, since the
   * request has only items. Resolves when the rows are on disk.
   * @param of the chunk that contains the rows, if more of its rows may follow: then its rows are read only once
   */
  async refused(
    chunk: Chunk,
    reason: string,
    emit: (event: ImportEvent) => void,
    { signal, of = chunk }: { signal: AbortSignal; of?: Chunk | undefined },
  ): Promise<void> {
    const known = this.#kept.get(of) ?? new Map<number, Promise<OriginalRow[]>>();
    this.#kept.set(of, known);
    for (const [part, { input }] of chunk.parts.entries()) {
      const all = of.parts.flatMap((each, at) => (each.input === input ? [...rowsIn(of, at)] : []));
      const kept = known.get(input) ?? this.#originals(input, all, signal);
      known.set(input, kept);
      const { opened, file } = this.#inputs[input]!;
      const own = new Set(rowsIn(chunk, part));
      for (const { row, line, original } of await kept) {
        if (!own.has(row)) continue;
        this.#add(input, { file: opened.path, line, reason, original });
        emit({ type: 'rejected', file: opened.path, line, reason });
      }
      file.flush();
      await this.#record(input, null);
    }
  }

  async #originals(input: number, rows: readonly number[], signal: AbortSignal): Promise<OriginalRow[]> {
    const { opened, scan } = this.#scanned[input]!;
    const found: OriginalRow[] = [];
    for await (const row of readRows(opened, rows, { planned: scan, signal })) found.push(row);
    return found;
  }

  /** Writes all rows so far to the files. @returns the rejects file of each input, or null */
  flush(): (string | null)[] {
    return this.#inputs.map(({ file }) => file.flush());
  }

  /**
   * Records the files in the state, so that they can be imported and replaced.
   * @param unsent what the run does not send @throws StateError
   */
  async record(unsent: Unsent | null): Promise<void> {
    for (const input of this.#inputs.keys()) await this.#record(input, unsent);
  }

  async #record(input: number, unsent: Unsent | null): Promise<void> {
    const collected = this.#inputs[input]!;
    const { opened, file, unedited, recorded } = collected;
    const { written } = file;
    if (!written || written.mark.sha256 === recorded) return;
    collected.recorded = written.mark.sha256;
    const { digest, schema } = this.#scanned[input]!.scan;
    const origin = {
      ...{ run: this.#tag, input, owner: this.where.run(), digest, unsent },
      reading: readingOf(opened, schema.types, this.#key),
      unedited: unedited.hashes(),
    };
    await this.where.state.rejects.put({ ...origin, ...written });
    await writeOrigin(written.location, { ...origin, key: this.#key });
  }

  /** Records rows that the plan rejected for the history of profiles. @throws StateError */
  async remember(scope: Scope): Promise<void> {
    const { state, run } = this.where;
    for (const kind of KINDS) {
      const mine = [...this.#inputs.entries()].filter(
        ([, one]) => one.opened.kind === kind && one.ids.length > 0,
      );
      if (mine.length === 0) continue;
      const ids = idHashes(
        state.secret,
        mine.flatMap(([, one]) => one.ids),
      );
      const lines = mine.map(([input, one]) => ({ input, lines: one.lines }));
      await state.history.putRejected(run(), scope, kind, { ids, lines });
    }
  }

  close(): void {
    for (const { file } of this.#inputs) file.close();
  }
}

const REFUSED = 'refused by the service';
