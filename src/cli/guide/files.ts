/** Mapping files beside the inputs: the one that an earlier import saved, and the one that this import saves. */
import { existsSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { UsageError } from '../../engine/errors.js';
import { fileTrouble, noRoom } from '../../engine/file-trouble.js';
import type { MappingFile } from '../../engine/read/index.js';
import { replaceFile } from '../../engine/replace-file.js';
import { isWebAddress } from '../../engine/service/web-address.js';

/** Several inputs share one name, so that a later import of all of them finds it. */
const SHARED = 'profiles';

/** The path of the mapping file for these inputs, without its ending. */
function stemOf(paths: readonly string[], cwd: string): string {
  const [only = '', other] = paths;
  const isFile = !isWebAddress(only) && existsSync(resolve(cwd, only));
  const folder = isFile ? dirname(only) : '.';
  const name = other === undefined && isFile ? basename(only, extname(only)) : SHARED;
  return join(folder, name);
}

/** The mapping file that lies beside these inputs; null if there is none. */
export function mappingBeside(paths: readonly string[], cwd: string): string | null {
  const path = `${stemOf(paths, cwd)}.mapping.json`;
  return existsSync(resolve(cwd, path)) ? path : null;
}

/** The first free name for a mapping file beside these inputs. */
export function freeName(paths: readonly string[], cwd: string): string {
  const stem = stemOf(paths, cwd);
  for (let number = 1; ; number++) {
    const path = `${stem}${number === 1 ? '' : `-${number}`}.mapping.json`;
    if (!existsSync(resolve(cwd, path))) return path;
  }
}

/**
 * Writes the mapping to a new file.
 * @param isReplaced whether to replace a file that exists, which may be somebody's work @param flag for messages
 * @throws UsageError, OutputError
 */
export async function saveMapping(
  path: string,
  mapping: MappingFile,
  { cwd, isReplaced = false, flag = '' }: { cwd: string; isReplaced?: boolean; flag?: string },
): Promise<void> {
  const place = resolve(cwd, path);
  const text = `${JSON.stringify(mapping, null, 2)}\n`;
  try {
    if (!isReplaced && existsSync(place)) throw existing(`${flag}${path}`);
    await replaceFile(place, text);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const full = noRoom(path, error);
    if (full) throw full;
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'its folder does not exist' : fileTrouble(code);
    throw new UsageError(`${flag}${path} cannot be written: ${why}`, { cause: error });
  }
}

const existing = (named: string): UsageError =>
  new UsageError(`${named} already exists`, {
    hint: 'choose another file, or replace this one with --force',
  });
