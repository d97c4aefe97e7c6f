/**
 * Writes rejects files (contract §3 "Rejects"): the rejected rows with their original cells and the reason,
 * in a form that can be fixed and imported. Cells are not escaped against spreadsheet formulas: an import
 * would read the escapes as part of the values.
 */
import { realpathSync } from 'node:fs';
import { basename, dirname, extname } from 'node:path';
import type { StateError } from '../errors.js';
import type { Format, RejectedRow } from '../model.js';
import { OWN_COLUMNS, OWN_PREFIX, quotedCell, rejectedCells } from '../read/index.js';
import type { FileMark } from './file-mark.js';
import { RejectsFile, type Replaceable, type WrittenFile } from './rejects-file.js';

/** The properties of an input that decide the name and form of its rejects file. */
export interface RejectsInput {
  path: string;
  format: Format;
  /** For CSV and TSV; otherwise null. */
  delimiter: string | null;
  /** The header of a CSV, TSV or workbook. */
  columns: readonly string[];
}

export interface Rejects {
  /** @throws InputError if the file cannot be created; StateError if it cannot be written to, as on a full disk */
  add(row: RejectedRow): void;
  /**
   * Resolves when all added rows are on disk, and the file has its final name.
   * @returns the path for reports, or null if there is no file
   * @throws StateError only once: later calls return the path. InputError if the file cannot get its name
   */
  flush(): Promise<string | null>;
  /** The file as of the last `flush`, and the run in its rows; null if there is no file. */
  written(): (WrittenFile & { run: string }) | null;
  /** Closes the file, and removes it if it was never flushed. May be called again. @returns as `flush` does */
  close(): Promise<string | null>;
}

/** The prefix of the columns that this program adds. Such columns of an earlier rejects file are replaced. */
const PREFIX = OWN_PREFIX;
const BUFFERED = 64 * 1024;

export interface RejectsPlace {
  cwd: string;
  /** Path of the rejects file. Default: the input's name, in the working directory. */
  path: string | null;
  /** The run that rejects the rows. */
  run: string;
  /**
   * The file of an earlier session of the same run, and its mark. Rows are added to it, even if it was
   * edited; without the file, or if its header differs, a new one is created.
   */
  continues?: { path: string; mark: FileMark | null } | null;
  /** Finds files that may be replaced. Default: none. */
  mayReplace?: Replaceable;
}

/**
 * The rejected rows of one input. The file is created with the first row, mode 0600. An existing file is
 * replaced only if `mayReplace` allows it. If a write fails, the file is truncated to the rows of the last
 * `flush`: so it ends with a complete row, and has no rows that are rejected again when the import continues.
 */
export function createRejects(input: RejectsInput, where: RejectsPlace): Rejects {
  const { path, cwd, run, continues, mayReplace = () => null } = where;
  const csv = extensionOf(input) === 'csv';
  // Other delimiters become commas: an import recognizes rejects files only with these delimiters.
  const found = /^[\x01-\x7f]$/.test(input.delimiter ?? '') && /[^\w"\r\n]/.test(input.delimiter ?? '');
  const form = csv ? csvForm(input.columns, found ? input.delimiter! : ',', run) : ndjsonForm(run);
  let file: RejectsFile | undefined;
  let pending: string[] = [];
  let size = 0;
  let closed = false;
  let failure: StateError | undefined;

  const attempt = (work: (file: RejectsFile) => void): void => {
    try {
      if (file) work(file);
    } catch (error) {
      failure = error as StateError;
      pending = [];
      if (file?.path === null) {
        file.close();
        file = undefined;
      }
      throw error;
    }
  };
  const write = (): void => {
    if (pending.length === 0) return;
    attempt((to) => to.write(pending.join('')));
    pending = [];
    size = 0;
  };
  const put = (text: string): void => {
    pending.push(text);
    size += text.length;
    if (size > BUFFERED) write();
  };
  return {
    add: (row) => {
      if (closed) return; // the number of its file handle may belong to another file by now
      if (failure) throw failure;
      file ??= continues ? RejectsFile.continue(continues.path, cwd, form.head, continues.mark) : undefined;
      if (!file) {
        file = RejectsFile.create(path ?? nameOf(input.path, extensionOf(input)), cwd, run);
        put(form.head);
      }
      put(form.line(row));
    },
    flush: async () => {
      if (!failure && !closed) {
        write();
        attempt((to) => to.keep(mayReplace));
      }
      return file?.path ?? null;
    },
    written: () => (file && file.path !== null && !closed ? { ...file.written(), run } : null),
    close: async () => {
      if (file && !closed) {
        try {
          if (!failure && file.path !== null) write();
        } catch {} // nothing is recorded of these rows
        file.close();
      }
      closed = true;
      return file?.path ?? null;
    },
  };
}

interface Form {
  head: string;
  line(row: RejectedRow): string;
}

function csvForm(columns: readonly string[], delimiter: string, run: string): Form {
  const cellsOf = rejectedCells(columns, delimiter);
  const line = (cells: readonly string[]): string =>
    `${cells.map((cell) => quotedCell(cell, delimiter)).join(delimiter)}\r\n`;
  return {
    // The BOM tells spreadsheets that the file is UTF-8.
    head: `\uFEFF${line([...cellsOf(columns).kept, ...OWN_COLUMNS])}`,
    line: ({ original, line: number, reason }) => {
      const { kept, extra } = cellsOf('cells' in original ? original.cells : []);
      return line([...kept, String(number), reason, run, extra]);
    },
  };
}

/** The fields that an earlier rejects file added to the end of an item. */
const EARLIER =
  /,?"_profiles_line":\d+,"_profiles_error":"(?:[^"\\]|\\.)*"(?:,"_profiles_run":"(?:[^"\\]|\\.)*")?\s*\}$/;

/** Writes items with their JSON text from the input: parsing and serializing it could change long numbers. */
const ndjsonForm = (run: string): Form => ({
  head: '',
  line: ({ original, line, reason }) => {
    const text = 'item' in original ? String(original.item) : JSON.stringify(original.cells);
    const item = text
      .trim()
      .replace(/\s*[\r\n]+\s*/g, ' ')
      .replace(EARLIER, '}');
    const members = item.startsWith('{') ? item.slice(1, -1).trimEnd() : `"${PREFIX}value":${item}`;
    const [error, of] = [JSON.stringify(reason), JSON.stringify(run)];
    const own = `"${PREFIX}line":${line},"${PREFIX}error":${error},"${PREFIX}run":${of}`;
    return `{${members}${members === '' ? '' : ','}${own}}\n`;
  },
});

const extensionOf = ({ format }: Pick<RejectsInput, 'format'>): 'csv' | 'ndjson' =>
  format === 'csv' || format === 'tsv' || format === 'xlsx' ? 'csv' : 'ndjson';

/** The part of a path before the member of an archive. */
const MEMBER_OF = /^.*\.zip[:#](?=.)/i;

/** `companies.csv.gz` gives `companies.rejects.csv`; so do `exports.zip:companies.csv` and `companies.rejects.csv`. */
function nameOf(path: string, extension: string): string {
  const stem =
    path === '-'
      ? 'stdin'
      : basename(path.replace(MEMBER_OF, '')).replace(
          /(?:\.(?:gz|zip|zst|csv|tsv|tab|txt|json|jsonl|ndjson|xlsx|xlsm|parquet|pq))+$/i,
          '',
        );
  return `${stem.replace(/\.rejects(?:-\d+)?$/, '') || 'input'}.rejects.${extension}`;
}

/**
 * Whether `createRejects` may choose this path by default, with or without a number at the end of the name.
 * @param path absolute
 */
export function isRejectsName(path: string, input: RejectsInput, cwd: string): boolean {
  const extension = extname(path);
  const stem = basename(path, extension).replace(/-\d+$/, '');
  return `${stem}${extension}` === nameOf(input.path, extensionOf(input)) && isSameFolder(dirname(path), cwd);
}

function isSameFolder(a: string, b: string): boolean {
  try {
    return a === b || realpathSync(a) === realpathSync(b);
  } catch {
    return false;
  }
}
