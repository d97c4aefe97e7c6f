/**
 * Reads Excel workbooks. The rows of a sheet become CSV records, so that types are decided per column, as in CSV. The
 * libraries are loaded with the first workbook.
 */
import type { DialectOptions } from '../../dialect-options.js';
import { InputError } from '../../errors.js';
import { plainDialect } from '../csv/dialect.js';
import { csvReader } from '../csv/reader.js';
import type { BinaryReader } from '../format.js';
import { refuseChanged } from '../text/source.js';
import type { InputFile, InputOptions, OpenedInput } from '../types.js';
import { withPoints } from './decimal-signs.js';
import { isWorkbook } from './recognize.js';
import { scanSheet, XlsxTotals } from './totals.js';

/** The dialect in which records are written here. A requested dialect applies to other inputs only. */
const DELIMITER = ',';
const PLAIN: DialectOptions = {
  delimiter: DELIMITER,
  quote: undefined,
  escape: undefined,
  comment: undefined,
  lenientQuotes: undefined,
};
const asCsv = (input: OpenedInput): OpenedInput => ({
  ...input,
  delimiter: DELIMITER,
  dialect: plainDialect(DELIMITER),
});

/** Rows to examine, including the header. */
const FIRST_ROWS = 200;

export const xlsxReader: BinaryReader = {
  extensions: { xlsx: 'xlsx', xlsm: 'xlsx' },
  recognize: isWorkbook,
  async open(file, options) {
    const { sheet, head, text } = await headOf(file, options.sheet, options.skipLines);
    const asked: InputOptions = { ...options, ...PLAIN, sheets: sheet.others };
    const opened = await csvReader.open(file, asked, head, text);
    return { ...opened, delimiter: null, sheet };
  },
  async columns(file) {
    const { head, text } = await headOf(file, undefined);
    return csvReader.columns(file, head, text);
  },
  async *records(input, signal) {
    const { sheetRecords } = await import('./records.js');
    yield* sheetRecords(input, signal);
    await refuseChanged(input);
  },
  scan: (input, options) => scanSheet(asCsv(input), options),
  totals: (input) => new XlsxTotals(input),
  build: (input, schema, hashes) => csvReader.build(asCsv(input), schema, hashes),
  original: (batch, input) => csvReader.original(batch, asCsv(input)),
  stored: (batch, input) => withPoints(csvReader.original(batch, asCsv(input)), batch, input),
  item: (input, schema, original) => csvReader.item(asCsv(input), schema, original),
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
  const beginning = { text, whole };
  const head = { ...beginning, stamp: file.stamp, compression: null, encoding: 'utf-8' };
  return {
    sheet,
    head: { ...head, longer: async () => beginning },
    text: async function* () {
      yield text;
    },
  };
}
