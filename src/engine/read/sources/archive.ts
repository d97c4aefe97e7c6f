/** Lists zip archives, and unpacks a member as a file. Names inside are never used as paths. */
import { open } from 'node:fs/promises';
import { InputError } from '../../errors.js';
import { nearest } from '../../util/nearest.js';
import { formatSize } from '../../util/size.js';
import { spool } from './spool.js';
import { type Entry, TooManyFiles, Zip, ZipError } from './zip.js';

/** A member may always have this many bytes, */
const SMALL_MEMBER_BYTES = 1024 ** 3;
/** and never more than this. */
const MAX_MEMBER_BYTES = 100 * SMALL_MEMBER_BYTES;

/** How many members a message lists. */
const LISTED = 20;

/** Parts that show that a zip has another format: workbooks of Excel and LibreOffice. */
const DOCUMENT_PARTS = ['[Content_Types].xml', 'mimetype'];
const DOCUMENT = /\.(?:xlsx|xlsm|xlsb|ods|numbers)$/i;

/** Whether a file is a zip archive of inputs. Workbooks are zips too, but are not archives here. */
export async function isArchive(location: string, path: string, signal?: AbortSignal): Promise<boolean> {
  if (DOCUMENT.test(path) || !(await beginsLikeZip(location))) return false;
  const names = (await entriesOf(location, path, signal)).map(({ fileName }) => fileName);
  return !DOCUMENT_PARTS.some((part) => names.includes(part));
}

async function beginsLikeZip(location: string): Promise<boolean> {
  const handle = await open(location, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(4), 0, 4, 0);
    // An archive without members has only an end record.
    return bytesRead === 4 && ['504b0304', '504b0506'].includes(buffer.toString('hex'));
  } finally {
    await handle.close();
  }
}

/**
 * The named member, or the only one.
 * @param path the archive's path, as messages show it
 * @param wanted null for the only member; folders, hidden files, and files that macOS adds do not count
 * @param join names a member as an input: `archive.zip:member.csv`
 * @throws InputError if there are several members or none, or if the archive cannot be trusted
 */
export async function memberOf(
  location: string,
  { path, wanted, join }: { path: string; wanted: string | null; join: (member: string) => string },
  signal?: AbortSignal,
): Promise<Entry> {
  const entries = (await entriesOf(location, path, signal)).filter(({ fileName }) => !fileName.endsWith('/'));
  const names = entries.map(({ fileName }) => fileName);
  const found = entries.filter(({ fileName }) =>
    wanted === null ? isOrdinary(fileName) : fileName === wanted,
  );
  const [first, second] = found;
  if (first && !second) return first;
  if (!first) {
    const like = wanted === null ? undefined : nearest(wanted, names);
    throw new InputError(
      wanted === null ? 'the zip archive contains no files' : 'no such file in the zip archive',
      {
        file: wanted === null ? path : join(wanted),
        hint: like === undefined ? listed(names, join) : `did you mean ${join(like)}?`,
      },
    );
  }
  if (wanted !== null) {
    throw new InputError('the zip archive contains two files of this name', {
      file: join(wanted),
      hint: UNPACK,
    });
  }
  throw new InputError(`the zip archive contains ${found.length} files: name the one to read`, {
    file: path,
    hint: listed(
      found.map(({ fileName }) => fileName),
      join,
    ),
  });
}

const UNPACK = 'unpack the archive, and import the file in it';

const isOrdinary = (name: string): boolean =>
  !name.split('/').some((part) => part === '__MACOSX' || part.startsWith('.'));

function listed(names: readonly string[], join: (member: string) => string): string | undefined {
  const lines = names.slice(0, LISTED).map(join);
  if (names.length > LISTED) lines.push(`and ${names.length - LISTED} more`);
  return lines.length === 0 ? undefined : lines.join('\n');
}

/**
 * Unpacks a member into a private file.
 * @param shown the member's name in messages
 * @throws InputError for a member that is encrypted, damaged, or too large; StateError if it cannot be written; the
 * signal's reason when aborted
 */
export async function unpackMember(
  location: string,
  { entry, shown, to }: { entry: Entry; shown: string; to: string },
  signal?: AbortSignal,
): Promise<void> {
  refuseMember(entry, shown);
  try {
    const zip = await Zip.open(location);
    try {
      await spool(zip.read(entry), { what: shown, to }, signal);
    } finally {
      zip.close();
    }
  } catch (error) {
    throw error instanceof ZipError ? damaged(shown, error) : error;
  }
}

/** The checks that do not read the member. @throws InputError */
function refuseMember(entry: Entry, shown: string): void {
  const { compressionMethod, compressedSize, uncompressedSize } = entry;
  if (entry.isEncrypted()) {
    throw new InputError('is encrypted', {
      file: shown,
      hint: 'unpack the archive with its password, and import the file in it',
    });
  }
  if (compressionMethod !== 0 && compressionMethod !== 8) {
    throw new InputError(`is compressed with a method (${compressionMethod}) that is not supported`, {
      file: shown,
      hint: UNPACK,
    });
  }
  if (uncompressedSize > MAX_MEMBER_BYTES || Zip.isBomb(entry, SMALL_MEMBER_BYTES)) {
    throw new InputError(
      `would unpack from ${formatSize(compressedSize)} to ${formatSize(uncompressedSize)}, which looks like a zip bomb`,
      { file: shown, hint: `if you trust it, ${UNPACK}` },
    );
  }
}

/** @throws InputError for an archive that cannot be trusted */
async function entriesOf(location: string, path: string, signal?: AbortSignal): Promise<readonly Entry[]> {
  try {
    const zip = await Zip.open(location, signal);
    zip.close();
    return zip.entries;
  } catch (error) {
    throw error instanceof ZipError ? damaged(path, error) : error;
  }
}

function damaged(path: string, error: Error): InputError {
  if (error instanceof TooManyFiles) {
    return new InputError(`the zip archive ${error.message}`, { file: path, hint: UNPACK });
  }
  const leadsOut = /^(?:invalid relative path|absolute path|invalid characters in fileName): (.*)$/s.exec(
    error.message,
  );
  return leadsOut
    ? new InputError(`the zip archive contains a file whose name leads out of it: ${leadsOut[1]}`, {
        file: path,
        hint: 'do not trust it; ask for another export',
        cause: error,
      })
    : new InputError(`the zip data is damaged or cut off: ${error.message}`, {
        file: path,
        hint: 'download or export it again; unzip -t tests it',
        cause: error,
      });
}
