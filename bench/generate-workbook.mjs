// Writes the benchmark's rows as a workbook, as Excel does: texts shared between cells, numbers as numbers.
//   node bench/generate-workbook.mjs <rows> <file>
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { finished, pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { crc32, createDeflateRaw } from 'node:zlib';
import { COLUMNS, records } from './generate.mjs';

const HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';

const relation = (id, type, target) =>
  `<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${target}"/>`;
const content = (part, type) =>
  `<Override PartName="${part}" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.${type}+xml"/>`;

const SMALL_PARTS = {
  '[Content_Types].xml': `<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>${content('/xl/workbook.xml', 'sheet.main')}${content('/xl/worksheets/sheet1.xml', 'worksheet')}${content('/xl/sharedStrings.xml', 'sharedStrings')}</Types>`,
  '_rels/.rels': `<Relationships xmlns="${PACKAGE}/relationships">${relation('rId1', 'officeDocument', 'xl/workbook.xml')}</Relationships>`,
  'xl/workbook.xml': `<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets><sheet name="Companies" sheetId="1" r:id="rId1"/></sheets></workbook>`,
  'xl/_rels/workbook.xml.rels': `<Relationships xmlns="${PACKAGE}/relationships">${relation('rId1', 'worksheet', 'worksheets/sheet1.xml')}${relation('rId2', 'sharedStrings', 'sharedStrings.xml')}</Relationships>`,
};

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/** A part of the archive, packed into a file of its own until all parts are known. */
function part(name, file) {
  const packed = createDeflateRaw({ level: 6 });
  const done = pipeline(packed, createWriteStream(file));
  let [crc, size, text] = [0, 0, HEAD];
  const flush = async () => {
    const bytes = Buffer.from(text);
    text = '';
    crc = crc32(bytes, crc);
    size += bytes.length;
    if (!packed.write(bytes)) await once(packed, 'drain');
  };
  return {
    name,
    file,
    /** Gives a promise only now and then: most text is only collected. */
    write: (more) => {
      text += more;
      return text.length > 1 << 18 ? flush() : undefined;
    },
    end: async () => {
      await flush();
      packed.end();
      await done;
      return { name, file, crc, size };
    },
  };
}

export async function writeWorkbook(rows, file) {
  const sheet = part('xl/worksheets/sheet1.xml', `${file}.sheet`);
  const strings = part('xl/sharedStrings.xml', `${file}.strings`);
  const known = new Map();
  let count = 0;
  /** Of texts that occur often; others are new each time, as nearly all of them are. */
  const indexOf = async (column, text) => {
    const often =
      column !== 'company_id' && column !== 'name' && column !== 'website' && column !== 'last_seen_at';
    const found = often ? known.get(text) : undefined;
    if (found !== undefined) return found;
    if (often) known.set(text, count);
    await strings.write(`<si><t>${escaped(text)}</t></si>`);
    return count++;
  };
  await strings.write(`<sst xmlns="${MAIN}">`);
  await sheet.write(`<worksheet xmlns="${MAIN}"><sheetData>`);
  let number = 1;
  const add = async (values) => {
    let cells = '';
    for (const [index, column] of COLUMNS.entries()) {
      const address = `${String.fromCharCode(65 + index)}${number}`;
      const value = values[column];
      cells +=
        typeof value === 'number'
          ? `<c r="${address}"><v>${value}</v></c>`
          : `<c r="${address}" t="s"><v>${await indexOf(column, value)}</v></c>`;
    }
    await sheet.write(`<row r="${number++}" spans="1:${COLUMNS.length}">${cells}</row>`);
  };
  await add(Object.fromEntries(COLUMNS.map((column) => [column, column])));
  for (const record of records(rows)) await add(record);
  await sheet.write('</sheetData></worksheet>');
  await strings.write('</sst>');
  const parts = [await sheet.end(), await strings.end()];
  for (const [name, text] of Object.entries(SMALL_PARTS)) {
    const small = part(name, `${file}.${parts.length}`);
    await small.write(text);
    parts.push(await small.end());
  }
  await zip(parts, `${file}.part`);
  await Promise.all(parts.map((each) => rm(each.file)));
  await rename(`${file}.part`, file);
}

/** An archive of packed parts (APPNOTE 4.3). */
async function zip(parts, file) {
  const out = createWriteStream(file);
  const directory = [];
  let offset = 0;
  for (const { name, file: source, crc, size } of parts) {
    const chunks = [];
    for await (const chunk of createReadStream(source)) chunks.push(chunk);
    const packed = Buffer.concat(chunks);
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0);
    fields.writeUInt16LE(8, 4);
    fields.writeUInt16LE(0x21, 8);
    fields.writeUInt32LE(crc, 10);
    fields.writeUInt32LE(packed.length, 14);
    fields.writeUInt32LE(size, 18);
    fields.writeUInt16LE(Buffer.byteLength(name), 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), fields, Buffer.from(name)]);
    const places = Buffer.alloc(14);
    places.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x00'), fields, places, Buffer.from(name)]));
    out.write(local);
    out.write(packed);
    offset += local.length + packed.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(parts.length, 4);
  end.writeUInt16LE(parts.length, 6);
  end.writeUInt32LE(central.length, 8);
  end.writeUInt32LE(offset, 12);
  out.end(Buffer.concat([central, Buffer.from('PK\x05\x06'), end]));
  await finished(out);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [rows, file] = process.argv.slice(2);
  await writeWorkbook(Number(rows), file);
}
