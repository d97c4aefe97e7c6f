/** The first rows that a plan rejected, for the history of profiles. */
import { KINDS, type RejectedRow } from '../model.js';
import { idHashes, idOfOriginal, type OpenedInput } from '../read/index.js';
import type { Scope, State } from '../state/state.js';

/** The most rejected rows of a run that are recorded. */
const MOST_REMEMBERED = 10_000;

export class RememberedRejects {
  /** By input. */
  readonly #rows = new Map<number, { ids: string[]; lines: number[] }>();
  #count = 0;

  constructor(private readonly inputs: readonly OpenedInput[]) {}

  add(input: number, { line, original }: RejectedRow): void {
    if (this.#count >= MOST_REMEMBERED) return;
    const id = idOfOriginal(original, this.inputs[input]!);
    if (id === '') return;
    this.#count++;
    const known = this.#rows.get(input) ?? { ids: [], lines: [] };
    known.ids.push(id);
    known.lines.push(line);
    this.#rows.set(input, known);
  }

  /** @throws StateError */
  async record(run: string, scope: Scope, state: State): Promise<void> {
    for (const kind of KINDS) {
      const mine = [...this.#rows].filter(([input]) => this.inputs[input]!.kind === kind);
      if (mine.length === 0) continue;
      const ids = mine.flatMap(([, row]) => row.ids);
      const lines = mine.map(([input, row]) => ({ input, lines: row.lines }));
      await state.history.putRejected(run, scope, kind, { ids: idHashes(state.secret, ids), lines });
    }
  }
}
