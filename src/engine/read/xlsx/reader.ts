/**
 * Reads Excel workbooks. The rows of a sheet become records as those of a CSV, so that types are decided per column. The
 * libraries are loaded with the first workbook.
 */
import { InputError } from '../../errors.js';
import { csvFormat, openTable } from '../csv/reader.js';
import type { CsvWriter } from '../csv/writer.js';
import { type InputFormat, originalsOf } from '../format.js';
import { KIND_BITS } from '../rows.js';
import type { SourceFile } from '../text/source.js';
import { refuseChanged } from '../text/unchanged.js';
import { decimalSigns, Is } from './sheet.js';
import { SheetCounter, XlsxTotals } from './totals.js';

const { writer } = csvFormat;

export const xlsxFormat: InputFormat<CsvWriter> = {
  writer,
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
    const asWritten = originalsOf(writer(input, null));
    const signs = decimalSigns(input.targets);
    if (signs.length === 0) return asWritten;
    return (batch) =>
      asWritten(batch).map((row, number) => {
        const cells = 'cells' in row ? [...row.cells] : [];
        for (const [column, sign] of signs) {
          const isNumber = batch.kinds[number * batch.width + column]! >> KIND_BITS === Is.number;
          if (isNumber) cells[column] = cells[column]!.replace(sign, '.');
        }
        return { cells };
      });
  },
  placeOf: () => 'row',
};

const ZIP = '504b0304';
/** Signature of compound files: workbooks before 2007, and later ones with a password. */
const COMPOUND = 'd0cf11e0a1b11ae1';

/** @throws InputError for a workbook of another kind */
async function sniff(start: Buffer, file: SourceFile): Promise<boolean> {
  const hex = start.toString('hex');
  if (hex === COMPOUND) {
    throw new InputError(
      'is a workbook of Excel 97-2003 (.xls), one with a password, or another old Office file',
      {
        file: file.path,
        hint: 'remove the password, if it has one, and save as .xlsx or CSV UTF-8',
      },
    );
  }
  if (!hex.startsWith(ZIP)) return false;
  if (/\.xls[xm]$/i.test(file.path)) return true;
  const { Zip } = await import('../sources/archive.js');
  const zip = await Zip.open(file).catch(() => null); // another kind of archive, which is handled elsewhere
  zip?.close();
  return zip?.entries.some(({ fileName }) => /^xl\/workbook\.(?:xml|bin)$/i.test(fileName)) ?? false;
}
