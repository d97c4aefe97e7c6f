/**
 * What a rejects file and the file beside it look like (contract §3 "Rejects"). The rejects file has the rejected rows with
 * their original cells and the reason, to be fixed and imported. Cells are not escaped against spreadsheet formulas: an
 * import would read the escapes as part of the values. The file at its path plus `.json` says how its run read the rows,
 * for machines whose state does not know the run. It has no cell values; values of `set` are keyed digests.
 */
import { createHash, createHmac } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, relative } from 'node:path';
import { InputError, StateError } from '../errors.js';
import { bytesOf, hashesOf } from '../fingerprints/tables.js';
import type { Format, Kind, RejectedRow } from '../model.js';
import type { MappingRules } from '../options/mapping-rules.js';
import {
  cellType,
  isOrigin,
  type OpenedInput,
  ORIGIN_MEMBER,
  OWN_COLUMNS,
  OWN_PREFIX,
  quotedCell,
  rejectedCells,
} from '../read/index.js';
import type { RejectsRecord } from '../state/rejects.js';
import { fileTrouble } from '../util/file-trouble.js';
import { replaceFile } from '../util/replace-file.js';
import { obstacle } from '../util/written-file.js';

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

/** Whether a rejects file may get this name by default, so that no other file may have it. */
export const isRejectsName = (path: string): boolean => /\.rejects(?:-\d+)?\.(?:csv|ndjson)$/i.test(path);

/** Names the rejects files of inputs as they are seen from a folder: relative in it, otherwise absolute. */
export const rejectsFrom = <T extends { rejects_file: string | null }>(
  cwd: string,
  inputs: readonly T[],
): T[] =>
  inputs.map((input) => {
    const from = input.rejects_file === null ? '' : relative(cwd, input.rejects_file);
    return from === '' || /^\.\.|^([a-z]:)?[\\/]/i.test(from) ? input : { ...input, rejects_file: from };
  });

/** How one input of a run was read: all that its rejects file needs. Has no cell values. */
export interface Reading {
  /** As the user wrote it. */
  path: string;
  /** Of a CSV, without those that an earlier rejects file added. */
  columns: readonly string[];
  kind: Kind;
  id: string;
  companyId: string | null;
  /** With the types of all columns, and a keyed digest in place of each value of `set`. */
  rules: MappingRules;
  maxCellBytes: number;
  excelText?: boolean | undefined;
}

/**
 * @param types of a CSV's columns, as the plan decided them. @param key of the digests
 */
export function readingOf(
  input: OpenedInput,
  types: readonly MappingRules['types'][number][1][],
  key: string,
): Reading {
  const { path, kind, idColumn: id, companyIdColumn: companyId, rules, targets, csv, maxCellBytes } = input;
  const decided = targets.flatMap(({ role, column }, index): MappingRules['types'][number][] =>
    role === 'metadata' && types[index] !== undefined ? [[column, types[index]]] : [],
  );
  // A type that the user chose takes precedence over the one that the plan decided.
  const pinned = rules.types.filter(([, type]) => type !== 'auto');
  const set = rules.set.map(([name, value]) => [name, digestOf(name, value, key)] as const);
  return {
    ...{ path, kind, id, companyId, maxCellBytes, excelText: csv?.excelText },
    columns: targets.map(({ column }) => column).filter((column) => !column.startsWith(OWN_PREFIX)),
    rules: { ...rules, set, types: [...new Map([...decided, ...pinned])] },
  };
}

export const digestOf = (name: string, value: string, key: string): string =>
  createHmac('sha256', key)
    .update(JSON.stringify([name, value]))
    .digest('hex');

/** The key for hashes of rejected rows, derived from the secret of the state. Hexadecimal. */
export const rowKey = (secret: Buffer): string =>
  createHash('sha256').update('rejected rows:').update(secret).digest('hex');

/** What a run had to send, as the records of its rejects files keep it. */
export interface Unsent {
  /** Number of rows to send. */
  rows: number;
  /** `valid` and `filtered`: numbers of rows. */
  inputs: { path: string; digest: string; valid: number; filtered: number }[];
  /** How it read them: `ImportOptions` without private values. */
  options: unknown;
  /** The folder that its paths begin in. */
  cwd: string;
}

/** The version of the format. */
const VERSION = 1;

/** A record without what holds on one machine only. */
type Origin = Omit<RejectsRecord, 'location' | 'mark'> & {
  /** The key of its hashes and digests. Hexadecimal. */
  key: string;
};

/** The file beside a rejects file. */
const originPath = (rejects: string): string => `${rejects}.json`;

/** Whether a file that no import has written stands where the file beside this rejects file would. */
export const isOriginTaken = (rejects: string): boolean =>
  existsSync(originPath(rejects)) &&
  obstacle(originPath(rejects), { name: 'of an import', isOne: isOrigin }) !== null;

/** Shows whether the file is as it was written. */
const checksum = (content: object): string =>
  createHash('sha256').update(JSON.stringify(content)).digest('hex');

/** @param rejects absolute path of the rejects file. @throws StateError */
export async function writeOrigin(rejects: string, { unedited, unsent, ...origin }: Origin): Promise<void> {
  if (isOriginTaken(rejects)) return;
  const hashes = Buffer.from(bytesOf(unedited)).toString('base64');
  // How its options read the other rows stays in the state.
  const { rows, inputs } = (unsent ?? {}) as Partial<Unsent>;
  const left = unsent ? { rows, inputs } : null;
  const content = { [ORIGIN_MEMBER]: VERSION, ...origin, unsent: left, unedited: hashes };
  const path = originPath(rejects);
  const text = `${JSON.stringify({ ...content, checksum: checksum(content) }, null, 2)}\n`;
  await replaceFile(path, text).catch((error: NodeJS.ErrnoException) => {
    throw new StateError(`${path}: cannot be written: ${fileTrouble(error.code)}`, {
      hint: 'make room on the disk',
      cause: error,
    });
  });
}

/**
 * Reads the file beside a rejects file. Null if there is none, or if it belongs to another run.
 * @param rejects absolute path of the rejects file
 * @throws InputError if it is damaged, or edited
 */
export async function readOrigin(
  rejects: string,
  run: string,
): Promise<(Origin & { written_at: '' }) | null> {
  const bytes = await readFile(originPath(rejects)).catch(() => null);
  if (bytes === null || !isOrigin(bytes)) return null;
  try {
    const { checksum: written, ...content } = JSON.parse(bytes.toString());
    if (content.run !== run && content.owner !== run) return null;
    if (written !== checksum(content)) throw new Error('another checksum');
    const { originSchema } = await import('./origin-schema.js'); // zod loads slowly
    const { [ORIGIN_MEMBER]: _, unedited, ...origin } = originSchema.parse(content);
    for (const [column, type] of origin.reading.rules.types) cellType(type, column);
    return { ...origin, written_at: '', unedited: hashesOf(Buffer.from(unedited, 'base64')) };
  } catch (error) {
    throw new InputError('is not as the import wrote it, so the rejects file beside it cannot be read', {
      file: originPath(basename(rejects)),
      hint: 'restore the file, or remove it and say what the columns are',
      cause: error,
    });
  }
}
