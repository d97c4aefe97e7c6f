/**
 * The file with the outcome of each row (contract §3 "Result"). It is written under a temporary name, and
 * renamed when it is complete.
 */
import { type Stats, statSync } from 'node:fs';
import { InputError, OutputError } from '../errors.js';
import { isOutcomes, OUTCOME_FIELDS } from '../read/index.js';
import { type PipeSignals, Replacement } from '../util/replace-file.js';
import { type FileKind, obstacle } from '../util/written-file.js';
import type { RowOutcome } from './outcome.js';

export interface OutcomeRow extends RowOutcome {
  file: string;
  line: number;
  /** The identifier as it was sent; for a rejected or filtered row, the text of its cell. */
  id: string;
}

/**
 * How rows are written: NDJSON or CSV, by the extension of the file. CSV follows RFC 4180; cells are not
 * escaped for spreadsheets.
 */
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
 * Checks that the file can be written. Called before anything is sent.
 * @param path absolute
 * @param taken absolute paths of files that must not be replaced
 * @param clash why the import itself may write another file with this name; null if it does not
 * @throws InputError if the file cannot be written, or would replace one of these
 */
export function checkOutcomesFile(path: string, taken: readonly string[], clash: string | null): void {
  const refuse = (why: string): InputError =>
    new InputError(`the outcomes of rows cannot be written here: ${why}`, {
      file: path,
      problem: { code: 'outcomes_file' },
      hint: 'name another file',
    });
  const found = statOf(path);
  if (found && taken.some((other) => isSame(found, statOf(other))))
    throw refuse('it is a file of this import');
  const why = obstacle(path, OUTCOMES);
  if (why !== null) throw refuse(why);
  if (clash !== null) throw refuse(clash);
}

const OUTCOMES: FileKind = { name: 'a file of outcomes', isOne: isOutcomes, streams: true };

const isSame = (a: Stats, b: Stats | null): boolean => a.dev === b?.dev && a.ino === b.ino;

function statOf(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null; // it does not exist, or the error is that of `obstacle`
  }
}

const BUFFERED = 1024 * 1024;

export class OutcomesFile {
  #file: Replacement | null = null;
  #pending: string[] = [];
  #size = 0;
  readonly #form: OutcomeForm;

  /** @param path absolute */
  constructor(
    private readonly path: string,
    private readonly signals: PipeSignals,
  ) {
    this.#form = formOf(path);
  }

  add(row: OutcomeRow): void {
    const line = this.#form.line(row);
    this.#pending.push(line);
    this.#size += line.length;
  }

  /** Writes the added rows if there are more than `BUFFERED` characters. @throws OutputError */
  async drain(): Promise<void> {
    if (this.#size > BUFFERED) await this.#attempt(() => this.#write());
  }

  /** Writes the remaining rows, and gives the file its final name. @throws OutputError */
  async finish(): Promise<void> {
    await this.#attempt(async () => {
      await this.#write();
      await this.#file!.commit();
      this.#file = null;
    });
  }

  /** Removes an incomplete file. */
  async discard(): Promise<void> {
    await this.#file?.discard();
    this.#file = null;
  }

  async #write(): Promise<void> {
    const text = this.#pending.join('');
    this.#pending = [];
    this.#size = 0;
    if (this.#file) return this.#file.write(text);
    this.#file = await Replacement.begin(this.path, this.signals);
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
