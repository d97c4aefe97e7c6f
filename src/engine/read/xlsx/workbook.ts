/**
 * Opens a workbook, which is XML files ("parts") in a zip archive: its sheets, its calendar, its number formats, and its
 * shared strings. Parts are read as streams and within limits.
 */
import { posix } from 'node:path';
import { InputError, ProfilesError, UsageError } from '../../errors.js';
import { type Entry, Zip } from '../sources/archive.js';
import type { SourceFile } from '../text/source.js';
import type { InputFile } from '../types.js';
import { list } from '../wording.js';
import { builtInForm, formOfCode, type NumberForm } from './number-forms.js';
import { type Handlers, XmlReader } from './xml.js';

interface Sheet {
  name: string;
  hidden: boolean;
  part: string;
}

/** How a part is related to another one. */
interface Relation {
  id: string;
  type: string;
  part: string;
}

/** A part of this size is no bomb. */
const SMALL_PART = 64 * 1024 ** 2;

const AGAIN = 'open it in a spreadsheet program and save it again, or save it as CSV UTF-8';

export class Workbook {
  sheets: Sheet[] = [];
  from1904 = false;
  /** Number forms, by the number of a cell's style. */
  forms: NumberForm[] = [];
  /** The part with the shared strings, if there is one. */
  strings: string | undefined;
  /** By name, in lower case. */
  readonly #parts = new Map<string, Entry>();

  private constructor(
    readonly zip: Zip,
    private readonly path: string,
    private readonly maxCellBytes: number,
  ) {
    for (const entry of zip.entries) {
      const name = entry.fileName.toLowerCase();
      if (this.#parts.has(name)) throw new Error(`it has two parts ${entry.fileName}`);
      this.#parts.set(name, entry);
    }
  }

  /** @throws InputError for a workbook that is damaged, truncated, or of another type */
  static async open(file: SourceFile & Pick<InputFile, 'maxCellBytes'>): Promise<Workbook> {
    let zip: Zip | undefined;
    try {
      zip = await Zip.open(file);
      const workbook = new Workbook(zip, file.path, file.maxCellBytes);
      await workbook.#readDirectory();
      return workbook;
    } catch (error) {
      zip?.close();
      throw damaged(file.path, error);
    }
  }

  #entry(part: string): Entry | undefined {
    return this.#parts.get(part.toLowerCase());
  }

  /**
   * Reads a part, a piece at a time; yields after each, so that the caller can take the results.
   * @throws InputError for a part that is missing, damaged, or a zip bomb; the signal's reason when aborted
   */
  async *read(part: string, handlers: Handlers, signal?: AbortSignal): AsyncGenerator<void> {
    const entry = this.#entry(part);
    if (!entry) throw damaged(this.path, new Error(`its part ${part} is missing`));
    if (Zip.isBomb(entry, SMALL_PART)) {
      throw new InputError(`the workbook's part ${part} is suspiciously large when it is unpacked`, {
        file: this.path,
        hint: AGAIN,
      });
    }
    const reader = new XmlReader(handlers, this.maxCellBytes);
    try {
      for await (const chunk of this.zip.read(entry, signal)) {
        reader.push(chunk);
        yield;
      }
      reader.end();
      yield;
    } catch (error) {
      throw signal?.aborted ? signal.reason : damaged(this.path, error);
    }
  }

  async #readAll(part: string, handlers: Handlers): Promise<void> {
    for await (const _ of this.read(part, handlers));
  }

  async #readDirectory(): Promise<void> {
    const main = (await this.#relationsOf('')).find(({ type }) => type === 'officeDocument');
    if (main === undefined || !this.#entry(main.part)) throw new Error('it has no workbook part');
    if (main.part.endsWith('.bin')) {
      const hint = 'save it as .xlsx or CSV UTF-8';
      throw new InputError('is a binary workbook (.xlsb)', { file: this.path, hint });
    }
    const related = await this.#relationsOf(main.part);
    await this.#readAll(main.part, {
      'x:workbook/x:workbookPr': {
        open: (attribute) => {
          this.from1904 = /^(?:1|true)$/.test(attribute('date1904') ?? '');
        },
      },
      'x:workbook/x:sheets/x:sheet': {
        open: (attribute) => {
          const target = related.findLast(({ id }) => id === attribute('r:id'));
          // Charts and macros are sheets of other types.
          if (target?.type !== 'worksheet') return;
          const hidden = (attribute('state') ?? 'visible') !== 'visible';
          this.sheets.push({ name: attribute('name') ?? '', hidden, part: target.part });
        },
      },
    });
    if (this.sheets.length === 0) throw new Error('it has no sheets');
    const partOf = (wanted: string): string | undefined =>
      related.find(({ type, part }) => type === wanted && this.#entry(part))?.part;
    this.strings = partOf('sharedStrings');
    const styles = partOf('styles');
    if (styles !== undefined) await this.#readForms(styles);
  }

  /** The relationships of a part. The part `''` is the archive itself. */
  async #relationsOf(of: string): Promise<Relation[]> {
    const folder = posix.dirname(of);
    const found: Relation[] = [];
    const file = posix.join(folder, '_rels', `${posix.basename(of)}.rels`);
    if (!this.#entry(file)) return found;
    await this.#readAll(file, {
      'rel:Relationships/rel:Relationship': {
        open: (attribute) => {
          const [id = '', type = '', target = ''] = ['Id', 'Type', 'Target'].map(attribute);
          const part = target.startsWith('/') ? target.slice(1) : posix.join(folder, target);
          found.push({ id, type: posix.basename(type), part });
        },
      },
    });
    return found;
  }

  async #readForms(part: string): Promise<void> {
    const codes = new Map<number, NumberForm>();
    await this.#readAll(part, {
      'x:styleSheet/x:numFmts/x:numFmt': {
        open: (attribute) => {
          codes.set(Number(attribute('numFmtId')), formOfCode(attribute('formatCode') ?? ''));
        },
      },
      'x:styleSheet/x:cellXfs/x:xf': {
        open: (attribute) => {
          const id = Number(attribute('numFmtId') ?? 0);
          this.forms.push(codes.get(id) ?? builtInForm(id));
        },
      },
    });
  }

  /**
   * The requested sheet, by name or by number from 1; by default, the first visible one.
   * @throws UsageError for a sheet that does not exist
   */
  sheet(asked: string | undefined): Sheet {
    const { sheets } = this;
    if (asked === undefined) return sheets.find(({ hidden }) => !hidden) ?? sheets[0]!;
    const chosen =
      sheets.find(({ name }) => name === asked) ??
      sheets.find(({ name }) => name.toLowerCase() === asked.toLowerCase()) ??
      (/^\d+$/.test(asked) ? sheets[Number(asked) - 1] : undefined);
    if (chosen) return chosen;
    throw new UsageError(`${this.path} has no sheet "${asked}"`, {
      hint: `its sheets are ${list(sheets.map(({ name }) => name))}`,
      problem: { code: 'unknown_sheet', path: this.path, sheet: asked },
    });
  }
}

function damaged(path: string, error: unknown): ProfilesError {
  if (error instanceof ProfilesError) return error;
  return new InputError(`the workbook is damaged: ${(error as Error).message}`, {
    file: path,
    hint: AGAIN,
    cause: error,
  });
}
