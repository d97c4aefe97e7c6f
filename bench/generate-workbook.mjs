// Writes the benchmark's rows as a workbook, as Excel does: texts shared between cells, numbers as numbers.
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { COLUMNS, pieces, records } from './generate.mjs';

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const RELATIONS = `${PACKAGE}/relationships`;

const relation = (id, type, target) =>
  `<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${target}"/>`;
const content = (part, type) =>
  `<Override PartName="${part}" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.${type}+xml"/>`;

const SMALL_PARTS = {
  '[Content_Types].xml': `<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>${content('/xl/workbook.xml', 'sheet.main')}${content('/xl/worksheets/sheet1.xml', 'worksheet')}${content('/xl/sharedStrings.xml', 'sharedStrings')}</Types>`,
  '_rels/.rels': `<Relationships xmlns="${RELATIONS}">${relation('rId1', 'officeDocument', 'xl/workbook.xml')}</Relationships>`,
  'xl/workbook.xml': `<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets><sheet name="Companies" sheetId="1" r:id="rId1"/></sheets></workbook>`,
  'xl/_rels/workbook.xml.rels': `<Relationships xmlns="${RELATIONS}">${relation('rId1', 'worksheet', 'worksheets/sheet1.xml')}${relation('rId2', 'sharedStrings', 'sharedStrings.xml')}</Relationships>`,
};
/** Columns in which texts occur often; others are new in each row, as nearly all of them are. */
const REPEATED = new Set(['industry', 'headquarters', 'plan_tier', 'adoption_rate']);

/** The cells of each row; `index` says which shared text a cell is. The same in each pass. */
function* cells(rows) {
  const known = new Map();
  let count = 0;
  const shared = (column, text) => {
    const before = known.get(text);
    if (before !== undefined) return { index: before };
    if (REPEATED.has(column)) known.set(text, count);
    return { index: count++, text };
  };
  yield COLUMNS.map((column) => shared(column, column));
  for (const record of records(rows)) {
    yield COLUMNS.map((column) => {
      const value = record[column];
      return typeof value === 'number' ? { value } : shared(column, value);
    });
  }
}

function* sheet(rows) {
  yield `${XML}<worksheet xmlns="${MAIN}"><sheetData>`;
  let row = 0;
  for (const line of cells(rows)) {
    row++;
    const texts = line.map(({ value, index }, column) => {
      const address = `${String.fromCharCode(65 + column)}${row}`;
      return `<c r="${address}"${value === undefined ? ' t="s"' : ''}><v>${value ?? index}</v></c>`;
    });
    yield `<row r="${row}" spans="1:${COLUMNS.length}">${texts.join('')}</row>`;
  }
  yield '</sheetData></worksheet>';
}

function* strings(rows) {
  yield `${XML}<sst xmlns="${MAIN}">`;
  for (const line of cells(rows)) {
    for (const { text } of line) {
      if (text !== undefined)
        yield `<si><t>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</t></si>`;
    }
  }
  yield '</sst>';
}

/** @param yazl the package of this name */
export async function writeWorkbook(yazl, rows, file) {
  const zip = new yazl.ZipFile();
  const parts = { 'xl/worksheets/sheet1.xml': sheet(rows), 'xl/sharedStrings.xml': strings(rows) };
  for (const [name, text] of Object.entries(SMALL_PARTS)) parts[name] = [XML + text];
  for (const [name, texts] of Object.entries(parts)) zip.addReadStream(Readable.from(pieces(texts)), name);
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(file));
}
