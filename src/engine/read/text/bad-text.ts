/**
 * Finds out what a file may be if its bytes are not text in its encoding: a file of another type, or text in another
 * encoding. For that, the file is read once more, at the end of a run.
 */
import { InputError } from '../../errors.js';
import type { EncodingSuggestion } from '../../problems.js';
import { type BadTextError, encodingLabel } from './encoding.js';
import { readBytes, type SourceFile } from './source.js';

export type PackedFile = SourceFile & Parameters<typeof readBytes>[0];

/** How many bytes before and after the bad one to guess an encoding from. */
const SAMPLE_BYTES = 64 * 1024;
/** How many bytes show a file's type; that of a tar file is at 257. */
const KIND_BYTES = 4_100;
const MAX_SUGGESTIONS = 4;
/** How many characters of a line to show. */
const SHOWN = 100;
const LINE_END = /\r\n|\n|\r/;
/** Before a small letter, a byte that is a letter in Mac Roman, and a capital or a sign in windows-1252. */
const MAC_LETTER = /[A-Za-z][\x80-\x84\x86-\x91\x93-\x95\x98\x99\x9b\x9d\x9f][a-z]/;
/** The encoding of most files that are not UTF-8. */
const MOST_COMMON = 'windows-1252';

/** The error for a file whose bytes stop being text on a line. */
export async function badText(
  file: PackedFile,
  { sentence, offset, hint }: BadTextError,
  line: number,
  encoding: string,
  signal?: AbortSignal,
): Promise<InputError> {
  const { path } = file;
  const { head, sample, at } = await around(file, offset, signal);
  const kind = await kindOfFile(head);
  if (kind) return otherKind(path, kind);
  if (hint !== null) return new InputError(sentence, { file: path, line, hint });
  const suggestions = (await suggestEncodings(sample, at)).filter((found) => found.encoding !== encoding);
  if (suggestions.length === 0 && sample.includes(0)) {
    return new InputError(sentence, { file: path, line, hint: 'export it as CSV UTF-8 or JSON' });
  }
  return new InputError(sentence, {
    file: path,
    line,
    hint:
      suggestions.length === 0
        ? 'name the encoding of the file, or export it as UTF-8'
        : suggestions.map((found) => `as ${found.encoding} the line reads: ${found.line}`).join('\n'),
    problem: { code: 'wrong_encoding', suggestions },
  });
}

/** @returns the beginning of the file, the bytes around an offset, and the index of that offset in them */
async function around(
  file: PackedFile,
  offset: number,
  signal?: AbortSignal,
): Promise<{ head: Buffer; sample: Buffer; at: number }> {
  let head: Buffer = Buffer.alloc(0);
  let sample: Buffer = Buffer.alloc(0);
  let read = 0;
  // Whether the file changed does not matter: the user will look at what it contains now.
  const { path, location, compression } = file;
  for await (const chunk of readBytes({ path, location, compression }, signal)) {
    if (head.length < KIND_BYTES) head = Buffer.concat([head, chunk.subarray(0, KIND_BYTES)]);
    sample = Buffer.concat([sample, chunk]);
    read += chunk.length;
    if (read >= offset + SAMPLE_BYTES) break;
    const spare = Math.min(sample.length, offset - (read - sample.length)) - SAMPLE_BYTES;
    // Drops an even number of bytes, because UTF-16 has two per character.
    if (spare > 0) sample = Buffer.from(sample.subarray(spare - (spare % 2)));
  }
  return { head, sample, at: Math.max(0, offset - (read - sample.length)) };
}

/**
 * Encodings that can decode the bytes, likeliest first, each with the decoded line to show.
 * @param at index of the byte whose line is shown
 */
async function suggestEncodings(sample: Buffer, at: number): Promise<EncodingSuggestion[]> {
  const wide = utf16Of(sample);
  if (wide) return withLines(readings([wide], sample, at));
  if (sample.includes(0)) return [];
  const { analyse } = (await import('chardet')).default;
  // Lines of pure ASCII tell nothing, and would outweigh those that do.
  const telling = sample
    .toString('latin1')
    .split(LINE_END)
    .filter((line) => /[\x80-\xff]/.test(line))
    .join('\n');
  const found: string[] = analyse(Buffer.from(telling, 'latin1'))
    .filter(({ confidence }) => confidence > 0)
    .map(({ name }) => name);
  // A few bytes are little evidence.
  if (!found.slice(0, MAX_SUGGESTIONS).includes(MOST_COMMON)) found.splice(1, 0, MOST_COMMON);
  // Which chardet does not know.
  if (MAC_LETTER.test(telling)) found.splice(1, 0, 'macintosh');
  return withLines(readings(found, sample, at));
}

/** Most text has characters below 256, such as commas; in UTF-16, the same byte of each of these is NUL. */
function utf16Of(sample: Buffer): string | null {
  const nuls = [0, 0];
  for (let index = 0; index < sample.length; index++) if (sample[index] === 0) nuls[index % 2]!++;
  const [even, odd] = nuls as [number, number];
  if (even + odd === 0) return null;
  if (odd > 4 * even && odd > sample.length / 16) return 'utf-16le';
  return even > 4 * odd && even > sample.length / 16 ? 'utf-16be' : null;
}

/** A sample as it reads in one encoding; `at` is where the bad byte is in the text. */
interface Reading {
  encoding: string;
  text: string;
  at: number;
}

function readings(names: readonly string[], sample: Buffer, at: number): Reading[] {
  const found: Reading[] = [];
  for (const name of names) {
    const reading = readingOf(name, sample, at);
    if (reading === null) continue;
    const same = found.find(({ text }) => text === reading.text);
    if (same === undefined) found.push(reading);
    // If two read the sample alike, the likelier one is enough.
    else if (reading.encoding === MOST_COMMON) same.encoding = MOST_COMMON;
    if (found.length === MAX_SUGGESTIONS) break;
  }
  return found;
}

/** The sample in one encoding; null if the platform does not support it, or the bytes are not text in it. */
function readingOf(name: string, sample: Buffer, at: number): Reading | null {
  try {
    const encoding = encodingLabel(name);
    // `stream`: the last character may be incomplete, and without it Node 20 treats windows-1252 as latin1.
    const decoder = new TextDecoder(encoding, { fatal: true });
    const before = decoder.decode(sample.subarray(0, at), { stream: true });
    const text = before + decoder.decode(sample.subarray(at), { stream: true });
    if (/[\u0000-\u0008\u000e-\u001f\u007f-\u009f]/.test(text)) return null;
    return { encoding, text, at: before.length };
  } catch {
    return null;
  }
}

/** Shows the line of the bad byte or, if some encodings read it alike, the first one that tells most of them apart. */
function withLines(found: readonly Reading[]): EncodingSuggestion[] {
  const texts = found.map(({ text }) => text.split(LINE_END));
  const variety = (line: number): number => new Set(texts.map((lines) => lines[line])).size;
  const bad = found.map(({ text, at }) => text.slice(0, at).split(LINE_END));
  const badLine = (bad[0]?.length ?? 1) - 1;
  let shown = badLine;
  for (let line = 0; line < (texts[0]?.length ?? 0) && variety(shown) < found.length; line++) {
    if (variety(line) > variety(shown)) shown = line;
  }
  return found.map(({ encoding }, index) => {
    const line = texts[index]![shown] ?? '';
    const at = shown === badLine ? bad[index]!.at(-1)!.length : line.search(/[^ -~]/);
    return { encoding, line: cut(line, at) };
  });
}

/** The part of a line to show, which includes the character at `at`. */
function cut(line: string, at: number): string {
  if (line.length <= SHOWN) return line;
  const from = Math.max(0, Math.min(at - SHOWN / 2, line.length - SHOWN));
  return `${from > 0 ? '…' : ''}${line.slice(from, from + SHOWN)}${from + SHOWN < line.length ? '…' : ''}`;
}

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
async function kindOfFile(head: Uint8Array): Promise<string | null> {
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
