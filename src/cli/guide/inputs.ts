/** The inputs of a guided import, and of `inspect`, while they are looked at. */
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ProfilesError } from '../../engine/errors.js';
import { ID_FIELD, type Kind } from '../../engine/model.js';
import { NUMBERS, type ReadOptions } from '../../engine/options.js';
import { lookAt, scanFirst } from '../../engine/plan/look.js';
import { misfitsIn } from '../../engine/plan/shared-types.js';
import {
  checkOpened,
  likeliestCompany,
  notSpooled,
  type OpenedInput,
  openInput,
  Pool,
} from '../../engine/read/index.js';
import {
  type AnySource,
  expandInputs,
  fetchSource,
  type Located,
  type SourceDeps,
} from '../../engine/run/sources.js';
import { privateFolder } from '../../engine/util/private-folder.js';
import type { Context } from '../context.js';
import { stopOnSignal, waiting } from '../output/display.js';
import { safeLine } from '../output/terminal.js';
import type { Found } from './questions.js';
import { withSharedTypes } from './shared-types.js';

/**
 * How inputs are read, and the maximum size of a request body, in bytes. `guess`: nobody is asked, so what is open is
 * guessed, and a rejects file is a file like any other.
 */
export type LookOptions = ReadOptions & { chunkBytes: number; guess?: true };
type Scanned = Parameters<typeof lookAt>[1] & { opened: OpenedInput };
/** What an input is worked on with. */
export type Deps = { pool: Pool; signal: AbortSignal };

/** Thrown to stop at a rejects file: the run that it came from says how it is read. */
const REJECTS = new Error('a rejects file');

/** What the rows of an input are, and the column of a user's company, if a person named it. */
type Identified = { kind: Kind; id: string; company?: string };

export class Inputs {
  readonly #inputs: { located: Located; opened: OpenedInput }[] = [];

  readonly #pool: Pool;
  #spool: string | undefined;

  constructor(
    readonly options: LookOptions,
    private readonly context: Context,
  ) {
    this.#pool = new Pool({ threads: Math.min(2, context.cores) });
  }

  async close(): Promise<void> {
    await this.#pool.close();
    if (this.#spool !== undefined) await rm(this.#spool, { recursive: true, force: true });
  }

  get opened(): OpenedInput[] {
    return this.#inputs.map(({ opened }) => opened);
  }

  /** Opens inputs as their columns say, or else as their likeliest kind. @returns false if one is a rejects file, which knows */
  async open(sources: readonly AnySource[]): Promise<boolean> {
    for (const source of sources) if (!(await this.#add(source))) return false;
    checkOpened(this.opened, this.options);
    return true;
  }

  async #add(source: AnySource): Promise<boolean> {
    const located = await this.#read(source.path, () => this.#fetch(source));
    const opening = this.#open(located).catch(async (error: ProfilesError) => {
      const { problem } = error;
      if (problem?.code === 'kind_unknown' || problem?.code === 'no_identifier')
        return this.#open(located, { guess: true });
      const isOpen = problem?.code === 'names_alike' && ID_FIELD[problem.kind] === problem.field;
      if (!isOpen || this.options.guess) throw error;
      const { kind, columns } = problem;
      return { ...(await this.#open(located, { kind, id: columns[0]! })), guessed: true as const };
    });
    try {
      this.#inputs.push({ located, opened: await opening });
      return true;
    } catch (error) {
      if (error === REJECTS) return false;
      throw error;
    }
  }

  /** Whether one of the files is a rejects file, whatever else is wrong with the others. */
  async hasRejects(sources: readonly AnySource[]): Promise<boolean> {
    for (const source of sources) {
      const opening = source.from === 'file' && this.#open(source, { guess: true });
      if (opening && (await opening.catch((error: unknown) => error)) === REJECTS) return true;
    }
    return false;
  }

  /** Sets what the rows of an input are. */
  async identify(path: string, { kind, id, company: named }: Identified): Promise<void> {
    for (const input of this.#inputs) {
      const { opened, located } = input;
      if (opened.path !== path || (!named && opened.kind === kind && opened.idColumn === id)) continue;
      const likely = kind === 'users' ? likeliestCompany(opened.columns.filter((one) => one !== id)) : null;
      const company = named ?? likely;
      input.opened = await this.#open(located, { kind, id, ...(company && { companyId: company }) });
    }
  }

  /** Works on one input after the other. */
  async each<T>(work: (opened: OpenedInput, deps: Deps, at: number) => Promise<T>): Promise<T[]> {
    const pool = this.#pool;
    const done: T[] = [];
    for (const [at, opened] of this.opened.entries())
      done.push(await this.#read(opened.path, (signal) => work(opened, { pool, signal }, at)));
    return done;
  }

  /** Looks at the first rows of all inputs. @param scanned by input, if they were scanned */
  async looks(scanned?: readonly Scanned[]): Promise<Found[]> {
    const { chunkBytes } = this.options;
    const looks = await this.each(async (whole, deps, at) => {
      const first = scanned?.[at] ?? (await scanFirst(whole, { chunkBytes, ...deps }));
      return lookAt(first.opened, first, deps.signal);
    });
    return withSharedTypes(looks, (path, tries) => {
      const opened = this.opened.find((one) => one.path === path)!;
      return this.#read(path, (signal) => misfitsIn(opened, tries, signal));
    });
  }

  #open(located: Located, more: Partial<LookOptions> = {}): Promise<OpenedInput> {
    const { options } = this;
    const rejects = (): never => {
      throw REJECTS;
    };
    const about = { ...options, ...more, ...located, cwd: this.context.cwd, inputs: options.paths };
    const asked = options.guess ? about : { ...about, rejects };
    return this.#read(located.path, (signal) => openInput(asked, signal));
  }

  /** Makes a private copy of an input that is no file. */
  async #fetch(source: AnySource): Promise<Located> {
    const { stateDir, timeoutMs } = await this.context.settings();
    const at = ['spool', `inspect-${randomUUID()}`];
    const folder = (): string => {
      try {
        this.#spool ??= privateFolder(stateDir, ...at);
        return this.#spool;
      } catch (error) {
        throw error instanceof ProfilesError ? error : notSpooled(source.path, join(stateDir, ...at), error);
      }
    };
    const fetching = fetchSource(source, folder, sourceDeps(this.context, timeoutMs));
    for (;;) {
      const next = await fetching.next(); // progress is not shown: there is a spinner
      if (next.done) return next.value;
      if (next.value.type === 'warning') this.context.warn(next.value.message);
    }
  }

  /** Reads an input: a spinner says which, and a signal ends it. */
  #read<T>(path: string, work: (stop: AbortSignal) => Promise<T>): Promise<T> {
    return waiting(`reading ${safeLine(path)}`, this.context, work);
  }
}

/** Gives the work the inputs of these options, with a spool and threads. */
export async function whileReading<T>(
  options: LookOptions,
  context: Context,
  work: (inputs: Inputs) => Promise<T>,
): Promise<T> {
  const inputs = new Inputs(options, context);
  try {
    return await work(inputs);
  } finally {
    await inputs.close();
  }
}

/** The inputs that are meant by what was typed. @throws InputError; InterruptedError */
export const sourcesOf = (paths: readonly string[], context: Context): Promise<AnySource[]> =>
  stopOnSignal(context, () => expandInputs(paths, sourceDeps(context)));

const sourceDeps = (context: Context, timeoutMs: number = NUMBERS.timeoutMs.default): SourceDeps => ({
  ...context,
  random: Math.random,
  download: { timeoutMs, proxy: context.env },
});
