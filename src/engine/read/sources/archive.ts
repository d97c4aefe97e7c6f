/** Reads zip archives, of inputs and of workbooks, and unpacks a member as a file. Names inside are never used as paths. */
import type { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import type { Entry, ZipFile } from 'yauzl';
import { InputError, ProfilesError } from '../../errors.js';
import { nearest } from '../../util/nearest.js';
import { formatSize } from '../../util/size.js';
import { firstBytes, type SourceFile } from '../text/source.js';
import { spool } from './spool.js';

export type { Entry } from 'yauzl';

/** An archive with more entries is refused. */
const MOST_ENTRIES = 10_000;
/** An entry that expands to more than this many times its size must be small. */
const MAX_RATIO = 250;
/** A member may always have this many bytes, */
const SMALL_MEMBER_BYTES = 1024 ** 3;
/** and never more than this. */
const MAX_MEMBER_BYTES = 100 * SMALL_MEMBER_BYTES;
/** How many members a message lists. */
const LISTED = 20;

const UNPACK = 'unpack the archive, and import the file in it';

export class Zip {
  private constructor(
    private readonly file: ZipFile,
    readonly entries: readonly Entry[],
  ) {}

  /** @throws InputError for an archive with too many entries; Error for one that is damaged, or with a name that leads out of it */
  static async open({ path, location }: SourceFile, signal?: AbortSignal): Promise<Zip> {
    const { default: yauzl } = await import('yauzl');
    const file = await yauzl.openPromise(location, { autoClose: false, lazyEntries: true });
    try {
      const { entryCount } = file;
      if (entryCount > MOST_ENTRIES) {
        const what = `the zip archive contains ${entryCount} files, more than ${MOST_ENTRIES}`;
        throw new InputError(what, { file: path, hint: UNPACK });
      }
      const entries: Entry[] = [];
      for await (const entry of file.eachEntry()) {
        signal?.throwIfAborted();
        entries.push(entry);
      }
      return new Zip(file, entries);
    } catch (error) {
      file.close();
      throw error;
    }
  }

  /** Whether an entry expands suspiciously. @param harmless how many bytes it may have in any case */
  static isBomb({ uncompressedSize, compressedSize }: Entry, harmless: number): boolean {
    return uncompressedSize > Math.max(harmless, MAX_RATIO * compressedSize);
  }

  /** The bytes of an entry, in order. @throws Error at its end, if its size or its checksum is another one */
  async *read(entry: Entry, signal?: AbortSignal): AsyncGenerator<Buffer> {
    let stream: Readable | undefined;
    let sum = 0;
    try {
      stream = await this.file.openReadStreamPromise(entry);
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        signal?.throwIfAborted();
        sum = crc32(chunk, sum);
        yield chunk;
      }
    } finally {
      stream?.destroy();
    }
    if (sum !== entry.crc32) throw new Error('its checksum does not match');
  }

  close(): void {
    this.file.close();
  }
}

/** Parts that show that a zip has another format: workbooks of Excel and LibreOffice. */
const DOCUMENT_PARTS = ['[Content_Types].xml', 'mimetype'];
/** How a zip begins: with an entry, or without any with its end record. */
const ZIPS = ['504b0304', '504b0506'];
const DOCUMENT = /\.(?:xlsx|xlsm|xlsb|ods|numbers)$/i;

/** Whether a file is a zip archive of inputs. Workbooks are zips too, but are not archives here. @throws InputError */
export async function isArchive(location: string, path: string, signal?: AbortSignal): Promise<boolean> {
  if (DOCUMENT.test(path)) return false;
  const { bytes } = await firstBytes({ path, location }, 4);
  if (!ZIPS.includes(bytes.toString('hex'))) return false;
  try {
    const zip = await Zip.open({ path, location }, signal);
    zip.close();
    return !zip.entries.some(({ fileName }) => DOCUMENT_PARTS.includes(fileName));
  } catch (error) {
    throw damaged(path, error, signal);
  }
}

interface Wanted {
  /** The archive's path, as messages show it. */
  path: string;
  /** Null for the only member; folders, hidden files, and files that macOS adds do not count. */
  member: string | null;
  /** Names a member as an input: `archive.zip:member.csv`. */
  join: (member: string) => string;
}

/**
 * Unpacks the named member, or the only one, into a private file. Returns its name as an input.
 * @throws InputError if there are several members or none, or if the archive or the member cannot be trusted; StateError
 * if it cannot be written; the signal's reason when aborted
 */
export async function unpackMember(
  location: string,
  to: string,
  wanted: Wanted,
  signal?: AbortSignal,
): Promise<string> {
  let what = wanted.path;
  let zip: Zip | undefined;
  try {
    zip = await Zip.open({ path: what, location }, signal);
    const entry = memberIn(zip, wanted);
    what = wanted.join(entry.fileName);
    refuseMember(entry, what);
    await spool(zip.read(entry), { what, to }, signal);
    return what;
  } catch (error) {
    throw damaged(what, error, signal);
  } finally {
    zip?.close();
  }
}

function memberIn(zip: Zip, { path, member, join }: Wanted): Entry {
  const entries = zip.entries.filter(({ fileName }) => !fileName.endsWith('/'));
  const names = entries.map(({ fileName }) => fileName);
  const found = entries.filter(({ fileName }) =>
    member === null ? isOrdinary(fileName) : fileName === member,
  );
  const [first, second] = found;
  if (first && !second) return first;
  if (first && member !== null)
    throw new InputError('the zip archive contains two files of this name', {
      file: join(member),
      hint: UNPACK,
    });
  if (first) {
    const members = found.map(({ fileName }) => fileName);
    throw new InputError(`the zip archive contains ${found.length} files: name the one to read`, {
      file: path,
      hint: listed(members, join),
      ...(path !== '-' && {
        problem: {
          ...{ code: 'zip_members', path, members: members.slice(0, LISTED).map(join) },
          more: Math.max(members.length - LISTED, 0),
        },
      }),
    });
  }
  const like = member === null ? undefined : nearest(member, names);
  throw new InputError(
    member === null ? 'the zip archive contains no files' : 'no such file in the zip archive',
    {
      file: member === null ? path : join(member),
      hint: like === undefined ? listed(names, join) : `did you mean ${join(like)}?`,
    },
  );
}

const isOrdinary = (name: string): boolean =>
  !name.split('/').some((part) => part === '__MACOSX' || part.startsWith('.'));

function listed(names: readonly string[], join: (member: string) => string): string | undefined {
  const lines = names.slice(0, LISTED).map(join);
  if (names.length > LISTED) lines.push(`and ${names.length - LISTED} more`);
  return lines.length === 0 ? undefined : lines.join('\n');
}

/** The checks that do not read the member. @throws InputError */
function refuseMember(entry: Entry, file: string): void {
  const { compressionMethod, compressedSize, uncompressedSize } = entry;
  const refuse = (message: string, hint: string): never => {
    throw new InputError(message, { file, hint });
  };
  if (entry.isEncrypted()) {
    refuse('is encrypted', 'unpack the archive with its password, and import the file in it');
  }
  if (compressionMethod !== 0 && compressionMethod !== 8) {
    refuse(`is compressed with a method (${compressionMethod}) that is not supported`, UNPACK);
  }
  if (uncompressedSize > MAX_MEMBER_BYTES || Zip.isBomb(entry, SMALL_MEMBER_BYTES)) {
    const sizes = `from ${formatSize(compressedSize)} to ${formatSize(uncompressedSize)}`;
    refuse(`would unpack ${sizes}, which looks like a zip bomb`, `if you trust it, ${UNPACK}`);
  }
}

/** What yauzl says of such a name. */
const LEADS_OUT = /^(?:invalid relative path|absolute path|invalid characters in fileName): (.*)$/s;

function damaged(file: string, error: unknown, signal?: AbortSignal): unknown {
  if (signal?.aborted) return signal.reason;
  if (error instanceof ProfilesError) return error;
  const [, name] = LEADS_OUT.exec((error as Error).message) ?? [];
  if (name !== undefined)
    return new InputError(`the zip archive contains a file whose name leads out of it: ${name}`, {
      file,
      hint: 'do not trust it; ask for another export',
      cause: error,
    });
  return new InputError(`the zip data is damaged or cut off: ${(error as Error).message}`, {
    file,
    hint: 'download or export it again; unzip -t tests it',
    cause: error,
  });
}
