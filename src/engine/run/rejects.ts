/**
 * Rejects files (contract §3 "Rejects"): the rows that were refused, with their cells as they stood and why,
 * in a form that can be fixed and imported. Not protected against spreadsheet formulas: it is meant to come back.
 */
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, resolve } from 'node:path';
import { InputError, StateError } from '../errors.js';
import type { Format, RejectedRow } from '../model.js';

/** What a rejects file needs to know of its input. */
export interface RejectsInput {
  path: string;
  format: Format;
  /** CSV and TSV. */
  delimiter: string | null;
  /** CSV and TSV: the header. */
  columns: readonly string[];
}

export interface Rejects {
  /** @throws InputError when the file cannot be made; StateError when it cannot be written on, as on a full disk */
  add(row: RejectedRow): void;
  /** What was added is in the file when this resolves. @returns as `close` does. @throws StateError, once */
  flush(): Promise<string | null>;
  /** @returns the file's path as it is reported, or null when there is none; may be called again */
  close(): Promise<string | null>;
}

/** Columns of this program's own; those of an earlier rejects file are replaced. */
const PREFIX = '_profiles_';
const BUFFERED = 64 * 1024;

export interface RejectsPlace {
  cwd: string;
  /** Of the rejects file; without it the name is the input's, in the working directory. */
  path: string | null;
  /** File of an earlier session of the same run: rows are added to it, where it still looks as it was made. */
  continues?: string | null;
}

/**
 * The rejects of one input. Its file is made with the first row, mode 0600; one that exists is left alone. Once it cannot
 * be written, it is cut back to the rows of its last `flush`, so that it ends with a whole row and holds none that is
 * rejected again when the import continues.
 */
export function createRejects(input: RejectsInput, where: RejectsPlace): Rejects {
  const csv = input.format === 'csv' || input.format === 'tsv';
  // An import recognizes its rejects files, whatever one character of ASCII separates their cells.
  const found = /^[\x01-\x7f]$/.test(input.delimiter ?? '') && /[^\w"\r\n]/.test(input.delimiter ?? '');
  const form = csv ? csvForm(input.columns, found ? input.delimiter! : ',') : NDJSON;
  let file: OpenFile | undefined;
  let pending: string[] = [];
  let size = 0;
  let closed = false;
  let failure: StateError | undefined;

  const write = (): void => {
    if (!file || pending.length === 0) return;
    attempt(file, ({ handle }) => writeFileSync(handle, pending.join('')));
    pending = [];
    size = 0;
  };
  /** What is recorded of its rows outlives a power cut, so they must too. */
  const keep = (): void => {
    if (!file) return;
    attempt(file, ({ handle }) => fsyncSync(handle));
    file.kept = fstatSync(file.handle).size;
  };
  const attempt = (to: OpenFile, work: (to: OpenFile) => void): void => {
    try {
      work(to);
    } catch (error) {
      failure = broken(to.path, error);
      pending = [];
      cutBack(to);
      if (to.kept === 0) file = undefined;
      throw failure;
    }
  };
  const put = (text: string): void => {
    pending.push(text);
    size += text.length;
    if (size > BUFFERED) write();
  };
  return {
    add: (row) => {
      if (closed) return; // its handle may be another file's by now
      if (failure) throw failure;
      file ??= where.continues ? reopen(where.continues, where.cwd, form.head) : undefined;
      if (!file) {
        file = open(where.path ?? nameOf(input.path, csv ? 'csv' : 'ndjson'), where.cwd);
        put(form.head);
      }
      put(form.line(row));
    },
    flush: async () => {
      if (!failure && !closed) {
        write();
        keep();
      }
      return file?.path ?? null;
    },
    close: async () => {
      if (file && !failure && !closed) {
        try {
          write();
        } catch {} // nothing is recorded of these rows
      }
      if (file && !closed) closeSync(file.handle);
      closed = true;
      return file?.path ?? null;
    },
  };
}

interface OpenFile {
  /** As it is reported. */
  path: string;
  location: string;
  handle: number;
  /** Bytes whose rows are recorded as rejected; 0 for a file of which nothing is. */
  kept: number;
}

/** Takes away what was written since the last `flush`; a file of which nothing is left goes. */
function cutBack({ location, handle, kept }: OpenFile): void {
  try {
    ftruncateSync(handle, kept);
    if (kept > 0) return;
    closeSync(handle);
    rmSync(location, { force: true });
  } catch {} // what could not be written is what is reported
}

interface Form {
  head: string;
  line(row: RejectedRow): string;
}

function csvForm(columns: readonly string[], delimiter: string): Form {
  const kept = columns.flatMap((column, index) => (column.startsWith(PREFIX) ? [] : [index]));
  const line = (cells: readonly string[]): string =>
    `${cells.map((cell) => quotedCell(cell, delimiter)).join(delimiter)}\r\n`;
  const own = ['line', 'error', 'extra'].map((name) => PREFIX + name);
  return {
    // The BOM tells spreadsheets that it is UTF-8.
    head: `\uFEFF${line([...kept.map((index) => columns[index]!), ...own])}`,
    line: ({ original, line: number, reason }) => {
      const cells = 'cells' in original ? original.cells : [];
      const extra = cells.slice(columns.length).map((cell) => quotedCell(cell, delimiter));
      return line([
        ...kept.map((index) => cells[index] ?? ''),
        String(number),
        reason,
        extra.join(delimiter),
      ]);
    },
  };
}

function quotedCell(cell: string, delimiter: string): string {
  const plain = !cell.includes('"') && !cell.includes(delimiter) && !/[\r\n]|^\s|\s$/.test(cell);
  return plain ? cell : `"${cell.replaceAll('"', '""')}"`;
}

/** What an earlier rejects file put at the end of an item. */
const EARLIER = /,?"_profiles_line":\d+,"_profiles_error":"(?:[^"\\]|\\.)*"\s*\}$/;

/** An item is the JSON text that stood in the input: read and written again, a number could lose digits. */
const NDJSON: Form = {
  head: '',
  line: ({ original, line, reason }) => {
    const text = 'item' in original ? String(original.item) : JSON.stringify(original.cells);
    const item = text
      .trim()
      .replace(/\s*[\r\n]+\s*/g, ' ')
      .replace(EARLIER, '}');
    const members = item.startsWith('{') ? item.slice(1, -1).trimEnd() : `"${PREFIX}value":${item}`;
    const own = `"${PREFIX}line":${line},"${PREFIX}error":${JSON.stringify(reason)}`;
    return `{${members}${members === '' ? '' : ','}${own}}\n`;
  },
};

/** What stands before a member of an archive. */
const MEMBER_OF = /^.*\.zip[:#](?=.)/i;

/** `companies.csv.gz` gives `companies.rejects.csv`; so do `exports.zip:companies.csv` and `companies.rejects.csv`. */
function nameOf(path: string, extension: string): string {
  const stem =
    path === '-'
      ? 'stdin'
      : basename(path.replace(MEMBER_OF, '')).replace(
          /(?:\.(?:gz|zip|zst|csv|tsv|tab|txt|json|jsonl|ndjson))+$/i,
          '',
        );
  return `${stem.replace(/\.rejects(?:-\d+)?$/, '') || 'input'}.rejects.${extension}`;
}

function open(name: string, cwd: string): OpenFile {
  for (let copy = 1; ; copy++) {
    const path = copy === 1 ? name : name.replace(/(\.[^.]*)?$/, (extension) => `-${copy}${extension}`);
    try {
      const location = resolve(cwd, path);
      return { path, location, handle: openSync(location, 'wx', 0o600), kept: 0 };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw unwritable(path, error);
    }
  }
}

/** Undefined for a file that is gone, or that somebody gave another header. */
function reopen(path: string, cwd: string, head: string): OpenFile | undefined {
  const begins = Buffer.alloc(Buffer.byteLength(head));
  const location = resolve(cwd, path);
  let handle: number | undefined;
  try {
    handle = openSync(location, constants.O_RDWR | constants.O_APPEND);
    readSync(handle, begins, 0, begins.length, 0);
    if (begins.toString() === head) return { path, location, handle, kept: fstatSync(handle).size };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw unwritable(path, error);
  }
  if (handle !== undefined) closeSync(handle);
  return undefined;
}

function unwritable(path: string, error: unknown): InputError {
  const { code } = error as NodeJS.ErrnoException;
  return new InputError(`rejected rows cannot be written (${code ?? String(error)})`, {
    file: path,
    hint: 'name a rejects file that can be written',
    problem: { code: 'rejects_file' },
    cause: error,
  });
}

function broken(path: string, error: unknown): StateError {
  return new StateError(`${path}: rejected rows cannot be written: ${(error as Error).message}`, {
    hint: 'make room on the disk',
    cause: error,
  });
}
