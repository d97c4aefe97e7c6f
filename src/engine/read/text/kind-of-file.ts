/** Names the types of files that cannot be read. */
import { InputError } from '../../errors.js';

const UNPACK = 'unpack it, and import the file in it';
const SAVE = 'save it as .xlsx or CSV UTF-8, and import that';
const EXPORT = 'export the data as CSV or JSON, and import that';

/** By the extension that file-type returns. Others are named by their MIME type. */
const KINDS: Record<string, readonly [name: string, hint: string]> = {
  sqlite: [
    'an SQLite database',
    'export one of its tables: sqlite3 -csv -header <file> "SELECT * FROM <table>" > export.csv',
  ],
  tar: ['a tar archive', UNPACK],
  'tar.gz': ['a tar archive', UNPACK],
  bz2: ['a file compressed with bzip2', 'unpack it with bunzip2, and import what is in it'],
  xz: ['a file compressed with xz', 'unpack it with unxz, and import what is in it'],
  lz: ['a file compressed with lzip', UNPACK],
  lz4: ['a file compressed with LZ4', 'unpack it with unlz4, and import what is in it'],
  Z: ['a file compressed with compress', 'unpack it with uncompress, and import what is in it'],
  '7z': ['a 7-Zip archive', UNPACK],
  rar: ['a RAR archive', UNPACK],
  zip: ['a zip archive or a workbook', 'leave the format out, or unpack it and import the file in it'],
  xlsx: ['a workbook', 'leave the format out'],
  ods: ['a spreadsheet', SAVE],
  cfb: ['an old Office file', SAVE],
  pdf: ['a PDF document', EXPORT],
  rtf: ['an RTF document', EXPORT],
  png: ['a PNG image', EXPORT],
  jpg: ['a JPEG image', EXPORT],
  gif: ['a GIF image', EXPORT],
  webp: ['a WebP image', EXPORT],
  exe: ['a Windows program', EXPORT],
  elf: ['a Linux program', EXPORT],
  avro: ['an Avro file', EXPORT],
  arrow: ['an Arrow file', EXPORT],
  'utf-32': ['text in UTF-32', 'save it as UTF-8: iconv -f UTF-32 -t UTF-8 <file> > utf-8.csv'],
  xml: ['an XML file', EXPORT],
  html: [
    'an HTML page',
    'if a browser shows a sign-in page at its address, sign in there, download the file, and import that',
  ],
};

/** Byte order marks of UTF-32, which file-type takes for audio. */
const UTF_32 = [
  [0xff, 0xfe, 0, 0],
  [0, 0, 0xfe, 0xff],
];

/** The type of a text that begins like HTML, XML, PDF, or RTF; null for any other. */
export function kindOfText(start: string): string | null {
  if (/^<(?:!doctype\s+html|html[\s>]|head[\s>])/i.test(start)) return 'html';
  if (start.startsWith('<?xml ')) return 'xml';
  if (start.startsWith('%PDF-')) return 'pdf';
  return start.startsWith('{\\rtf') ? 'rtf' : null;
}

/** The type of a file that is not text: an extension or a MIME type; null if it is not known. */
export async function kindOfFile(head: Uint8Array): Promise<string | null> {
  if (UTF_32.some((start) => start.every((byte, at) => head[at] === byte))) return 'utf-32';
  const { fileTypeFromBuffer } = await import('file-type/core');
  const found = await fileTypeFromBuffer(head).catch(() => undefined); // the file may end within its signature
  if (!found) return null;
  return found.ext in KINDS ? found.ext : found.mime;
}

export function otherKind(path: string, kind: string): InputError {
  const [name, hint] = KINDS[kind] ?? [`a file of type ${kind}`, EXPORT];
  return new InputError(`is ${name}, not data in a format that can be imported`, {
    file: path,
    hint,
    problem: { code: 'other_kind_of_file', name },
  });
}
