/** Writes JSON items, flat or in the service's shape, as the service expects them (spec: Company, User). */
import { isObject } from '../../util/json-object.js';
import type { RowWriter } from '../format.js';
import { otherRun, RUN } from '../rejects-rows.js';
import type { Rows } from '../rows.js';
import { copy, Output } from '../text/bytes.js';
import type { OpenedInput } from '../types.js';
import type { Refusal } from '../wording.js';
import { type JsonRecord, recordReader } from './items.js';
import { Members } from './members.js';
import { article, ItemValues } from './values.js';

export class JsonWriter implements RowWriter {
  readonly quotes = 0;
  readonly values: ItemValues;
  readonly #members = new Members();
  /** The members of an item's metadata, until its identifier is known. */
  readonly #body = new Output(4096);
  // Of the current batch.
  #rows!: Rows;
  #refused!: ReadonlyMap<number, string | null>;
  #record!: (number: number) => JsonRecord;

  constructor(private readonly input: OpenedInput) {
    this.values = new ItemValues(input, this.#body);
  }

  get id(): string {
    return this.values.id;
  }

  get company(): string {
    return this.values.company;
  }

  begin(batch: Rows): void {
    const { bytes, odd } = batch;
    this.#rows = batch;
    this.#members.open(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    this.#refused = new Map(odd?.map(({ number, reason }) => [number, reason]));
    this.#record = recordReader(batch, this.input);
  }

  /** Parsed, too: the text of a record that is not JSON must not be compared or shown as an item. */
  original(number: number): { item: string } {
    return { item: this.#record(number).text };
  }

  write(number: number, out: Output): Refusal | null {
    const refused = this.#refused.get(number);
    if (refused) return refused;
    const { again } = this.input;
    if (again) {
      const { value } = this.#record(number);
      const other = isObject(value) ? otherRun(value[RUN], again.runs) : null;
      if (other !== null) return other;
    }
    try {
      if (!this.#read(number)) return this.#unread(number);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return this.#unread(number);
    }
    const { refusal } = this.values;
    if (refusal === null) this.#send(out);
    return refusal;
  }

  /** @returns why an item without members is rejected @throws InputError that says what is wrong with the text */
  #unread(number: number): Refusal {
    const { value, excess } = this.#record(number);
    if (excess !== null) return excess;
    if (!isObject(value)) return `is ${article(value)}, not an object`;
    throw new Error(`the item on line ${this.#rows.lines[number]} is valid JSON, but cannot be read`);
  }

  #send(out: Output): void {
    const { view, length } = this.#body;
    const start = this.values.open(out, length);
    out.length = copy(view, 0, length, out.view, start);
    this.values.close(out, start);
  }

  /** Takes the members of an item. False if it is not an object. @throws SyntaxError */
  #read(number: number): boolean {
    const { starts, ends, lines } = this.#rows;
    const [members, values] = [this.#members, this.values];
    this.#body.length = 0;
    values.begin(lines[number]!);
    if (!members.begin(starts[number]!, ends[number]!)) return false;
    values.takeAll(values.fields.outer, members, false);
    return members.after === members.until && values.end();
  }
}
