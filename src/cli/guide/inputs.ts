/** The inputs of a guided import while they are looked at. What keeps one from being read is asked. */
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ProfilesError } from '../../engine/errors.js';
import type { Kind } from '../../engine/model.js';
import { NUMBERS, type ReadOptions } from '../../engine/options.js';
import { type Look, lookAt, scanFirst } from '../../engine/plan/look.js';
import type { Problem } from '../../engine/problems.js';
import { likeliestCompany, notSpooled, type OpenedInput, openInput, Pool } from '../../engine/read/index.js';
import { type AnySource, fetchSource, type Located, type SourceDeps } from '../../engine/run/sources.js';
import { privateFolder } from '../../engine/util/private-folder.js';
import type { Context } from '../context.js';
import { stopOnSignal, whileWaiting } from '../output/display.js';
import { safeLine } from '../output/terminal.js';
import type { Choice, Prompter } from '../prompts/plain.js';

/** A flag that makes an input readable. */
interface Fix {
  flag: string;
  value: string;
}

/** How inputs are read, and the maximum size of a request body, in bytes. */
export type LookOptions = ReadOptions & { chunkBytes: number };

export class Inputs {
  /** Flags that were answered, by their names in the table of options. */
  readonly flags: Record<string, unknown> = {};
  readonly #inputs: { located: Located; opened: OpenedInput }[] = [];

  constructor(
    public options: LookOptions,
    private readonly remake: (flags: Readonly<Record<string, unknown>>) => Promise<LookOptions>,
    private readonly how: Reading & { ask: () => Promise<Prompter> },
    private readonly context: Context,
  ) {}

  get opened(): OpenedInput[] {
    return this.#inputs.map(({ opened }) => opened);
  }

  /** Opens an input as its columns say, or else as its likeliest kind. @returns false for a rejects file, which knows */
  async open(source: AnySource): Promise<boolean> {
    const located = await this.how.read(source.path, () => this.how.spool.fetch(source));
    let guess = false;
    for (;;) {
      try {
        this.#inputs.push({ located, opened: await this.#open(located, { guess }) });
        return true;
      } catch (error) {
        if (error === REJECTS) return false;
        const { problem } = error as ProfilesError;
        const open = problem?.code === 'kind_unknown' || problem?.code === 'no_identifier';
        if (open && !guess) guess = true;
        else if (!(await this.#fix(error, source.path, guess))) guess = true;
      }
    }
  }

  /** Whether a file is a rejects file. Other problems are for `open`. */
  isRejects(file: Located): Promise<boolean> {
    return this.#open(file, { guess: true }).then(
      () => false,
      (error) => error === REJECTS,
    );
  }

  /** Sets what the rows of an input are. */
  async identify(path: string, { kind, id }: { kind: Kind; id: string }): Promise<void> {
    for (const input of this.#inputs) {
      const { opened, located } = input;
      if (opened.path !== path || (opened.kind === kind && opened.idColumn === id)) continue;
      const company = kind === 'users' ? likeliestCompany(opened.columns.filter((one) => one !== id)) : null;
      const companyId = company ?? undefined;
      input.opened = await this.#open(located, { kind, id, ...(companyId && { companyId }) });
    }
  }

  /** Looks at all inputs. */
  async looks(): Promise<Look[]> {
    const { pool } = this.how;
    const { chunkBytes } = this.options;
    const looks: Look[] = [];
    for (const { opened } of this.#inputs) {
      const look = await this.how.read(opened.path, async (signal) => {
        const first = await scanFirst(opened, { chunkBytes, pool, signal });
        return lookAt(first.opened, first, signal);
      });
      looks.push(look);
    }
    return looks;
  }

  #open(
    located: Located,
    more: { guess?: boolean; kind?: Kind; id?: string; companyId?: string },
  ): Promise<OpenedInput> {
    const { cwd } = this.context;
    const { options } = this;
    const rejects = (): never => {
      throw REJECTS;
    };
    const inputs = options.paths;
    return this.how.read(located.path, (signal) =>
      openInput({ ...options, ...more, ...located, cwd, inputs, rejects }, signal),
    );
  }

  /** Asks for the flag that makes an input readable. @returns false to read it as it is @throws the error if nothing helps */
  async #fix(error: unknown, path: string, guess: boolean): Promise<boolean> {
    if (!(error instanceof ProfilesError)) throw error;
    const fixes = fixesFor(error.problem);
    if (fixes.length === 0) throw error;
    const prompter = await this.how.ask();
    const certain = guess || !hasOtherReading(error.problem);
    const chosen = await prompter.choose<Fix | null>(
      error.problem?.code === 'wrong_encoding'
        ? `${path}: in which encoding does this line read right?`
        : `${path}: where are its rows?`,
      [...fixes, { value: null, label: certain ? 'stop' : 'at its beginning' }],
    );
    if (chosen === null && certain) throw error;
    if (chosen === null) return false;
    this.flags[chosen.flag] = chosen.value;
    this.options = await this.remake(this.flags);
    return true;
  }
}

/** Thrown to stop at a rejects file: the run that it came from says how it is read. */
const REJECTS = new Error('a rejects file');

const hasOtherReading = (problem: Problem | undefined): boolean =>
  (problem?.code === 'rows_in_array' || problem?.code === 'rows_in_sheet') && problem.otherwise !== null;

/** The flags that may help, as choices. */
function fixesFor(problem: Problem | undefined): Choice<Fix>[] {
  const fix = (flag: string, value: string, label: string): Choice<Fix> => ({
    value: { flag, value },
    label,
  });
  switch (problem?.code) {
    case 'wrong_encoding':
      return problem.suggestions.map(({ encoding, line }) =>
        fix('encoding', encoding, `${encoding}: ${line}`),
      );
    case 'title_above_header': {
      const { lines } = problem;
      const above = lines === 1 ? 'the first line, which is' : `the first ${lines} lines, which are`;
      return [fix('skipLines', String(lines), `below ${above} no header`)];
    }
    case 'rows_in_array':
      return [fix('jsonPath', problem.jsonPath, `in the array ${problem.jsonPath}`)];
    case 'rows_in_sheet':
      return [fix('sheet', problem.sheet, `in the sheet ${problem.sheet}`)];
    case 'sheet_empty':
      return problem.others.map((sheet) => fix('sheet', sheet, `in the sheet ${sheet}`));
    default:
      return [];
  }
}

/** Private copies of inputs that are no files. */
class Spool {
  #folder: string | undefined;
  #copies = 0;

  constructor(private readonly context: Context) {}

  async fetch(source: AnySource): Promise<Located> {
    const { stateDir, timeoutMs } = await this.context.settings();
    const folder = (): string => {
      const at = ['spool', `inspect-${randomUUID()}`];
      try {
        this.#folder ??= privateFolder(stateDir, ...at);
        return this.#folder;
      } catch (error) {
        if (error instanceof ProfilesError) throw error;
        throw notSpooled(source.path, join(stateDir, ...at), error);
      }
    };
    const name = `input-${++this.#copies}`;
    const fetching = fetchSource(source, { folder, name }, sourceDeps(this.context, timeoutMs));
    for (;;) {
      const next = await fetching.next(); // progress is not shown: there is a spinner
      if (next.done) return next.value;
      if (next.value.type === 'warning') this.context.warn(next.value.message);
    }
  }

  async remove(): Promise<void> {
    if (this.#folder !== undefined) await rm(this.#folder, { recursive: true, force: true });
  }
}

export interface Reading {
  spool: Spool;
  pool: Pool;
  /** Reads an input: a spinner says which, and a signal ends it. */
  read<T>(path: string, work: (stop: AbortSignal) => Promise<T>): Promise<T>;
}

/** Gives the work what reads inputs: a spool and threads. */
export async function whileReading<T>(context: Context, work: (reading: Reading) => Promise<T>): Promise<T> {
  const spool = new Spool(context);
  const pool = new Pool({ threads: Math.min(2, context.cores) });
  const read: Reading['read'] = (path, of) =>
    whileWaiting(`reading ${safeLine(path)}`, context, () => stopOnSignal(context, of));
  try {
    return await work({ spool, pool, read });
  } finally {
    await pool.close();
    await spool.remove();
  }
}

export const sourceDeps = (context: Context, timeoutMs: number = NUMBERS.timeoutMs.default): SourceDeps => ({
  ...context,
  random: Math.random,
  download: { timeoutMs, proxy: context.env },
});
