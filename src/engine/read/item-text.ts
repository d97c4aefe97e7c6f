/** The JSON text of an item around its values (spec: Company, User), for all input formats. */
import { ID_FIELD, type Kind } from '../model.js';
import { type IdentifierCheck, identifierCheck, isSuspect } from './identifier.js';
import { copy, copyWithRoom, type Memory, QUOTE, viewOf } from './text/fours.js';
import type { OpenedInput } from './types.js';

/** Before the identifier. */
export const headOf = (kind: Kind): string => `{"${ID_FIELD[kind]}":`;
/** Between identifier and company, and around the members of the metadata. */
export const COMPANY = ',"company_id":';
export const METADATA_OPEN = ',"metadata":{';
export const METADATA_CLOSE = '}';

const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Texts that are the same in each item, stored back to back. */
export class FixedTexts {
  readonly #view: DataView;
  readonly #starts: Int32Array;

  constructor(texts: readonly string[]) {
    let length = 0;
    this.#starts = Int32Array.from([0, ...texts.map((text) => (length += Buffer.byteLength(text)))]);
    // With room after the last one, all can be copied four bytes at a time.
    this.#view = viewOf(Buffer.from(`${texts.join('')}   `));
  }

  length(index: number): number {
    return this.#starts[index + 1]! - this.#starts[index]!;
  }

  /** Writes a text, and overwrites up to three bytes after it. @returns the offset after it */
  write(index: number, target: DataView, at: number): number {
    return copyWithRoom(this.#view, this.#starts[index]!, this.#starts[index + 1]!, target, at);
  }
}

/** Indexes of the fixed texts. */
enum Fixed {
  head,
  company,
  open,
  constants,
}

/** An item as bytes, which writes itself. One instance holds one item after another. */
export abstract class RawItem {
  /** Bytes of the item as it would be sent. */
  size = 0;
  /** The source text, and where in it the identifier and the company are, without quotes. */
  bytes: Buffer = Buffer.alloc(0);
  view = viewOf(this.bytes);
  id = 0;
  idEnd = 0;
  /** Equal if there is no company. */
  company = 0;
  companyEnd = 0;
  readonly #fixed: FixedTexts;
  readonly #check: IdentifierCheck;
  #hasMembers = false;

  /** @param constants members that every item has, each with a comma before it */
  constructor(input: Pick<OpenedInput, 'kind' | 'rules'>, constants: string) {
    this.#fixed = new FixedTexts([headOf(input.kind), COMPANY, METADATA_OPEN, constants]);
    this.#check = identifierCheck(input.rules);
  }

  /** Writes the metadata except constants, each member with a comma before it. @returns the offset after them */
  protected abstract writeMembers(target: Memory, at: number): number;

  /** Computes the size from identifier and company. @param members number of bytes that `writeMembers` writes */
  protected measure(members: number): void {
    const fixed = this.#fixed;
    const named = this.companyEnd - this.company;
    const body = members + fixed.length(Fixed.constants);
    this.#hasMembers = body > 0;
    this.size = fixed.length(Fixed.head) + this.idEnd - this.id + '""}'.length;
    if (named > 0) this.size += fixed.length(Fixed.company) + named + '""'.length;
    // The first member has no comma.
    if (body > 0) this.size += fixed.length(Fixed.open) + body - 1 + METADATA_CLOSE.length;
  }

  /** Whether a stretch of the text can be an identifier. */
  protected isIdentifier(start: number, end: number, column: string): boolean {
    const { bytes } = this;
    if (end === start || !isSuspect(bytes[start]!, end - start)) return true;
    return this.#check(bytes.toString('utf8', start, end), column) === null;
  }

  /** Writes `size` bytes, and overwrites up to three after them. */
  write(target: Memory, start: number): void {
    const { bytes, view } = target;
    const fixed = this.#fixed;
    let at = this.#writeQuoted(this.id, this.idEnd, target, fixed.write(Fixed.head, view, start));
    if (this.companyEnd > this.company) {
      at = this.#writeQuoted(this.company, this.companyEnd, target, fixed.write(Fixed.company, view, at));
    }
    if (this.#hasMembers) {
      // The comma of the first member overwrites the brace, which is then restored.
      const brace = fixed.write(Fixed.open, view, at) - 1;
      at = fixed.write(Fixed.constants, view, this.writeMembers(target, brace));
      bytes[brace] = OPEN_BRACE;
      bytes[at++] = CLOSE_BRACE;
    }
    bytes[at] = CLOSE_BRACE;
  }

  #writeQuoted(start: number, end: number, { bytes, view }: Memory, at: number): number {
    bytes[at] = QUOTE;
    const after = copy(this.view, start, end, view, at + 1);
    bytes[after] = QUOTE;
    return after + 1;
  }
}
