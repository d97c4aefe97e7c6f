/**
 * Reads Excel workbooks. The rows of a sheet become records as those of a CSV, so that types are decided per column. The
 * libraries are loaded with the first workbook.
 */

import { InputError } from '../../errors.js';
import { csvFormat, openTable } from '../csv/reader.js';
import type { CsvWriter } from '../csv/writer.js';
import type { InputFormat } from '../format.js';
import { openFile, refuseChanged, type SourceFile } from '../text/source.js';
import { withPoints } from './sheet.js';
import { SheetCounter, XlsxTotals } from './totals.js';

const { writer, originals } = csvFormat;

export const xlsxFormat: InputFormat<CsvWriter> = {
  ...{ writer, originals },
  extensions: { xlsx: 'xlsx', xlsm: 'xlsx' },
  sniff,
  async open(file, options) {
    const { sheet, table } = await (await import('./rows.js')).sheetTable(file, options);
    const opened = await openTable(file, { ...options, sheets: sheet.others }, table);
    return { ...opened, delimiter: null, sheet };
  },
  async *rows(input, { bytes, signal }) {
    for await (const _ of bytes);
    yield* (await import('./rows.js')).sheetRecords(input, signal);
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

const ZIP = '504b0304';
/** Signature of compound files: workbooks before 2007, and later ones with a password. */
const COMPOUND = 'd0cf11e0a1b11ae1';

/** @throws InputError for a workbook of another kind */
async function sniff(start: Buffer, file: SourceFile): Promise<boolean> {
  const hex = start.toString('hex');
  if (hex === COMPOUND) throw await compound(file);
  if (!hex.startsWith(ZIP)) return false;
  const isNamed = /\.xls[xm]$/i.test(file.path);
  const { Workbook } = await import('./workbook.js');
  try {
    const workbook = await Workbook.open(file);
    workbook.close();
    return isNamed || workbook.has('xl/workbook.xml') || workbook.has('xl/workbook.bin');
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
