/** Finds the sources that inputs name: files, the files of a folder or pattern, and members of archives. */
import { readdir, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { InputError, UsageError } from '../../errors.js';
import { EXTENSIONS, formatOfName } from '../formats.js';
import { firstBytes } from '../text/source.js';
import { holdsNoRows, WRITTEN } from '../written.js';
import { isArchive } from './archive.js';

export type Source =
  | { from: 'stdin'; path: '-' }
  | { from: 'file'; path: string; location: string }
  /** `path` is the path of the archive. `member` is null for the only member. */
  | { from: 'zip'; path: string; location: string; member: string | null };

interface Where {
  cwd: string;
  /** Whether this is Windows: `\` separates folders, also in patterns. */
  windows: boolean;
  signal?: AbortSignal | undefined;
}

/**
 * The sources that one input names, in name order. The name of an existing file is never a pattern.
 * @throws InputError for a folder or pattern without files, and for a file that cannot be read
 */
export async function expandInput(path: string, where: Where): Promise<Source[]> {
  // An unset variable in a script must not mean the current folder.
  if (path === '')
    throw new UsageError('the name of an input is empty', { hint: 'name a file; . is this folder' });
  if (path === '-') return [{ from: 'stdin', path }];
  const location = resolve(where.cwd, path);
  const found = await stat(location).catch(() => null);
  if (found?.isDirectory()) return folder(path, where);
  if (found) return [await source(path, where)];
  const member = await memberNamed(path, where);
  if (member) return [member];
  if (isPattern(path)) return pattern(path, where);
  // Opening it says what is wrong.
  return [{ from: 'file', path, location }];
}

const isPattern = (path: string): boolean => /[*?[{]/.test(path);

async function source(path: string, { cwd, signal }: Where): Promise<Source> {
  const location = resolve(cwd, path);
  const zip = await isArchive(location, path, signal);
  return zip ? { from: 'zip', path, location, member: null } : { from: 'file', path, location };
}

const isFile = (location: string): Promise<boolean> =>
  stat(location).then(
    (found) => found.isFile(),
    () => false,
  );

/** The sources at these paths, without files of imports that contain no rows. */
async function sourcesOf(paths: readonly string[], where: Where): Promise<Source[]> {
  const sources: Source[] = [];
  for (const path of paths) {
    const location = resolve(where.cwd, path);
    const { bytes } = await firstBytes({ path, location }, START_BYTES);
    if (!(await holdsNoRows(location, bytes))) sources.push(await source(path, where));
  }
  return sources;
}

/** How much to read: the first line of a file of outcomes, or a whole mapping file. */
const START_BYTES = 64 * 1024;

/** The source for `archive.zip:member.csv`, if the archive exists. */
async function memberNamed(path: string, { cwd }: Where): Promise<Source | null> {
  for (const { index } of path.matchAll(/(?<=\.zip):./gi)) {
    const archive = path.slice(0, index);
    const location = resolve(cwd, archive);
    if (await isFile(location)) {
      return { from: 'zip', path: archive, location, member: path.slice(index + 1) };
    }
  }
  return null;
}

async function folder(path: string, where: Where): Promise<Source[]> {
  const entries = await readdir(resolve(where.cwd, path), { withFileTypes: true }).catch(
    (error: NodeJS.ErrnoException) => {
      throw new InputError(`the folder cannot be read (${error.code})`, { file: path, cause: error });
    },
  );
  const names = entries
    .filter((entry) => !entry.isDirectory())
    .map(({ name }) => name)
    .filter((name) => !name.startsWith('.') && !WRITTEN.test(name) && formatOfName(name) !== undefined)
    .sort();
  if (names.length === 0) {
    const known = [...EXTENSIONS.keys()].map((extension) => `.${extension}`).join(', ');
    throw new InputError('the folder contains no file of a known format', {
      file: path,
      hint: `it is searched for ${known}, packed ones too, but not in its subfolders: for those, use a pattern in quotes, such as '${path.replace(/\/+$/, '')}/**/*.csv'`,
    });
  }
  const join = path.endsWith('/') || (where.windows && path.endsWith('\\')) ? '' : '/';
  const paths = names.map((name) => `${path === '.' ? '' : path + join}${name}`);
  const sources = await sourcesOf(paths, where);
  if (sources.length > 0) return sources;
  throw new InputError('the folder contains only files that imports wrote', {
    file: path,
    hint: 'import the files that the rows are in',
  });
}

/** Files that may have rows, and that a folder does not mean. */
const LEFT_OUT = /^[^.].*\.(?:xls|xlsb|ods|zip)$/i;

/** Files of a folder that an import of it leaves out, although they may have rows; none for what is no folder. */
export async function leftOutOf(path: string, { cwd }: Pick<Where, 'cwd'>): Promise<string[]> {
  const found = await readdir(resolve(cwd, path), { withFileTypes: true }).catch(() => []);
  const files = found.filter((one) => !one.isDirectory() && LEFT_OUT.test(one.name));
  return files.map(({ name }) => name).sort();
}

async function pattern(path: string, where: Where): Promise<Source[]> {
  const { glob } = await import('tinyglobby');
  const found = await glob(where.windows ? path.replaceAll('\\', '/') : path, {
    cwd: where.cwd,
    absolute: path.startsWith('/'),
    expandDirectories: false,
    onlyFiles: true,
    // File names on Windows are not case-sensitive.
    caseSensitiveMatch: !where.windows,
    ...(where.signal && { signal: where.signal }),
  });
  where.signal?.throwIfAborted();
  const sources = await sourcesOf(found.filter((name) => !WRITTEN.test(name)).sort(), where);
  if (sources.length > 0) return sources;
  if (found.length > 0) {
    throw new InputError('only files that imports wrote match, and a pattern leaves those out', {
      file: path,
      hint: 'name the file itself, if it is a rejects file',
    });
  }
  throw new InputError('no file matches', {
    file: path,
    hint: 'check the folder and the pattern: * matches within a folder, ** any folders, {a,b} either',
  });
}
