/**
 * Collects the rejected rows of a session: writes a rejects file for each input, and keeps totals for the summary. A
 * session that reads rows writes each file whole: what the plan rejects, what the service refused in earlier sessions, and
 * what it refuses now.
 */
import type { ImportEvent } from '../events.js';
import { KINDS, type RejectedRow, type Rejection } from '../model.js';
import type { Scanned } from '../plan/plan.js';
import {
  idHashes,
  idOfOriginal,
  type OpenedInput,
  type OriginalRow,
  readRows,
  ShapeRejections,
} from '../read/index.js';
import { type Chunk, rowsIn } from '../send/chunk.js';
import type { Scope, State } from '../state/state.js';
import { CauseTotals } from './causes.js';
import { readingOf, rowKey, writeOrigin } from './origin.js';
import { type FileMark, markOf, RejectsFile } from './rejects-file.js';
import { formOf, rejectsName } from './rejects-form.js';
import type { RunRows } from './rows.js';
import { keepFirst } from './summary.js';
import type { Unsent } from './unsent.js';

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
  /** The run that its rows name. */
  tag: string;
  /** Rows that are rejected only because of their shape. */
  shapes: ShapeRejections;
  /** Rows that the plan rejected, for the history. */
  remembered: { ids: string[]; lines: number[] };
  /** Earlier files that were written for the same content, by location, and those of this run. */
  replaceable: ReadonlyMap<string, FileMark>;
  own: readonly string[];
  recorded: string | null;
}

export class Rejecting {
  /** The first rejections, for the summary (`keepFirst`). */
  readonly first: Rejection[] = [];
  readonly causes = new CauseTotals();
  readonly #inputs: Collected[];
  readonly #key: string;
  #remembered = 0;
  #scanned: Scanned['inputs'] = [];
  /** Rows of requests that are searched for rows at fault, by input. */
  readonly #kept = new WeakMap<Chunk, Map<number, Promise<OriginalRow[]>>>();

  constructor(
    opened: readonly OpenedInput[],
    private readonly where: Where,
  ) {
    this.#key = rowKey(where.state.secret);
    const { cwd, path } = where;
    const tag = where.run();
    this.#inputs = opened.map((input) => {
      const mayReplace = (location: string) => isReplaceable(location, collected);
      const file = new RejectsFile(formOf(input, tag), {
        cwd,
        name: path ?? rejectsName(input),
        tag,
        mayReplace,
      });
      const shapes = new ShapeRejections(input, this.#key);
      const remembered = { ids: [], lines: [] };
      const collected: Collected = {
        ...{ opened: input, file, tag, shapes, remembered },
        ...{ replaceable: new Map(), own: [], recorded: null },
      };
      return collected;
    });
  }

  /** Adds a row that the plan rejected. */
  planned(input: number, row: RejectedRow): void {
    const { opened, shapes, remembered } = this.#inputs[input]!;
    shapes.add(row);
    this.causes.add(opened, row);
    this.#add(input, row);
    const id = this.#remembered < MOST_REMEMBERED ? idOfOriginal(row.original, opened) : '';
    if (id === '') return;
    this.#remembered++;
    remembered.ids.push(id);
    remembered.lines.push(row.line);
  }

  #add(input: number, { file, line, reason, original }: RejectedRow): void {
    keepFirst(this.first, { file, line, reason });
    if (!this.where.isRehearsal) this.#inputs[input]!.file.add({ line, reason, original });
  }

  /** Call this after the scan. Finds the files that may be replaced. */
  async scanned({ inputs }: Scanned): Promise<void> {
    const { state, run } = this.where;
    this.#scanned = inputs;
    const own = await state.rejects.ofRun(run());
    for (const [at, { scan }] of inputs.entries()) {
      const collected = this.#inputs[at]!;
      collected.replaceable = await state.rejects.marksOf(scan.digest);
      collected.own = own.flatMap(({ input, mark }) => (input === at && mark ? mark.sha256 : []));
    }
  }

  /** Adds the rows that the service refused in earlier sessions. */
  async restore(rows: RunRows, signal: AbortSignal): Promise<void> {
    for (const [at, planned] of this.#scanned.entries()) {
      if (!rows.hasRefused(at)) continue;
      const refused = new Map<number, string>();
      for await (const batch of rows.walk(at, planned))
        for (const { row, outcome, request, reason } of batch)
          if (outcome === 'rejected' && request !== null) refused.set(row, reason ?? REFUSED);
      const { opened, scan } = planned;
      const reading = { planned: scan.marks, signal };
      for await (const { row, line, original } of readRows(opened, [...refused.keys()], reading))
        this.#add(at, { file: opened.path, line, reason: refused.get(row)!, original });
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
    for (const [part, { input }] of chunk.parts.entries()) {
      const { opened, file } = this.#inputs[input]!;
      const kept = await this.#keptOf(of, input, signal);
      const own = new Set(rowsIn(chunk, part));
      for (const { row, line, original } of kept) {
        if (!own.has(row)) continue;
        this.#add(input, { file: opened.path, line, reason, original });
        emit({ type: 'rejected', file: opened.path, line, reason });
      }
      file.flush();
      await this.#record(input, null);
    }
  }

  /** The original rows of a chunk that come from one input. Cached until the chunk is garbage-collected. */
  #keptOf(chunk: Chunk, input: number, signal: AbortSignal): Promise<OriginalRow[]> {
    const known = this.#kept.get(chunk) ?? new Map<number, Promise<OriginalRow[]>>();
    this.#kept.set(chunk, known);
    const rows = chunk.parts.flatMap((part, at) => (part.input === input ? [...rowsIn(chunk, at)] : []));
    const { opened, scan } = this.#scanned[input]!;
    const kept = known.get(input) ?? all(readRows(opened, rows, { planned: scan.marks, signal }));
    known.set(input, kept);
    return kept;
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
    const { written } = collected.file;
    if (!written || written.mark.sha256 === collected.recorded) return;
    const isFirst = collected.recorded === null;
    collected.recorded = written.mark.sha256;
    const { opened, tag: run, shapes } = collected;
    const { state, run: owner } = this.where;
    const { digest, schema } = this.#scanned[input]!.scan;
    const reading = readingOf(opened, schema.types, this.#key);
    const origin = { run, input, owner: owner(), digest, reading, unedited: shapes.hashes(), unsent };
    await state.rejects.put({ ...origin, ...written });
    if (isFirst) await writeOrigin(written.location, { ...origin, key: this.#key });
  }

  /** Records rows that the plan rejected for the history of profiles. @throws StateError */
  async remember(scope: Scope): Promise<void> {
    const { state, run } = this.where;
    for (const kind of KINDS) {
      const mine = [...this.#inputs.entries()].filter(
        ([, { opened, remembered }]) => opened.kind === kind && remembered.ids.length > 0,
      );
      if (mine.length === 0) continue;
      const ids = mine.flatMap(([, { remembered }]) => remembered.ids);
      const lines = mine.map(([input, { remembered }]) => ({ input, lines: remembered.lines }));
      await state.history.putRejected(run(), scope, kind, { ids: idHashes(state.secret, ids), lines });
    }
  }

  close(): void {
    for (const { file } of this.#inputs) file.close();
  }
}

/** Whether a file is as it was written for the same content, or an unchanged copy of one of this run. */
function isReplaceable(location: string, { replaceable, own }: Collected): boolean {
  const known = replaceable.get(location);
  const found = known || own.length > 0 ? markOf(location) : null;
  if (found === null) return false;
  return own.includes(found.sha256) || (known?.inode === found.inode && known.sha256 === found.sha256);
}

const REFUSED = 'refused by the service';

async function all<T>(values: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const value of values) found.push(value);
  return found;
}
