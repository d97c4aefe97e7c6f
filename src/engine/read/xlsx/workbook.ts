/**
 * Opens a workbook, which is XML files ("parts") in a zip archive: its sheets, its calendar, and its number formats. Parts
 * are read as streams and within limits.
 */
import { posix } from 'node:path';
import { InputError, ProfilesError, UsageError } from '../../errors.js';
import { formatSize } from '../../util/size.js';
import { Zip } from '../sources/zip.js';
import type { SourceFile } from '../text/source.js';
import { list } from '../wording.js';
import { builtInForm, formOfCode, type NumberForm, PLAIN } from './number-forms.js';
import { type Handlers, MAX_TOKEN, TokenTooLong, XmlReader } from './xml.js';

interface Sheet {
  name: string;
  hidden: boolean;
  part: string;
}

/** How a part is related to another one. */
interface Relation {
  type: string;
  part: string;
}

/** Limit for all parts except sheets and shared strings; a part of this size is no bomb. */
const SMALL_PART = 64 * 1024 ** 2;

const AGAIN = 'open it in a spreadsheet program and save it again, or save it as CSV UTF-8';

export class Workbook {
  sheets: Sheet[] = [];
  from1904 = false;
  /** Number forms, by the number of a cell's style. */
  forms: NumberForm[] = [];
  /** The part with the shared strings; null if there is none. */
  strings: string | null = null;
  readonly #zip: Zip;
  readonly #path: string;
  readonly #maxToken: number;

  private constructor(zip: Zip, path: string, maxCellBytes: number) {
    this.#zip = zip;
    this.#path = path;
    this.#maxToken = Math.max(MAX_TOKEN, 8 * maxCellBytes);
    const names = new Set<string>();
    for (const { fileName } of zip.entries) {
      if (names.size === names.add(fileName.toLowerCase()).size)
        throw new Error(`it has two parts ${fileName}`);
    }
  }

  /**
   * @param maxCellBytes longer cells than by default need longer texts; without it, only the archive is opened
   * @throws InputError for a workbook that is damaged, truncated, or of another type
   */
  static async open({ path, location }: SourceFile, maxCellBytes?: number): Promise<Workbook> {
    let zip: Zip | undefined;
    try {
      zip = await Zip.open(location);
      const workbook = new Workbook(zip, path, maxCellBytes ?? 0);
      if (maxCellBytes !== undefined) await workbook.#readDirectory();
      return workbook;
    } catch (error) {
      zip?.close();
      throw damaged(path, error);
    }
  }

  close(): void {
    this.#zip.close();
  }

  #entry(part: string) {
    return this.#zip.entries.find(({ fileName }) => fileName.toLowerCase() === part.toLowerCase());
  }

  has(part: string): boolean {
    return this.#entry(part) !== undefined;
  }

  /**
   * Reads a part, a piece at a time; yields after each, so that the caller can take the results.
   * @throws InputError for a part that is missing, damaged, or a zip bomb; the signal's reason when aborted
   */
  async *read(
    part: string,
    handlers: Handlers,
    signal?: AbortSignal,
    most = Number.POSITIVE_INFINITY,
  ): AsyncGenerator<void> {
    const entry = this.#entry(part);
    if (!entry) throw damaged(this.#path, new Error(`its part ${part} is missing`));
    if (entry.uncompressedSize > most || Zip.isBomb(entry, SMALL_PART)) {
      throw new InputError(`the workbook's part ${part} is suspiciously large when it is unpacked`, {
        file: this.#path,
        hint: AGAIN,
      });
    }
    const reader = new XmlReader(handlers, this.#maxToken);
    try {
      if (entry.isEncrypted()) throw new Error('its parts are encrypted');
      for await (const chunk of this.#zip.read(entry, signal)) {
        reader.push(chunk);
        yield;
      }
      reader.end();
      yield;
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      throw error instanceof TokenTooLong ? this.#tooLong(part) : damaged(this.#path, error);
    }
  }

  #tooLong(part: string): InputError {
    const longest = formatSize(this.#maxToken);
    return new InputError(`the workbook's part ${part} has a text or a tag longer than ${longest}`, {
      file: this.#path,
      hint: 'shorten it, or allow longer cells',
      problem: { code: 'cell_too_long', maxBytes: this.#maxToken },
    });
  }

  async #readSmall(part: string, handlers: Handlers): Promise<void> {
    for await (const _ of this.read(part, handlers, undefined, SMALL_PART));
  }

  async #readDirectory(): Promise<void> {
    const main = [...(await this.#relationsOf('')).values()].find(({ type }) => type === 'officeDocument');
    if (main === undefined || !this.has(main.part)) throw new Error('it has no workbook part');
    if (main.part.endsWith('.bin')) {
      const hint = 'save it as .xlsx or CSV UTF-8';
      throw new InputError('is a binary workbook (.xlsb)', { file: this.#path, hint });
    }
    const related = await this.#relationsOf(main.part);
    await this.#readSmall(main.part, {
      'x:workbook/x:workbookPr': {
        open: (attribute) => {
          this.from1904 = /^(?:1|true)$/.test(attribute('date1904') ?? '');
        },
      },
      'x:workbook/x:sheets/x:sheet': {
        open: (attribute) => {
          const target = related.get(attribute('r:id') ?? '');
          // Charts and macros are sheets of other types.
          if (target?.type !== 'worksheet') return;
          const hidden = (attribute('state') ?? 'visible') !== 'visible';
          this.sheets.push({ name: attribute('name') ?? '', hidden, part: target.part });
        },
      },
    });
    if (this.sheets.length === 0) throw new Error('it has no sheets');
    const [styles, strings] = ['styles', 'sharedStrings'].map((type) =>
      [...related.values()].find((relation) => relation.type === type && this.has(relation.part)),
    );
    this.strings = strings?.part ?? null;
    if (styles) await this.#readForms(styles.part);
  }

  /** The relationships of a part, by id. The part `''` is the archive itself. */
  async #relationsOf(of: string): Promise<Map<string, Relation>> {
    const folder = posix.dirname(of);
    const found = new Map<string, Relation>();
    const file = posix.join(folder, '_rels', `${posix.basename(of)}.rels`);
    if (!this.has(file)) return found;
    await this.#readSmall(file, {
      'rel:Relationships/rel:Relationship': {
        open: (attribute) => {
          const [id = '', type = '', target = ''] = ['Id', 'Type', 'Target'].map(attribute);
          const part = target.startsWith('/') ? target.slice(1) : posix.join(folder, target);
          found.set(id, { type: type.slice(type.lastIndexOf('/') + 1), part });
        },
      },
    });
    return found;
  }

  async #readForms(part: string): Promise<void> {
    const codes = new Map<number, NumberForm>();
    await this.#readSmall(part, {
      'x:styleSheet/x:numFmts/x:numFmt': {
        open: (attribute) => {
          codes.set(Number(attribute('numFmtId')), formOfCode(attribute('formatCode') ?? ''));
        },
      },
      'x:styleSheet/x:cellXfs/x:xf': {
        open: (attribute) => {
          const id = Number(attribute('numFmtId') ?? 0);
          const form = codes.get(id) ?? builtInForm(id);
          this.forms.push(form.date || form.time ? form : PLAIN);
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
    throw new UsageError(`${this.#path} has no sheet "${asked}"`, {
      hint: `its sheets are ${list(sheets.map(({ name }) => name))}`,
      problem: { code: 'unknown_sheet', path: this.#path, sheet: asked },
    });
  }
}

export function damaged(path: string, error: unknown): ProfilesError {
  if (error instanceof ProfilesError) return error;
  return new InputError(`the workbook is damaged: ${(error as Error).message}`, {
    file: path,
    hint: AGAIN,
    cause: error,
  });
}
