/**
 * Reads Excel workbooks. The rows of a sheet become CSV records, so that types are decided per column, as in CSV. The
 * libraries are loaded with the first workbook.
 */
import type { DialectOptions } from '../../dialect-options.js';
import { InputError } from '../../errors.js';
import { csvFormat } from '../csv/reader.js';
import type { CsvWriter } from '../csv/writer.js';
import type { InputFormat } from '../format.js';
import type { Head } from '../text/head.js';
import { refuseChanged } from '../text/source.js';
import type { InputFile, InputOptions } from '../types.js';
import { withPoints } from './decimal-signs.js';
import { isWorkbook } from './recognize.js';
import { SheetCounter, XlsxTotals } from './totals.js';

/** The dialect in which records are written here. A requested dialect applies to other inputs only. */
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
  sniff: isWorkbook,
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
