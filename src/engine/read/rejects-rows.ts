/** Rejects files that are imported: what their columns say, and how rows that nobody edited are known again. */
import { firstWhere } from '../bisect.js';
import { Hashes } from './hashes.js';

/** Columns of this program's own in rejects files begin so. */
export const OWN_PREFIX = '_profiles_';
const LINE = `${OWN_PREFIX}line`;
export const ERROR = `${OWN_PREFIX}error`;
export const RUN = `${OWN_PREFIX}run`;
export const EXTRA = `${OWN_PREFIX}extra`;
/** What a rejects file puts after the columns of its input. */
export const OWN_COLUMNS = [LINE, ERROR, RUN, EXTRA] as const;

/** What the beginning of a rejects file tells. */
export interface RejectsHead {
  /** As its first rows say; null where they say nothing. */
  run: string | null;
  /** CSV: what separates its cells, as its own columns show. Null in JSON. */
  delimiter: string | null;
  /** CSV: columns of the input. JSON: empty. */
  columns: string[];
}

/** What the rows of a rejects file are held against. Plain data. */
export interface Again {
  /** Runs that its rows may come from: files of other runs were read in other ways. */
  runs: string[];
  /** Key of the hashes. */
  key: string;
  /** Hashes of rows that were rejected for their shape, which the file does not show; in ascending order. */
  unedited: BigUint64Array;
  /** Columns that a rule of this import names. Those of the run's own rules need not be in the file. */
  named: string[];
}

/** Positions of cells that are the input's own: all but those of a rejects file. */
export const keptColumns = (columns: readonly string[]): number[] =>
  columns.flatMap((column, index) => (column.startsWith(OWN_PREFIX) ? [] : [index]));

/** Hashes of rows as a rejects file has them: the input's cells, and the surplus. */
export class RowHashes {
  readonly #hashes: Hashes;

  constructor(key: string) {
    this.#hashes = new Hashes(Buffer.from(key, 'hex'), 'row');
  }

  add(cells: readonly string[], extra: string): void {
    this.#hashes.add(JSON.stringify([cells, extra]));
  }

  take(): BigUint64Array<ArrayBuffer> {
    return this.#hashes.take();
  }
}

/** What is said of a row of too few cells, or of too many. */
const COUNTS = /^has (\d+) cells?, the header has (\d+)$/;
/** Whether a row was rejected for having too few cells. */
export const isShortRow = (reason: string): boolean => {
  const [, cells, header] = COUNTS.exec(reason) ?? [];
  return Number(cells) < Number(header);
};

/** Why a row of a rejects file is rejected, before anything else is looked at; null where nothing is wrong with it. */
export function refusalAgain({ runs, key, unedited }: Again, columns: readonly string[], pads: boolean) {
  const kept = keptColumns(columns);
  const [error, run, extra] = [ERROR, RUN, EXTRA].map((name) => columns.indexOf(name)) as [
    number,
    number,
    number,
  ];
  const hashes = new RowHashes(key);
  return (row: readonly string[]): string | null => {
    if (row.length !== columns.length) return null;
    const other = otherRun(row[run], runs);
    if (other !== null) return other;
    // Whoever empties the cell says that the row is fine as it is.
    const reason = row[error] ?? '';
    if (reason === '' || unedited.length === 0) return null;
    // Whoever asks for short rows to be filled up takes them as they are here.
    if (pads && isShortRow(reason)) return null;
    hashes.add(
      kept.map((index) => row[index]!),
      row[extra] ?? '',
    );
    return includes(unedited, hashes.take()[0]!) ? reason : null;
  };
}

/** A row that was copied here from another rejects file. */
export function otherRun(run: unknown, runs: readonly string[]): string | null {
  if (typeof run !== 'string' || run === '' || runs.includes(run)) return null;
  return `${RUN} is ${run.slice(0, 40)}, which is not the run of the first row; import its rows from a separate file`;
}

function includes(sorted: BigUint64Array, hash: bigint): boolean {
  return sorted[firstWhere(sorted.length, (at) => sorted[at]! >= hash)] === hash;
}
