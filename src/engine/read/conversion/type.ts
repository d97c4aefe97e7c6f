/** The interface of the types of columns: each is one object, registered in `types.ts`. */
import type { Cause, CellType, ColumnType } from '../../model.js';

/** Why a text does not fit a type. */
type Misfit = Pick<Cause, 'code' | 'characters'>;

export interface Reader {
  /**
   * JSON text; null for a text that does not fit. Empty if the JSON is in `scratch`: copying it from there is faster than
   * making a text of it.
   */
  read(text: string): string | null;
  cause(text: string): Misfit;
}

/** `money` of `money:1.234,56`. */
type NameOf<T extends string> = T extends `${infer Name}${':' | '@'}${string}` ? Name : T;

export interface TypeOfColumn {
  name: NameOf<CellType>;
  /** The JSON type of what is sent. */
  sent: ColumnType;
  /** Nothing may follow its name. */
  isBare?: true;
  /** The noun for its values. */
  noun: string;
  /**
   * Parses what follows the name: `money:1.234,56`, `datetime:dd.MM.yyyy HH:mm@Europe/Berlin`.
   * @returns null if values are sent as they are
   * @throws BadType
   */
  parse(form: string | null, zone: string | null): Reader | null;
  /** The types with this name that a text may be meant as, the likeliest first. Not all of them read it. */
  guess?(text: string): readonly string[];
  /** For the help: how it is written, and what it reads. */
  examples: readonly (readonly [type: string, text: string])[];
}

/** A type that is not valid; `message` says why, after the type in quotes. */
export class BadType extends Error {
  constructor(
    message: string,
    readonly hint?: string,
  ) {
    super(message);
  }
}

/** Characters of a cell: a message names few of them. */
const LOOKED_AT = 1000;

/** The cause for a text with characters that no value of its type has; otherwise the given one. */
export function causeOf(text: string, foreign: RegExp, otherwise: Cause['code']): Misfit {
  const characters = [...new Set(text.slice(0, LOOKED_AT).match(foreign) ?? [])];
  return characters.length > 0 ? { code: 'characters', characters } : { code: otherwise };
}

/** Results are computed once. Their keys come from cells: a malicious file must not fill the memory with them. */
export function remembered<T, K = string>(make: (key: K) => T, most = 500): (key: K) => T {
  const known = new Map<K, T>();
  return (key) => {
    let found = known.get(key);
    if (found === undefined) {
      found = make(key);
      if (known.size >= most) known.clear();
      known.set(key, found);
    }
    return found;
  };
}

/** Memory for short texts of ASCII, which are built faster there than of parts, and where the last one is. */
export const scratch = { bytes: Buffer.alloc(128), start: 0, end: 0 };
export const scratchText = ({ bytes, start, end } = scratch): string => bytes.toString('latin1', start, end);

/** @returns the empty text of a reader */
export function inScratch(start: number, end: number): '' {
  scratch.start = start;
  scratch.end = end;
  return '';
}
