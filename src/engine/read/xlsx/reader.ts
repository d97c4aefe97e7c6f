import { csvReader } from '../csv/reader.js';
import type { BinaryReader } from '../format.js';

const { scan, build, original, item, totals } = csvReader;
export const xlsxReader: BinaryReader = {
  scan,
  build,
  original,
  item,
  totals,
  extensions: { xlsx: 'xlsx' },
  recognize: () => false,
  open: () => {
    throw new Error('no');
  },
  columns: () => {
    throw new Error('no');
  },
  records: () => {
    throw new Error('no');
  },
  placeOf: () => 'row',
};
