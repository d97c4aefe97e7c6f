/**
 * Reads the pages of one column chunk in order. Only the current page is in memory: a row group may be the whole file,
 * and hyparquet's own reader takes a column chunk as a whole.
 */
import type { FileHandle } from 'node:fs/promises';
import { endianness } from 'node:os';
import type { ColumnMetaData, DecodedArray, PageHeader, SchemaTree } from 'hyparquet';
import { parquetHeader } from 'hyparquet/src/column.js';
import { deltaBinaryUnpack, deltaByteArray, deltaLengthByteArray } from 'hyparquet/src/delta.js';
import { byteStreamSplit, readRleBitPackedHybrid } from 'hyparquet/src/encoding.js';
import { readPlain } from 'hyparquet/src/plain.js';
import { getMaxDefinitionLevel, getMaxRepetitionLevel } from 'hyparquet/src/schema.js';
import { viewOf } from '../text/fours.js';
import { ChunkBytes } from './chunk-bytes.js';
import { isPlainInt64, isUnsigned, type List, numbersOf } from './converters.js';
import type { PageMemory } from './memory.js';
import { unpack } from './unpack.js';

/** Larger than any page that writers make. An unpacked page must fit into memory. */
const MAX_PAGE_BYTES = 256 * 1024 * 1024;
const MAX_PAGE_VALUES = 1 << 24;
const MAX_HEADER_BYTES = 1024 * 1024;

/** The values of a page. Nulls are not among them. */
export type Values =
  /** Lengths and texts in turn, from `offset` on. Texts are copied as they are. */
  | { from: 'texts'; view: DataView; offset: number }
  | { from: 'dictionary'; indices: Int32Array }
  /** Numbers in one type of list: V8 is slow at an expression that reads several types. */
  | { from: 'numbers'; numbers: Float64Array }
  | { from: 'list'; list: List };

const NOTHING = new DataView(new ArrayBuffer(0));

/** The values of a dictionary page, as they are stored in it. */
export interface Dictionary {
  view: DataView;
  count: number;
}

export interface Page {
  /** Number of values, including nulls. In a column without lists: number of rows. */
  count: number;
  /** Null if no value is null. */
  definition: Uint8Array | null;
  /** Null if there are no lists. */
  repetition: Uint8Array | null;
  values: Values;
}

export interface ColumnChunkPlace {
  handle: FileHandle;
  /** Size of the file: no chunk may end after it. */
  fileBytes: number;
  meta: ColumnMetaData;
  /** From the root of the schema to the column. */
  schemaPath: SchemaTree[];
  /** How many bytes to read at a time. */
  blockBytes: number;
  memory: PageMemory;
}

export class Pages {
  readonly #place: ColumnChunkPlace;
  readonly #maxDefinition: number;
  readonly #maxRepetition: number;
  readonly #narrows: boolean;
  readonly #bytes: ChunkBytes;
  #left: number;
  #dictionary: Dictionary = { view: NOTHING, count: 0 };
  #listed: ArrayLike<unknown> | null = null;

  constructor(place: ColumnChunkPlace) {
    this.#place = place;
    const { meta, schemaPath, fileBytes } = place;
    this.#maxDefinition = getMaxDefinitionLevel(schemaPath);
    // Some writers call the root repeated too, which means nothing.
    this.#maxRepetition = getMaxRepetitionLevel(schemaPath.slice(1));
    const data = Number(meta.data_page_offset);
    const dictionary = Number(meta.dictionary_page_offset ?? 0);
    const start = dictionary > 0 && dictionary < data ? dictionary : data;
    const end = start + Number(meta.total_compressed_size);
    if (start < 4 || end > fileBytes) throw new Error('a column lies outside the file');
    const large = meta.codec === 'UNCOMPRESSED' ? null : place.memory.large;
    this.#bytes = new ChunkBytes({ ...place, large }, start, end);
    this.#left = Number(meta.num_values);
    this.#narrows = isPlainInt64(this.#element) && !isUnsigned(this.#element) && endianness() === 'LE';
  }

  /** How many values are still to come, according to the file. */
  get left(): number {
    return this.#left;
  }

  /** The dictionary of the current page; empty if there is none. Each dictionary is a new object. */
  get dictionary(): Dictionary {
    return this.#dictionary;
  }

  /** Frees the dictionary's bytes once its values are stored elsewhere. */
  forgetDictionary(): void {
    this.#dictionary.view = NOTHING;
  }

  /** The dictionary's values as objects, which take several times the memory of the texts. */
  get dictionaryList(): ArrayLike<unknown> {
    const { view, count } = this.#dictionary;
    const { type } = this.#place.meta;
    this.#listed ??= readPlain({ view, offset: 0 }, type, count, this.#element.type_length);
    return this.#listed;
  }

  /** The next page of values; null after the last. */
  async next(): Promise<Page | null> {
    while (this.#left > 0) {
      const header = await this.#header();
      const packed = header.compressed_page_size;
      const unpacked = header.uncompressed_page_size;
      if (!(packed >= 0 && unpacked >= 0 && Math.max(packed, unpacked) <= MAX_PAGE_BYTES)) {
        throw new Error('a page is too large');
      }
      const rest = await this.#bytes.atLeast(packed);
      if (rest.length < packed) throw new Error('a page is cut off');
      this.#bytes.pass(packed);
      const page = this.#page(header, rest.subarray(0, packed));
      this.#bytes.settle();
      if (page === null) continue;
      this.#left -= page.count;
      if (this.#left < 0) throw new Error('a column has too many values');
      return page;
    }
    return null;
  }

  async #header(): Promise<PageHeader> {
    for (let bytes = 1024; ; bytes *= 8) {
      const rest = await this.#bytes.atLeast(bytes);
      if (rest.length === 0) throw new Error('a column ends too early');
      const reader = { view: viewOf(rest), offset: 0 };
      try {
        const header = parquetHeader(reader);
        this.#bytes.pass(reader.offset);
        return header;
      } catch (error) {
        if (!(error instanceof RangeError) || rest.length < bytes || bytes > MAX_HEADER_BYTES) throw error;
      }
    }
  }

  /** Reads a page. Null for one without values: a dictionary, which is kept, or an index. */
  #page(header: PageHeader, bytes: Uint8Array): Page | null {
    const { codec } = this.#place.meta;
    const size = header.uncompressed_page_size;
    switch (header.type) {
      case 'DICTIONARY_PAGE': {
        const count = checked(header.dictionary_page_header?.num_values);
        const unpacked = codec === 'UNCOMPRESSED' ? bytes : this.#unpack(bytes, size);
        this.#dictionary = { view: viewOf(Uint8Array.from(unpacked)), count };
        this.#listed = null;
        return null;
      }
      case 'DATA_PAGE': {
        const { num_values, encoding } = header.data_page_header!;
        const count = checked(num_values);
        const reader = { view: viewOf(this.#unpack(bytes, size)), offset: 0 };
        const repetition = this.#levels('repetition', reader, count);
        const definition = this.#levels('definition', reader, count);
        return this.#values(reader, encoding, { count, repetition, definition });
      }
      case 'DATA_PAGE_V2': {
        const v2 = header.data_page_header_v2!;
        const count = checked(v2.num_values);
        const ends = v2.repetition_levels_byte_length + v2.definition_levels_byte_length;
        const reader = { view: viewOf(bytes), offset: 0 };
        const repetition = this.#levels('repetition', reader, count, v2.repetition_levels_byte_length);
        reader.offset = v2.repetition_levels_byte_length;
        const definition = this.#levels('definition', reader, count, v2.definition_levels_byte_length);
        const rest = bytes.subarray(ends);
        const stored = v2.is_compressed === false && codec !== 'UNCOMPRESSED';
        const unpacked = stored ? this.#room(rest.length) : this.#unpack(rest, size - ends);
        if (stored) unpacked.set(rest);
        const data = { view: viewOf(unpacked), offset: 0 };
        return this.#values(data, v2.encoding, { count, repetition, definition });
      }
      default:
        return null;
    }
  }

  /** Valid until the next page. */
  #unpack(bytes: Uint8Array, size: number): Uint8Array {
    return unpack(bytes, size, this.#place.meta.codec, (room) => this.#room(room));
  }

  #room(bytes: number): Uint8Array {
    return new Uint8Array(this.#place.memory.room('unpacked', bytes), 0, bytes);
  }

  /** @param bytes how many bytes they take; if absent, the data begins with their length */
  #levels(
    use: 'repetition' | 'definition',
    reader: Reader,
    count: number,
    bytes?: number,
  ): Uint8Array | null {
    const highest = use === 'repetition' ? this.#maxRepetition : this.#maxDefinition;
    if (highest === 0) return null;
    const found = new Uint8Array(this.#place.memory.room(use, count), 0, count).fill(0);
    readRleBitPackedHybrid(reader, 32 - Math.clz32(highest), found, bytes);
    return found;
  }

  get #element() {
    return this.#place.schemaPath.at(-1)!.element;
  }

  #values(reader: Reader, encoding: string, page: Omit<Page, 'values'>): Page {
    const { memory } = this.#place;
    const { type } = this.#place.meta;
    const { definition, count } = page;
    const present = definition ? countOf(definition, this.#maxDefinition) : count;
    const of = { ...page, definition: present === count && !page.repetition ? null : definition };
    const listed = (list: List): Page => {
      if (list.length < present) throw new Error('a page has too few values');
      const room = (): Float64Array =>
        new Float64Array(memory.room('numbers', 8 * list.length), 0, list.length);
      const numbers = numbersOf(list, this.#narrows, room);
      return { ...of, values: numbers ? { from: 'numbers', numbers } : { from: 'list', list } };
    };
    switch (encoding) {
      case 'PLAIN':
        if (type !== 'BYTE_ARRAY') {
          return listed(readPlain(aligned(reader), type, present, this.#element.type_length) as List);
        }
        return { ...of, values: { from: 'texts', view: reader.view, offset: reader.offset } };
      case 'PLAIN_DICTIONARY':
      case 'RLE_DICTIONARY': {
        const indices = new Int32Array(memory.room('indices', 4 * present), 0, present).fill(0);
        const width = present > 0 ? reader.view.getUint8(reader.offset++) : 0;
        if (width > 0) readRleBitPackedHybrid(reader, width, asDecoded(indices), 0x7fffffff);
        return { ...of, values: { from: 'dictionary', indices } };
      }
      case 'RLE': {
        const list = new Uint8Array(present);
        readRleBitPackedHybrid(reader, 1, list);
        return listed(list);
      }
      case 'BYTE_STREAM_SPLIT':
        return listed(byteStreamSplit(reader, present, type, this.#element.type_length) as List);
      case 'DELTA_BINARY_PACKED': {
        const list = type === 'INT32' ? new Int32Array(present) : new BigInt64Array(present);
        deltaBinaryUnpack(reader, present, list);
        return listed(list);
      }
      case 'DELTA_LENGTH_BYTE_ARRAY':
      case 'DELTA_BYTE_ARRAY': {
        const list: Uint8Array[] = new Array(present);
        (encoding === 'DELTA_BYTE_ARRAY' ? deltaByteArray : deltaLengthByteArray)(reader, present, list);
        return listed(list);
      }
      default:
        throw new Error(`the encoding ${encoding} is not supported`);
    }
  }
}

interface Reader {
  view: DataView;
  offset: number;
}

/** Moves the rest of a page to an aligned address, over the levels before it, so that numbers are read in place. */
function aligned({ view, offset }: Reader): Reader {
  const start = view.byteOffset + offset;
  const end = view.byteOffset + view.byteLength;
  const place = start & ~7;
  if (place < view.byteOffset) return { view: new DataView(view.buffer.slice(start, end)), offset: 0 };
  new Uint8Array(view.buffer).copyWithin(place, start, end);
  return { view: new DataView(view.buffer, place, view.byteLength - offset), offset: 0 };
}

/** A separate function, which stays compiled from page to page. */
function countOf(levels: Uint8Array, level: number): number {
  let count = 0;
  for (let at = 0; at < levels.length; at++) if (levels[at] === level) count++;
  return count;
}

const asDecoded = (list: Int32Array | Uint8Array): DecodedArray => list as DecodedArray;

function checked(count: number | undefined): number {
  if (count !== undefined && count >= 0 && count <= MAX_PAGE_VALUES) return count;
  throw new Error(`a page of ${count} values is too large`);
}
