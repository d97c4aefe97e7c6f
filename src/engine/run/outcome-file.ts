/** The file that takes what became of each row (contract §3 "Result"): made beside its name, and given the name once it is whole. */
import { randomBytes } from 'node:crypto';
import { accessSync, constants, realpathSync, rmSync, type Stats, statSync } from 'node:fs';
import { type FileHandle, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { InputError, OutputError } from '../errors.js';
import type { RowOutcome } from './outcome.js';

export interface OutcomeRow extends RowOutcome {
  file: string;
  line: number;
  /** As it was sent; what stands in its place where a row is rejected. */
  id: string;
}

const FIELDS = ['file', 'line', 'id', 'outcome', 'request', 'job_id', 'reason'] as const;

/** A row as text, by the name of the file. CSV as RFC 4180 has it, cells unaltered. */
export interface OutcomeForm {
  head: string;
  line(row: OutcomeRow): string;
}

const CSV: OutcomeForm = {
  head: `${FIELDS.join(',')}\n`,
  line: (row) => `${FIELDS.map((field) => cell(row[field])).join(',')}\n`,
};
const NDJSON: OutcomeForm = {
  head: '',
  line: (row) => `${JSON.stringify(Object.fromEntries(FIELDS.map((field) => [field, row[field]])))}\n`,
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

/** Mode 0600: identifiers are personal data. A device or a pipe is written to as it is. */
export class OutcomesFile {
  #handle: FileHandle | null = null;
  #temporary: string | null = null;
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
      if (this.#temporary) await this.#handle!.sync();
      await this.#handle!.close();
      this.#handle = null;
      if (this.#temporary) await rename(this.#temporary, realpath(this.path));
      this.#temporary = null;
    });
  }

  /** Leaves nothing behind of a file that is not whole. */
  async discard(): Promise<void> {
    await this.#handle?.close().catch(() => {});
    this.#handle = null;
    if (this.#temporary) rmSync(this.#temporary, { force: true });
    this.#temporary = null;
  }

  async #write(): Promise<void> {
    const text = this.#pending.join('');
    this.#pending = [];
    this.#size = 0;
    if (this.#handle) return this.#handle.writeFile(text);
    const found = statSync(this.path, { throwIfNoEntry: false });
    if (!found || found.isFile()) {
      this.#temporary = `${realpath(this.path)}.${randomBytes(4).toString('hex')}.tmp`;
      this.#handle = await open(this.#temporary, 'wx', 0o600);
    } else this.#handle = await open(this.path, 'w');
    await this.#handle.writeFile(this.#form.head + text);
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      throw new OutputError(this.path, error as Error);
    }
  }
}
