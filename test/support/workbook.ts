/** Writes Excel workbooks with one sheet, S. */
import { zip } from './zip.js';

const MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"';
const REL = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

const escaped = (text: string): string => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/**
 * A cell: a text, an error such as `#N/A`, a number, a number with a format, a boolean, or raw XML for its
 * text.
 */
export type Cell = string | number | boolean | { number: string; format?: string } | { xml: string };

interface Writing {
  /** Of the sheet. */
  encoding?: 'utf8' | 'latin1';
  /** Changes the XML of the sheet. */
  sheet?: (xml: string) => string;
  /** XML of texts that cells share. */
  shared?: readonly string[];
}

/** @param rows with at most 26 cells; an empty row is left out of the sheet */
export function workbook(
  rows: readonly (readonly Cell[])[],
  { encoding = 'utf8', sheet = (xml) => xml, shared = [] }: Writing = {},
): Buffer {
  const formats: string[] = [];
  const styleOf = (format: string | undefined): number => {
    if (format === undefined) return 0;
    if (!formats.includes(format)) formats.push(format);
    return formats.indexOf(format) + 1;
  };
  const cellOf = (cell: Cell, row: number, column: number): string => {
    const at = `r="${String.fromCharCode(65 + column)}${row + 1}"`;
    if (typeof cell === 'boolean') return `<c ${at} t="b"><v>${Number(cell)}</v></c>`;
    if (typeof cell === 'string' && /^#[A-Z\d/!?]+$/.test(cell)) return `<c ${at} t="e"><v>${cell}</v></c>`;
    if (typeof cell === 'number') return `<c ${at}><v>${cell}</v></c>`;
    if (typeof cell === 'object' && 'number' in cell) {
      return `<c ${at} s="${styleOf(cell.format)}"><v>${cell.number}</v></c>`;
    }
    const xml = typeof cell === 'string' ? escaped(cell) : cell.xml;
    return `<c ${at} t="inlineStr"><is><t>${xml}</t></is></c>`;
  };
  const lines = rows.map((cells, row) =>
    cells.length === 0
      ? ''
      : `<row r="${row + 1}">${cells.map((cell, column) => cellOf(cell, row, column)).join('')}</row>`,
  );
  const xml = `<worksheet ${MAIN}><sheetData>${lines.join('')}</sheetData></worksheet>`;
  const relationships = (...targets: [type: string, target: string][]): string =>
    `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${targets
      .map(([type, target], at) => `<Relationship Id="r${at + 1}" Type="${REL}/${type}" Target="${target}"/>`)
      .join('')}</Relationships>`;
  const codes = formats.map(
    (format, at) => `<numFmt numFmtId="${200 + at}" formatCode="${escaped(format)}"/>`,
  );
  const styles = ['<xf numFmtId="0"/>', ...formats.map((_, at) => `<xf numFmtId="${200 + at}"/>`)];
  return zip([
    {
      name: '[Content_Types].xml',
      content: '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
    },
    { name: '_rels/.rels', content: relationships(['officeDocument', 'xl/workbook.xml']) },
    {
      name: 'xl/workbook.xml',
      content: `<workbook ${MAIN} xmlns:r="${REL}"><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>`,
    },
    {
      name: 'xl/_rels/workbook.xml.rels',
      content: relationships(
        ['worksheet', 'worksheets/sheet1.xml'],
        ['styles', 'styles.xml'],
        ['sharedStrings', 'sharedStrings.xml'],
      ),
    },
    {
      name: 'xl/styles.xml',
      content: `<styleSheet ${MAIN}><numFmts>${codes.join('')}</numFmts><cellXfs>${styles.join('')}</cellXfs></styleSheet>`,
    },
    {
      name: 'xl/sharedStrings.xml',
      content: `<sst ${MAIN}>${shared.map((xml) => `<si><t>${xml}</t></si>`).join('')}</sst>`,
    },
    { name: 'xl/worksheets/sheet1.xml', content: Buffer.from(sheet(xml), encoding) },
  ]);
}
