/**
 * Makes every input available as a file. Downloads, archive members, and stdin are copied into the private
 * folder of the run, and stay there until the run has finished.
 */
import { closeSync, ftruncateSync, openSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { InputError } from '../errors.js';
import type { ImportEvent } from '../events.js';
import {
  type DigestedFile,
  digestFile,
  expandInput,
  isArchive,
  memberOf,
  notSpooled,
  type Source,
  spoolStdin,
  unpackMember,
} from '../read/index.js';
import { parseWebAddress, type WebAddress } from '../service/address.js';
import { download, type Sink } from '../service/download.js';
import type { ImportDeps } from './deps.js';

export type SourceDeps = Pick<
  ImportDeps,
  'cwd' | 'platform' | 'stdin' | 'stop' | 'clock' | 'random' | 'download'
>;

export type AnySource = Source | ({ from: 'web'; path: string } & WebAddress);

/** An input that can be opened. */
export interface Located {
  /** The name in messages and reports: a path, an address without its query string, or `-` for stdin. */
  path: string;
  location: string;
}

/** The paths as they may be printed: web addresses without their signatures. */
export const shownInputs = (paths: readonly string[]): string[] =>
  paths.map((path) => parseWebAddress(path)?.shown ?? path);

/** Expands patterns, folders and archives to sources. Fetches nothing. @throws InputError UsageError */
export async function expandInputs(paths: readonly string[], deps: SourceDeps): Promise<AnySource[]> {
  const where = { cwd: deps.cwd, windows: deps.platform === 'win32', signal: deps.stop };
  const found: AnySource[] = [];
  for (const path of paths) {
    const address = parseWebAddress(path);
    if (address) found.push({ from: 'web', path: address.shown, ...address });
    else found.push(...(await expandInput(path, where)));
  }
  return found;
}

/**
 * Makes a source available as a file.
 * @param folder returns the private folder of the run, created if needed; the caller removes it
 * @param name file name of the copy in it
 * @throws InputError NetworkError StateError; the signal's reason
 */
export async function* fetchSource(
  source: AnySource,
  { folder, name }: { folder: () => string; name: string },
  deps: SourceDeps,
): AsyncGenerator<ImportEvent, Located> {
  if (source.from === 'file') return source;
  const to = join(folder(), name);
  if (source.from === 'zip') {
    const { path, location, member } = source;
    return unpack({ path, location, member, join: (inside) => `${path}:${inside}` }, to, deps.stop);
  }
  if (source.from === 'stdin') {
    const location = await spoolStdin(deps.stdin(), folder(), deps.stop);
    const copy = { path: '-', location, member: null, join: (inside: string) => inside };
    return { ...(await unpackCopy(copy, to, deps.stop)), path: '-' };
  }
  const { shown: path, member } = source;
  const location = `${to}.download`;
  yield* fetchWeb(source, location, deps);
  return unpackCopy({ path, location, member, join: (inside) => `${path}#${inside}` }, to, deps.stop);
}

/** An input with its digest. */
export interface DigestedInput extends Located, DigestedFile {}

/** Makes the sources of one input available as files, and computes their digests. @throws as `fetchSource` */
export async function* digestInputs(
  path: string,
  copy: () => Parameters<typeof fetchSource>[1],
  deps: SourceDeps,
): AsyncGenerator<ImportEvent, DigestedInput[]> {
  const found: DigestedInput[] = [];
  for (const source of await expandInputs([path], deps)) {
    const located = yield* fetchSource(source, copy(), deps);
    found.push({ ...located, ...(await digestFile(located, deps.stop)) });
  }
  return found;
}

interface Archive extends Located {
  /** Null: the archive must have only one member. */
  member: string | null;
  /** Returns the name of a member for messages. */
  join: (member: string) => string;
}

async function unpack(archive: Archive, to: string, signal: AbortSignal): Promise<Located> {
  const { path, location, member: wanted, join } = archive;
  const entry = await memberOf(location, { path, wanted, join }, signal);
  const shown = join(entry.fileName);
  await unpackMember(location, { entry, shown, to }, signal);
  return { path: shown, location: to };
}

/**
 * Unpacks a member of a copied archive, and removes the copy. Returns a copy that is not an archive as it is.
 */
async function unpackCopy(copy: Archive, to: string, signal: AbortSignal): Promise<Located> {
  const { path, location, member } = copy;
  if (!(await isArchive(location, path, signal))) {
    if (member === null) return { path, location };
    throw new InputError(`is not a zip archive, so there is no "${member}" in it`, { file: path });
  }
  const unpacked = await unpack(copy, to, signal);
  await rm(location, { force: true });
  return unpacked;
}

async function* fetchWeb(address: WebAddress, to: string, deps: SourceDeps): AsyncGenerator<ImportEvent> {
  const { stop: signal, clock, random } = deps;
  const { shown } = address;
  const attempt = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw notSpooled(shown, to, error);
    }
  };
  const file = attempt(() => openSync(to, 'ax', 0o600));
  const sink: Sink = {
    write: (chunk) => attempt(() => writeFileSync(file, chunk)),
    restart: () => attempt(() => ftruncateSync(file)),
  };
  const receiving = download(address, sink, { ...deps.download, signal, clock, random });
  try {
    for (;;) {
      const next = await receiving.next();
      if (next.done) {
        if (!next.value.sure) yield { type: 'warning', message: `${shown}: ${NOT_SURE}` };
        return;
      }
      const { bytes, total } = next.value;
      const counts = { kind: null, rows: 0, total_rows: null, bytes, total_bytes: total };
      yield { type: 'progress', phase: 'downloading', ...counts };
    }
  } finally {
    await receiving.return(undefined as never);
    closeSync(file);
  }
}

const NOT_SURE = 'the server did not say how long the file is, so a copy that was cut off would look whole';
