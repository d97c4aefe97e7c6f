/** Whether the first rows of an input fit types that are suggested for another one. */
import { cleaner, type OpenedInput, originalRows, readsAsType, textsIn } from '../read/index.js';
import { firstRowsOf } from './look.js';

/** A type that is tried on a column. */
export interface Try {
  column: string;
  type: string;
  /** Texts that count as empty for this type. */
  markers: readonly string[];
  /** The values are numbers, and must be the same ones under this type. */
  isNumber: boolean;
}

/** For each try: the first value of the first rows that does not fit the type; null if all do. */
export async function misfitsIn(
  input: OpenedInput,
  tries: readonly Try[],
  signal: AbortSignal,
): Promise<(string | null)[]> {
  const misfits: (string | null)[] = tries.map(() => null);
  const clean = cleaner(input.rules) ?? ((text: string) => text);
  const columns = tries.map(({ column }) => column);
  const texts = textsIn(input.columns, columns);
  for await (const originals of originalRows(firstRowsOf(input), signal)) {
    for (const original of originals) {
      for (const [at, cell] of texts(original).entries()) {
        const text = clean(cell ?? '');
        if (misfits[at] === null && text !== '' && !fits(tries[at]!, text)) misfits[at] = text;
      }
    }
  }
  return misfits;
}

function fits({ type, markers, isNumber }: Try, text: string): boolean {
  if (markers.includes(text)) return true;
  const read = readsAsType(type, text);
  return read !== null && (!isNumber || Number(read) === Number(text));
}
