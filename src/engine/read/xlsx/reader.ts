/**
 * Excel workbooks: the rows of a sheet become records of CSV, so that columns have one type as they have there. What
 * reads the workbook is loaded with the first one.
 */
import { InputError } from '../../errors.js';
import { csvReader } from '../csv/reader.js';
import type { BinaryReader } from '../format.js';
import { refuseChanged } from '../text/source.js';
import type { InputFile, InputOptions, OpenedInput } from '../types.js';
import { withPoints } from './decimal-signs.js';
import { isWorkbook } from './recognize.js';
import { scanSheet, XlsxTotals } from './totals.js';

/** As records are written here. */
const DELIMITER = ',';
const asCsv = (input: OpenedInput): OpenedInput => ({ ...input, delimiter: DELIMITER });

/** Rows that are looked at with the header. */
const FIRST_ROWS = 200;

export const xlsxReader: BinaryReader = {
  extensions: { xlsx: 'xlsx', xlsm: 'xlsx' },
  recognize: isWorkbook,
  async open(file, options) {
    const { sheet, head, text } = await headOf(file, options.sheet);
    const asked: InputOptions = { ...options, delimiter: DELIMITER };
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

/** The beginning of the sheet as that of a CSV. @throws InputError for a sheet without rows */
async function headOf(file: InputFile, asked: string | undefined) {
  const { csvOf, firstRows } = await import('./records.js');
  const { sheet, rows, whole } = await firstRows(file, asked, FIRST_ROWS);
  if (rows.length === 0) {
    throw new InputError(`the sheet "${sheet.name}" is empty`, {
      file: file.path,
      hint: sheet.others.length > 0 ? 'name another sheet' : 'save the workbook again',
      problem: { code: 'sheet_empty', others: sheet.others },
    });
  }
  const text = Buffer.from(csvOf(rows));
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
