/**
 * Reads Excel workbooks. The rows of a sheet become records as those of a CSV, so that types are decided per column. The
 * libraries are loaded with the first workbook.
 */

import { InputError } from '../../errors.js';
import type { DialectOptions } from '../../options/dialect-options.js';
import { csvFormat } from '../csv/reader.js';
import type { CsvWriter } from '../csv/writer.js';
import type { InputFormat } from '../format.js';
import type { Head } from '../text/head.js';
import { openFile, refuseChanged, type SourceFile } from '../text/source.js';
import type { InputFile, InputOptions } from '../types.js';
import { withPoints } from './decimal-signs.js';
import { SheetCounter, XlsxTotals } from './totals.js';

/** The dialect of the head. A requested dialect applies to other inputs only. */
const PLAIN: DialectOptions = {
  delimiter: ',',
  quote: undefined,
  escape: undefined,
  comment: undefined,
  lenientQuotes: undefined,
};

/** Rows to examine, including the header. */
const FIRST_ROWS = 200;

const { writer, originals } = csvFormat;

export const xlsxFormat: InputFormat<CsvWriter> = {
  ...{ writer, originals },
  extensions: { xlsx: 'xlsx', xlsm: 'xlsx' },
  sniff,
  async open(file, options) {
    const { sheet, head } = await headOf(file, options.sheet, options.skipLines);
    const asked: InputOptions = { ...options, ...PLAIN, sheets: sheet.others };
    return { ...(await csvFormat.open(file, asked, head)), delimiter: null, sheet };
  },
  columns: async (file) => csvFormat.columns(file, (await headOf(file, undefined)).head),
  async *rows(input, { bytes, signal }) {
    for await (const _ of bytes);
    const { sheetRecords } = await import('./records.js');
    yield* sheetRecords(input, signal);
    await refuseChanged(input);
  },
  counter: (input, rows) => new SheetCounter(input, rows),
  totals: (input) => new XlsxTotals(input),
  stored(input) {
    const asWritten = originals(input);
    return (batch) => withPoints(asWritten(batch), batch, input);
  },
  placeOf: () => 'row',
};

/** The beginning of the sheet, as CSV. @throws InputError for a sheet without rows */
async function headOf(file: InputFile, asked: string | undefined, skipLines = 0) {
  const { csvOf, firstRows } = await import('./records.js');
  const { sheet, rows, whole } = await firstRows(file, asked, skipLines + FIRST_ROWS);
  if (rows.length === 0) {
    throw new InputError(`the sheet "${sheet.name}" is empty`, {
      file: file.path,
      hint: sheet.others.length > 0 ? 'name another sheet' : 'save the workbook again',
      problem: { code: 'sheet_empty', others: sheet.others },
    });
  }
  const text = Buffer.from(csvOf(file, rows, skipLines));
  const form = { stamp: file.stamp, compression: null, encoding: 'utf-8' };
  const again = async function* (): AsyncGenerator<Buffer> {
    yield text;
  };
  const head: Head = { ...form, text, whole, longer: async () => ({ text, whole }), again };
  return { sheet, head };
}

const ZIP = '504b0304';
/** Signature of compound files: workbooks before 2007, and later ones with a password. */
const COMPOUND = 'd0cf11e0a1b11ae1';

/** @throws InputError for a workbook of another kind */
async function sniff(start: Buffer, file: SourceFile): Promise<boolean> {
  const hex = start.toString('hex');
  if (hex === COMPOUND) throw await compound(file);
  if (!hex.startsWith(ZIP)) return false;
  const isNamed = /\.xls[xm]$/i.test(file.path);
  const { Parts } = await import('./parts.js');
  try {
    const parts = await Parts.open(file);
    parts.close();
    return isNamed || parts.has('xl/workbook.xml') || parts.has('xl/workbook.bin');
  } catch (error) {
    if (isNamed) throw error;
    return false; // another kind of archive, which is handled elsewhere
  }
}

/** The names that matter are in this many bytes of a compound file's directory. */
const DIRECTORY_BYTES = 4096;

async function compound(file: SourceFile): Promise<InputError> {
  const { handle } = await openFile(file);
  try {
    const header = Buffer.alloc(512);
    await handle.read(header, 0, header.length, 0);
    const sector = 2 ** Math.min(header.readUInt16LE(30), 16);
    const directory = Buffer.alloc(DIRECTORY_BYTES);
    await handle.read(directory, 0, directory.length, (header.readUInt32LE(48) + 1) * sector);
    const isEncrypted = directory.includes(Buffer.from('EncryptedPackage', 'utf16le'));
    const [kind, hint] = isEncrypted
      ? ['a workbook with a password', 'remove the password, and save it as .xlsx or CSV UTF-8']
      : ['a workbook of Excel 97-2003 (.xls), or another old Office file', 'save as .xlsx or CSV UTF-8'];
    return new InputError(`is ${kind}`, { file: file.path, hint });
  } finally {
    await handle.close();
  }
}
