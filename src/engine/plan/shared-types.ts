/**
 * One type for a key in all inputs of a kind: their cells decide it together, as if they were one file (contract §3
 * "Types"), and a type that is suggested for one input is tried on the others.
 */
import { KINDS } from '../model.js';
import {
  cleaner,
  decide,
  type Inferred,
  type OpenedInput,
  originalRows,
  readsAsType,
  type Scan,
  sameDecimals,
  textsIn,
} from '../read/index.js';
import { firstRowsOf } from './look.js';

/** An input after its scan, and how its types were found. */
export interface TypedInput {
  input: { opened: Pick<OpenedInput, 'kind' | 'path'>; scan: Scan };
  inferred: readonly Inferred[];
  /** The scan, with keys that are text, and why. */
  result(texts: ReadonlyMap<string, string>): Scan;
}

/** Once all inputs are scanned: replaces the scans of those in which a key has another type, although it is text. */
export function shareTypes(all: readonly TypedInput[]): void {
  for (const kind of KINDS) {
    const inputs = all.filter(({ input }) => input.opened.kind === kind);
    const texts = textsOf(inputs);
    for (const { input, inferred, result } of inputs) {
      if (inferred.some(({ key, type }) => texts.has(key) && type !== 'string')) input.scan = result(texts);
    }
  }
}

/** A column of an input. */
type Column = Inferred & { path: string };

/** Keys that are text, by the cells of all inputs, and what makes them so. */
function textsOf(inputs: readonly TypedInput[]): Map<string, string> {
  const byKey = new Map<string, Column[]>();
  for (const { input, inferred } of inputs) {
    for (const column of inferred) {
      const columns = byKey.get(column.key) ?? [];
      byKey.set(column.key, columns);
      columns.push({ ...column, path: input.opened.path });
    }
  }
  return new Map([...byKey].flatMap(([key, columns]) => whyText(columns).map((why) => [key, why])));
}

/** Why the columns of a key are text; nothing if they are not. */
function whyText(columns: readonly Column[]): string[] {
  const decimals = columns.map(({ stats }) => stats.decimals).reduce(sameDecimals);
  const isBoolean = columns.every(({ type }) => type === 'boolean');
  for (const { path, type, reason, stats, place } of columns) {
    // Booleans beside other values are text, as they are in one sheet.
    if (type === 'string' || (type === 'boolean' && !isBoolean)) return [`${path}, ${reason}`];
    // A zero at the end is evidence where the cells of all inputs differ in their decimals.
    const together = type === 'boolean' ? null : decide({ ...stats, decimals }, place);
    if (together?.type === 'string') return [`${path}, ${together.reason}`];
  }
  return [];
}

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
