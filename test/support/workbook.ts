/** Writes a workbook of one sheet. */
import { zip } from './zip.js';

const REL = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

const escaped = (text: string): string => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
/** Text that begins with `#` is an error, as `#N/A`. */
export type Cell = string | number | boolean;

function cellOf(cell: Cell, row: number, column: number): string {
  const at = `r="${String.fromCharCode(65 + column)}${row + 1}"`;
  if (typeof cell === 'number') return `<c ${at}><v>${cell}</v></c>`;
  if (typeof cell === 'boolean') return `<c ${at} t="b"><v>${Number(cell)}</v></c>`;
  if (cell.startsWith('#')) return `<c ${at} t="e"><v>${cell}</v></c>`;
  return `<c ${at} t="inlineStr"><is><t>${escaped(cell)}</t></is></c>`;
}

/** @param rows of at most 26 cells */
export function workbook(rows: readonly (readonly Cell[])[]): Buffer {
  const lines = rows.map(
    (cells, row) =>
      `<row r="${row + 1}">${cells.map((cell, column) => cellOf(cell, row, column)).join('')}</row>`,
  );
  const relationship = (type: string, target: string): string =>
    `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="${REL}/${type}" Target="${target}"/></Relationships>`;
  return zip([
    {
      name: '[Content_Types].xml',
      content: '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
    },
    { name: '_rels/.rels', content: relationship('officeDocument', 'xl/workbook.xml') },
    {
      name: 'xl/workbook.xml',
      content: `<workbook xmlns:r="${REL}"><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>`,
    },
    { name: 'xl/_rels/workbook.xml.rels', content: relationship('worksheet', 'worksheets/sheet1.xml') },
    {
      name: 'xl/worksheets/sheet1.xml',
      content: `<worksheet><sheetData>${lines.join('')}</sheetData></worksheet>`,
    },
  ]);
}
