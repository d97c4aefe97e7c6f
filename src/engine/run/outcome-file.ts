/** The file that takes what became of each row (contract §3 "Result"): made beside its name, and given the name once it is whole. */
import { accessSync, constants, realpathSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { InputError, OutputError } from '../errors.js';
import { OUTCOME_FIELDS } from '../read/index.js';
import { Replacement } from '../replace-file.js';
import type { RowOutcome } from './outcome.js';

export interface OutcomeRow extends RowOutcome {
  file: string;
  line: number;
  /** As it was sent; what stands in its place where a row is rejected. */
  id: string;
}

/** A row as text, by the name of the file. CSV as RFC 4180 has it, cells unaltered. */
export interface OutcomeForm {
  head: string;
  line(row: OutcomeRow): string;
}

const CSV: OutcomeForm = {
  head: `${OUTCOME_FIELDS.join(',')}\n`,
  line: (row) => `${OUTCOME_FIELDS.map((field) => cell(row[field])).join(',')}\n`,
};
const NDJSON: OutcomeForm = {
  head: '',
  line: (row) =>
    `${JSON.stringify(Object.fromEntries(OUTCOME_FIELDS.map((field) => [field, row[field]])))}\n`,
};

const formOf = (path: string): OutcomeForm => (/\.(?:ndjson|jsonl)$/i.test(path) ? NDJSON : CSV);

function cell(value: string | number | null): string {
  if (value === null) return '';
  const text = String(value);
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * Whether a file can be written, before anything is sent.
 * @param path absolute
 * @param taken files that must stay as they are
 * @throws InputError
 */
export function checkOutcomesFile(path: string, taken: readonly string[]): void {
  const found = statSync(path, { throwIfNoEntry: false });
  const refuse = (why: string, cause?: unknown): InputError =>
    new InputError(`the outcomes of rows cannot be written here: ${why}`, {
      file: path,
      problem: { code: 'outcomes_file' },
      hint: 'name another file',
      cause,
    });
  if (found?.isDirectory()) throw refuse('it is a directory');
  if (found && taken.some((other) => isSame(found, statSync(other, { throwIfNoEntry: false })))) {
    throw refuse('it is a file of this import');
  }
  try {
    if (found) accessSync(path, constants.W_OK);
    if (!found || found.isFile()) accessSync(dirname(realpath(path)), constants.W_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw refuse(code === 'ENOENT' ? 'there is no such directory' : String(code ?? error), error);
  }
}

const isSame = (a: Stats, b: Stats | undefined): boolean => a.dev === b?.dev && a.ino === b.ino;

/** Where a link leads; the path itself where there is nothing yet. */
function realpath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

const BUFFERED = 1024 * 1024;

export class OutcomesFile {
  #file: Replacement | null = null;
  #pending: string[] = [];
  #size = 0;
  readonly #form: OutcomeForm;

  /** @param path absolute */
  constructor(private readonly path: string) {
    this.#form = formOf(path);
  }

  add(row: OutcomeRow): void {
    const line = this.#form.line(row);
    this.#pending.push(line);
    this.#size += line.length;
  }

  /** Writes what was added, once it is much. @throws OutputError */
  async drain(): Promise<void> {
    if (this.#size > BUFFERED) await this.#attempt(() => this.#write());
  }

  /** @throws OutputError */
  async finish(): Promise<void> {
    await this.#attempt(async () => {
      await this.#write();
      await this.#file!.commit();
      this.#file = null;
    });
  }

  /** Leaves nothing behind of a file that is not whole. */
  async discard(): Promise<void> {
    await this.#file?.discard();
    this.#file = null;
  }

  async #write(): Promise<void> {
    const text = this.#pending.join('');
    this.#pending = [];
    this.#size = 0;
    if (this.#file) return this.#file.write(text);
    this.#file = await Replacement.begin(this.path);
    await this.#file.write(this.#form.head + text);
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      throw new OutputError(this.path, error as Error);
    }
  }
}
