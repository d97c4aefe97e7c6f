/** Creates the splitter for a dialect: the fast one for the plain dialect. Skips lines above the header. */
import type { Splitter } from '../text/splitter.js';
import type { RecordBatch, Start } from '../types.js';
import { type Dialect, isPlain } from './dialect.js';
import { DialectSplitter } from './dialect-splitter.js';
import type { CsvLimits } from './limits.js';
import type { Notes } from './notes.js';
import { CsvSplitter } from './splitter.js';

export interface SplitForm extends CsvLimits {
  maxColumns: number;
  dialect: Dialect;
  notes?: Notes | undefined;
  /** Plain dialect only: where the text begins. */
  from?: Start | undefined;
}

/** `header`: the first record is not data, and is in no batch. */
export function splitterOf(form: SplitForm, options: { header: boolean }): Splitter {
  const { dialect, from } = form;
  if (from) {
    return new CsvSplitter(
      { ...form, delimiter: dialect.delimiter, line: from.line, first: from.row },
      options,
    );
  }
  const line = dialect.skipLines + 1;
  const splitter = isPlain(dialect)
    ? new CsvSplitter({ ...form, delimiter: dialect.delimiter, line }, options)
    : new DialectSplitter({ ...form, line }, options);
  return dialect.skipLines > 0 ? new SkippingSplitter(dialect.skipLines, splitter) : splitter;
}

const LF = 0x0a;
const CR = 0x0d;

/** Skips the first lines of a text, regardless of their contents. */
class SkippingSplitter implements Splitter {
  #left: number;
  #passed = 1;
  #afterCr = false;

  constructor(
    lines: number,
    private readonly splitter: Splitter,
  ) {
    this.#left = lines;
  }

  get line(): number {
    return this.#left > 0 ? this.#passed : this.splitter.line;
  }

  push(chunk: Buffer): RecordBatch | null {
    let at = 0;
    for (; at < chunk.length && (this.#left > 0 || this.#afterCr); at++) {
      const byte = chunk[at];
      if (byte === LF && this.#afterCr) {
        this.#afterCr = false;
        continue;
      }
      this.#afterCr = false;
      if (this.#left === 0) break;
      if (byte !== LF && byte !== CR) continue;
      this.#left--;
      this.#passed++;
      this.#afterCr = byte === CR;
    }
    return at === chunk.length ? null : this.splitter.push(chunk.subarray(at));
  }

  end(): RecordBatch | null {
    return this.splitter.end();
  }
}
