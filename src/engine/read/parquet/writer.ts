/** Writes the items of rows whose cells are JSON texts: each row is put together as an object, and read as JSON is. */
import { jsonString } from '../json/text.js';
import { JsonWriter } from '../json/writer.js';
import { CellLists, type Rows } from '../rows.js';
import { copy, fixed, viewOf, writeFixed } from '../text/fours.js';
import { Output } from '../text/output.js';
import type { OpenedInput } from '../types.js';

export class ParquetWriter extends JsonWriter {
  /** What comes before the value of each column. */
  readonly #names;
  readonly #out = new Output(1024);

  constructor(input: OpenedInput) {
    super(input);
    this.#names = input.columns.map((column) => fixed(`,${jsonString(column)}:`));
  }

  override begin(batch: Rows): void {
    const { bytes, starts, ends, width, lines } = batch;
    const view = viewOf(bytes);
    const items = new CellLists(lines.length);
    const out = this.#out;
    out.length = 0;
    out.reserve(bytes.length + lines.length * this.#names.reduce((sum, { length }) => sum + length, 2));
    for (let number = 0; number < lines.length; number++) {
      const start = out.length;
      let at = start;
      for (let index = 0, cell = number * width; index < width; index++, cell++) {
        if (starts[cell] === ends[cell]) continue;
        at = writeFixed(this.#names[index]!, out.view, at);
        at = copy(view, starts[cell]!, ends[cell]!, out.view, at);
      }
      out.length = Math.max(at, start + 1);
      out.bytes[start] = 0x7b; // in place of the first comma
      out.write('}');
      items.push(start, out.length, 0);
    }
    super.begin({ ...batch, ...items.take(), width: 1, bytes: out.take() });
  }
}
