/** Says what a file may be if its bytes are not text in its encoding: a file of another type, or text in another encoding. */
import { InputError } from '../../errors.js';
import type { EncodingSuggestion } from '../../problems.js';
import { type BadTextError, encodingLabel } from './encoding.js';

/** How many bytes before and after the bad one to guess an encoding from. */
const SAMPLE_BYTES = 64 * 1024;
const MOST_SUGGESTIONS = 4;
/** How many characters of a line to show. */
const SHOWN = 100;
const LINE_END = /\r\n|\n|\r/;
/** The encoding of most files that are not UTF-8. */
const MOST_COMMON = 'windows-1252';

/** The error for a text that ends at a bad byte, on a line. */
export async function badText(
  { path, encoding }: { path: string; encoding: string },
  { sentence, bytes, at, isStart, hint, isWhole }: BadTextError,
  line: number,
): Promise<InputError> {
  const kind = isStart ? await kindOfFile(bytes) : null;
  if (kind) return otherKind(path, kind);
  if (hint !== null) return new InputError(sentence, { file: path, line, hint });
  const others = (await suggestEncodings(bytes, at)).filter((found) => found.encoding !== encoding);
  // What is UTF-8 is nothing else, and all of it is.
  const utf8 = others.filter((found) => found.encoding === 'utf-8');
  const suggestions = utf8.length > 0 ? utf8 : others;
  const isText = suggestions.length > 0 || !bytes.includes(0);
  const advice = suggestions.map((found) => `as ${found.encoding} the line reads: ${found.line}`).join('\n');
  return new InputError(sentence, {
    file: path,
    ...(!isWhole && { line }),
    hint: isText
      ? advice || 'name the encoding of the file, or export it as UTF-8'
      : 'export it as CSV UTF-8 or JSON',
    problem: isText ? { code: 'wrong_encoding', path, suggestions } : undefined,
  });
}

/** A sample as it reads in one encoding; `before` is the text before the bad byte. */
interface Reading {
  encoding: string;
  text: string;
  before: string;
}

/** Encodings that can decode the bytes, likeliest first, each with a line that tells most of them apart. */
async function suggestEncodings(bytes: Buffer, bad: number): Promise<EncodingSuggestion[]> {
  const from = Math.max(0, bad - SAMPLE_BYTES) & ~1; // UTF-16 has two bytes for each character
  const sample = bytes.subarray(from, bad + SAMPLE_BYTES);
  const found: Reading[] = [];
  for (const name of await likelyNames(sample)) {
    const reading = readingOf(name, sample, bad - from);
    const same = reading && found.find(({ text }) => text === reading.text);
    if (same && name === MOST_COMMON) same.encoding = name;
    if (reading && !same && found.length < MOST_SUGGESTIONS) found.push(reading);
  }
  const texts = found.map(({ text }) => text.split(LINE_END));
  const badLine = (found[0]?.before.split(LINE_END).length ?? 1) - 1;
  const variety = (line: number): number => new Set(texts.map((lines) => lines[line])).size;
  let shown = badLine;
  for (let line = 0; line < (texts[0]?.length ?? 0); line++) if (variety(line) > variety(shown)) shown = line;
  return found.map(({ encoding, before }, index) => {
    const line = texts[index]![shown] ?? '';
    const at = shown === badLine ? before.split(LINE_END).at(-1)!.length : line.search(/[^ -~]/);
    return { encoding, line: cut(line, at) };
  });
}

async function likelyNames(sample: Buffer): Promise<string[]> {
  // In UTF-16, one byte of most characters is NUL.
  const nuls = sample.reduce((sum, byte) => sum + Number(byte === 0), 0);
  if (nuls > sample.length / 16) return [sample.indexOf(0) % 2 === 1 ? 'utf-16le' : 'utf-16be'];
  if (nuls > 0) return [];
  const { analyse } = (await import('chardet')).default;
  // Lines of pure ASCII tell nothing, and would outweigh those that do.
  const lines = sample.toString('latin1').split(LINE_END);
  const telling = lines.filter((line) => /[\x80-\xff]/.test(line)).join('\n');
  const names: string[] = analyse(Buffer.from(telling, 'latin1'))
    .filter(({ confidence }) => confidence > 0)
    .map(({ name }) => name);
  // A few bytes are little evidence.
  if (!names.slice(0, MOST_SUGGESTIONS).includes(MOST_COMMON)) names.splice(1, 0, MOST_COMMON);
  return names;
}

/** Null if the platform does not support the encoding, or the bytes are not text in it. */
function readingOf(name: string, sample: Buffer, at: number): Reading | null {
  try {
    const encoding = encodingLabel(name);
    // `stream`: the last character may be incomplete, and without it Node 20 treats windows-1252 as latin1.
    const decoder = new TextDecoder(encoding, { fatal: true });
    const before = decoder.decode(sample.subarray(0, at), { stream: true });
    const text = before + decoder.decode(sample.subarray(at), { stream: true });
    return /[\u0000-\u0008\u000e-\u001f\u007f-\u009f]/.test(text) ? null : { encoding, text, before };
  } catch {
    return null;
  }
}

/** The part of a line to show, which includes the character at `at`. */
function cut(line: string, at: number): string {
  if (line.length <= SHOWN) return line;
  const from = Math.max(0, Math.min(at - SHOWN / 2, line.length - SHOWN));
  return `${from > 0 ? '…' : ''}${line.slice(from, from + SHOWN)}${from + SHOWN < line.length ? '…' : ''}`;
}

const UNPACK = 'unpack it, and import the file in it';
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
  '7z': ['a 7-Zip archive', UNPACK],
  zip: ['a zip archive or a workbook', 'leave the format out, or unpack it and import the file in it'],
  xlsx: ['a workbook', 'leave the format out'],
  ods: ['a spreadsheet', 'save it as .xlsx or CSV UTF-8, and import that'],
  pdf: ['a PDF document', EXPORT],
  png: ['a PNG image', EXPORT],
  xml: ['an XML file', EXPORT],
  html: [
    'an HTML page',
    'if a browser shows a sign-in page at its address, sign in there, download the file, and import that',
  ],
};

/** The type of a text that begins like HTML, XML, or PDF; null for any other. */
export function kindOfText(start: string): string | null {
  if (/^<(?:!doctype\s+html|html[\s>]|head[\s>])/i.test(start)) return 'html';
  if (start.startsWith('<?xml ')) return 'xml';
  return start.startsWith('%PDF-') ? 'pdf' : null;
}

/** The type of a file that is not text: an extension or a MIME type; null if it is not known. */
async function kindOfFile(head: Uint8Array): Promise<string | null> {
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
