/**
 * Makes every input available as a file. Downloads, archive members, and stdin are copied into the private folder of the
 * run, and stay there until the run has finished. Those of a run that continues are found again (contract §10 "Relay").
 */
import {
  closeSync,
  existsSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  realpathSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { InputError, UsageError } from '../errors.js';
import type { ImportEvent } from '../events.js';
import {
  type DigestedFile,
  digestFile,
  expandInput,
  isArchive,
  leftOutOf,
  notSpooled,
  type Source,
  spoolStdin,
  unpackMember,
} from '../read/index.js';
import { isWebAddress, parseWebAddress, type WebAddress } from '../service/address.js';
import { download, type Sink } from '../service/download.js';
import { placesOf, type Recorded, type RecordedInput } from './recorded.js';
import type { ImportDeps } from './start.js';

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

/** Expands patterns, folders and archives to sources. Fetches nothing. @throws InputError; UsageError, also for a file that is named twice */
export async function expandInputs(paths: readonly string[], deps: SourceDeps): Promise<AnySource[]> {
  const where = { cwd: deps.cwd, windows: deps.platform === 'win32', signal: deps.stop };
  const found: AnySource[] = [];
  for (const path of paths) {
    const address = parseWebAddress(path);
    if (address) found.push({ from: 'web', path: address.shown, ...address });
    else found.push(...(await expandInput(path, where)));
  }
  const seen = new Set<string>();
  for (const source of found) {
    if (!('location' in source)) continue;
    const place = JSON.stringify([source.location, source.from === 'zip' && source.member]);
    if (seen.has(place)) {
      const sentence = `${source.path} is listed more than once, directly or through a folder or pattern`;
      throw new UsageError(sentence, { hint: 'name each file once' });
    }
    seen.add(place);
  }
  return found;
}

/** How many files of a folder a warning names. */
const MOST_LEFT_OUT = 5;

/** Warns of files in folders that may have rows, and that no source is. */
export async function leftOutWarnings(
  paths: readonly string[],
  sources: readonly AnySource[],
  { cwd }: Pick<SourceDeps, 'cwd'>,
): Promise<string[]> {
  const named = sources.map((one) => ('location' in one ? one.location : null));
  const warnings: string[] = [];
  for (const path of paths) {
    const files = (await leftOutOf(path, { cwd })).filter(
      (name) => !named.includes(resolve(cwd, path, name)),
    );
    const few = files.length > MOST_LEFT_OUT ? [...files.slice(0, MOST_LEFT_OUT), '…'] : files;
    if (files.length > 0)
      warnings.push(`${path}: archives and older workbooks in a folder are left out: ${few.join(', ')}`);
  }
  return warnings;
}

/**
 * Makes a source available as a file. Each copy has a new place: an earlier session may have died while it wrote one.
 * @param spool returns the folder for copies, created if needed; the caller removes it
 * @throws InputError NetworkError StateError; the signal's reason
 */
export async function* fetchSource(
  source: AnySource,
  spool: () => string,
  deps: SourceDeps,
): AsyncGenerator<ImportEvent, Located> {
  if (source.from === 'file') return source;
  const folder = mkdtempSync(join(spool(), 'copy-'));
  const to = join(folder, 'input');
  if (source.from === 'zip') {
    const { path, location, member } = source;
    const wanted = { path, member, join: (inside: string) => `${path}:${inside}` };
    return { path: await unpackMember(location, to, wanted, deps.stop), location: to };
  }
  if (source.from === 'stdin') {
    const location = await spoolStdin(deps.stdin(), folder, deps.stop);
    const copy = { path: '-', location, member: null, join: (inside: string) => inside };
    return { ...(await unpacked(copy, to, deps.stop)), path: '-' };
  }
  const { shown: path, member } = source;
  const location = `${to}.download`;
  yield* fetchWeb(source, location, deps);
  return unpacked({ path, location, member, join: (inside) => `${path}#${inside}` }, to, deps.stop);
}

interface Archive extends Located {
  /** Null: the archive must have only one member. */
  member: string | null;
  /** Returns the name of a member for messages. */
  join: (member: string) => string;
}

/** Unpacks a member of a copied archive, and removes that copy. What is no archive stays as it is. */
async function unpacked(copy: Archive, to: string, signal: AbortSignal): Promise<Located> {
  const { path, location, member } = copy;
  if (!(await isArchive(location, path, signal))) {
    if (member === null) return { path, location };
    throw new InputError(`is not a zip archive, so there is no "${member}" in it`, { file: path });
  }
  const inside = await unpackMember(location, to, copy, signal);
  await rm(location, { force: true });
  return { path: inside, location: to };
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

/**
 * Finds each input: by digest among the named files, otherwise where it was, or at its path relative to the current folder.
 * Downloads and archive members are fetched again if their copies are not on this machine.
 * @param named files that are inputs, but not necessarily all of them
 * @param spool returns the folder for copies
 * @throws InputError if a named file is not an input, or an input is not found
 */
export async function* locate(
  record: Recorded,
  named: readonly string[],
  spool: () => string,
  deps: ImportDeps,
): AsyncGenerator<ImportEvent, Located[]> {
  const others: (Located & DigestedFile)[] = [];
  for (const source of await expandInputs(named, deps)) {
    const located = yield* fetchSource(source, spool, deps);
    others.push({ ...located, ...(await digestFile(located, deps.stop)) });
  }
  const stray = others.find(({ digest }) => !record.inputs.some((input) => input.digest === digest));
  if (stray) {
    const message = `is not an input of ${record.name}, or its content has changed`;
    throw new InputError(message, { file: stray.path, hint: record.otherwise });
  }
  const places = placesOf(deps.state, record);
  const found: Located[] = [];
  for (const [index, input] of record.inputs.entries()) {
    const at = others.findIndex(({ digest }) => digest === input.digest);
    const [other] = at >= 0 ? others.splice(at, 1) : [];
    const location =
      other?.location ??
      (await onThisMachine(input, places.get(index), deps)) ??
      (yield* fetchAgain(record, input, spool, deps));
    // A run names it as it began; a plan, as it is named now.
    found.push({ path: input.location === undefined ? (other?.path ?? input.path) : input.path, location });
  }
  return found;
}

/**
 * The location of the input on this machine; null if there is none. A single candidate is not read here: if it has changed,
 * the scan finds a different digest.
 */
async function onThisMachine(
  { path, location, digest }: RecordedInput,
  known: string | undefined,
  { cwd, stop }: ImportDeps,
): Promise<string | null> {
  const isFetched = path === '-' || isWebAddress(path);
  const places = [known, location, isFetched ? undefined : resolve(cwd, path)];
  const existing = places.filter((place) => place !== undefined && existsSync(place)) as string[];
  const here = [...new Map(existing.map((place) => [realpathSync(place), place])).values()];
  for (const place of here.length > 1 ? here : []) {
    if ((await digestFile({ path, location: place }, stop)).digest === digest) return place;
  }
  return here[0] ?? null;
}

/** @throws InputError if it cannot be fetched again */
async function* fetchAgain(
  { name, missing }: Recorded,
  { path, location }: RecordedInput,
  spool: () => string,
  deps: ImportDeps,
): AsyncGenerator<ImportEvent, string> {
  const details = missing(path);
  if (path === '-') throw new InputError(`${name} read stdin, and there is no copy of it here`, details);
  try {
    const [source, ...more] = await expandInputs([path], deps);
    if (source && source.from !== 'file' && more.length === 0) {
      return (yield* fetchSource(source, spool, deps)).location;
    }
  } catch (error) {
    // The address may have failed because its signature is not stored, so the hint is to name a file.
    if (error instanceof InputError) throw new InputError(error.message, { ...details, cause: error });
    throw error;
  }
  const was = location !== undefined && basename(location) === basename(path);
  const message = location === undefined ? 'no such file' : 'not found here';
  throw new InputError(was ? `${message}; ${name} read it from ${location}` : message, {
    file: path,
    ...details,
  });
}
