/** Tells whether a file is a workbook that can be read, and what to do with one that cannot. */
import { InputError } from '../../errors.js';
import { openFile, type SourceFile } from '../text/source.js';

const ZIP = '504b0304';
/** Signature of compound files: workbooks before 2007, and later ones with a password. */
const COMPOUND = 'd0cf11e0a1b11ae1';

/** @throws InputError for a workbook of another kind */
export async function isWorkbook(start: Buffer, file: SourceFile): Promise<boolean> {
  const hex = start.toString('hex');
  if (hex === COMPOUND) throw await compound(file);
  if (!hex.startsWith(ZIP)) return false;
  const { Archive } = await import('./archive.js');
  let archive: Awaited<ReturnType<typeof Archive.open>>;
  try {
    archive = await Archive.open(file);
  } catch (error) {
    if (/\.xls[xm]$/i.test(file.path)) throw error;
    return false; // another kind of archive, which is handled elsewhere
  }
  const [found, binary] = [archive.has('xl/workbook.xml'), archive.has('xl/workbook.bin')];
  const office = found || binary || /\.xls[xm]$/i.test(file.path);
  archive.close();
  return office;
}

/** The names that matter are in this many bytes of a compound file's directory. */
const DIRECTORY_BYTES = 4096;

async function compound(file: SourceFile): Promise<InputError> {
  const { handle } = await openFile(file);
  try {
    const header = Buffer.alloc(512);
    await handle.read(header, 0, header.length, 0);
    const sector = 2 ** Math.min(header.readUInt16LE(30), 16);
    const directory = Buffer.alloc(DIRECTORY_BYTES);
    await handle.read(directory, 0, directory.length, (header.readUInt32LE(48) + 1) * sector);
    if (directory.includes(Buffer.from('EncryptedPackage', 'utf16le'))) {
      return new InputError('is a workbook with a password', {
        file: file.path,
        hint: 'remove the password, and save it as .xlsx or CSV UTF-8',
      });
    }
  } finally {
    await handle.close();
  }
  return new InputError('is a workbook of Excel 97-2003 (.xls), or another old Office file', {
    file: file.path,
    hint: 'save as .xlsx or CSV UTF-8',
  });
}
