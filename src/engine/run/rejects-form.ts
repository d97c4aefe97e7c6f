/**
 * The name and the form of a rejects file (contract §3 "Rejects"): the rejected rows with their original cells and the
 * reason, to be fixed and imported. Cells are not escaped against spreadsheet formulas: an import would read the escapes
 * as part of the values.
 */
import { realpathSync } from 'node:fs';
import { basename, dirname, extname } from 'node:path';
import type { Format, RejectedRow } from '../model.js';
import { OWN_COLUMNS, OWN_PREFIX, quotedCell, rejectedCells } from '../read/index.js';

/** The properties of an input that decide the name and form of its rejects file. */
export interface RejectsInput {
  path: string;
  format: Format;
  /** For CSV and TSV; otherwise null. */
  delimiter: string | null;
  /** The header of a CSV, TSV or workbook. */
  columns: readonly string[];
}

export interface RejectsForm {
  head: string;
  line(row: Pick<RejectedRow, 'original' | 'line' | 'reason'>): string;
}

/** @param run the run that rejects the rows */
export function formOf({ columns, delimiter, ...input }: RejectsInput, run: string): RejectsForm {
  if (extensionOf(input) === 'ndjson') return ndjsonForm(run);
  // Other delimiters become commas: an import recognizes rejects files only with these.
  const isKept = delimiter !== null && /^[\x01-\x7f]$/.test(delimiter) && /[^\w"\r\n]/.test(delimiter);
  return csvForm(columns, isKept ? delimiter : ',', run);
}

function csvForm(columns: readonly string[], delimiter: string, run: string): RejectsForm {
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
const ndjsonForm = (run: string): RejectsForm => ({
  head: '',
  line: ({ original, line, reason }) => {
    const text = 'item' in original ? String(original.item) : JSON.stringify(original.cells);
    const item = text
      .trim()
      .replace(/\s*[\r\n]+\s*/g, ' ')
      .replace(EARLIER, '}');
    const members = item.startsWith('{') ? item.slice(1, -1).trimEnd() : `"${OWN_PREFIX}value":${item}`;
    const [error, of] = [JSON.stringify(reason), JSON.stringify(run)];
    const own = `"${OWN_PREFIX}line":${line},"${OWN_PREFIX}error":${error},"${OWN_PREFIX}run":${of}`;
    return `{${members}${members === '' ? '' : ','}${own}}\n`;
  },
});

const extensionOf = ({ format }: Pick<RejectsInput, 'format'>): 'csv' | 'ndjson' =>
  format === 'csv' || format === 'tsv' || format === 'xlsx' ? 'csv' : 'ndjson';

/** The part of a path before the member of an archive. */
const MEMBER_OF = /^.*\.zip[:#](?=.)/i;
const EXTENSIONS = /(?:\.(?:gz|zip|zst|csv|tsv|tab|txt|json|jsonl|ndjson|xlsx|xlsm|parquet|pq))+$/i;

/** `companies.csv.gz` gives `companies.rejects.csv`; so do `exports.zip:companies.csv` and `companies.rejects.csv`. */
export function rejectsName({ path, format }: Pick<RejectsInput, 'path' | 'format'>): string {
  const stem = path === '-' ? 'stdin' : basename(path.replace(MEMBER_OF, '')).replace(EXTENSIONS, '');
  return `${stem.replace(/\.rejects(?:-\d+)?$/, '') || 'input'}.rejects.${extensionOf({ format })}`;
}

/** Whether rejected rows of an input may be written to this absolute path by default, with or without a number. */
export function isRejectsName(path: string, input: RejectsInput, cwd: string): boolean {
  const extension = extname(path);
  const stem = basename(path, extension).replace(/-\d+$/, '');
  return `${stem}${extension}` === rejectsName(input) && isSameFolder(dirname(path), cwd);
}

function isSameFolder(a: string, b: string): boolean {
  try {
    return a === b || realpathSync(a) === realpathSync(b);
  } catch {
    return false;
  }
}
