/**
 * Reads the XML of a workbook's parts as it comes: elements by namespace and place, text with the line ends and
 * characters that XML 1.0 says it has.
 */
import { Parser } from 'saxen';

/** The prefixes by which places name elements and attributes, whatever prefixes a part has. */
const NAMESPACES: Readonly<Record<string, string>> = {
  'http://schemas.openxmlformats.org/spreadsheetml/2006/main': 'x',
  'http://purl.oclc.org/ooxml/spreadsheetml/main': 'x',
  'http://schemas.openxmlformats.org/officeDocument/2006/relationships': 'r',
  'http://purl.oclc.org/ooxml/officeDocument/relationships': 'r',
  'http://schemas.openxmlformats.org/package/2006/relationships': 'rel',
  'http://schemas.openxmlformats.org/markup-compatibility/2006': 'mc',
  'http://www.w3.org/XML/1998/namespace': 'xml',
};

/** What to do with an element. */
interface Handler {
  open?(attribute: Attribute): void;
  /** Called for each piece of the text directly in the element. */
  text?(text: string): void;
  close?(): void;
}

/** By path, such as `x:worksheet/x:sheetData/x:row`. Elements that no path names are left out, with all that is in them. */
export type Handlers = Readonly<Record<string, Handler>>;

interface Place extends Handler {
  inside: Map<string, Place>;
}

function placesOf(handlers: Handlers): Place {
  const root: Place = { inside: new Map() };
  for (const [path, handler] of Object.entries(handlers)) {
    let place = root;
    for (const name of path.split('/')) {
      const below = place.inside.get(name) ?? { inside: new Map() };
      place.inside.set(name, below);
      place = below;
    }
    Object.assign(place, handler);
  }
  return root;
}

/** The value of an attribute, if the element has it. */
export type Attribute = (name: string) => string | undefined;

/** Of markup for several versions of a program, the one for those that know no extensions. */
const TRANSPARENT = new Set(['mc:AlternateContent', 'mc:Fallback']);

/** Most characters of a tag, of the text between two tags, or of a comment. */
const MAX_TOKEN = 32 * 1024 * 1024;

export class XmlReader {
  readonly #parser = new Parser();
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  /** The open elements that are read, from the document down. */
  readonly #places: Place[];
  /** How many open elements are left out. */
  #outside = 0;
  #attributes: () => Record<string, string> = () => ({});
  #error: Error | undefined;
  /** From the last tag on: what the parser has not been given. */
  #held = '';
  /** About how much text the parser has been given since the last whole token. */
  #pending = 0;

  constructor(
    handlers: Handlers,
    private readonly maxCellBytes: number,
  ) {
    this.#places = [placesOf(handlers)];
    const parser = this.#parser.ns(NAMESPACES);
    const fail = (error: Error): void => {
      this.#error ??= error;
      parser.stop();
    };
    parser.on('openTag', (name, attributes) => this.#open(name, attributes));
    parser.on('closeTag', () => this.#close());
    parser.on('text', (text) => this.#text(decoded(text)));
    parser.on('cdata', (text) => this.#text(withLineFeeds(text)));
    for (const ignored of ['comment', 'question'] as const) {
      parser.on(ignored, () => {
        this.#pending = 0;
      });
    }
    parser.on('attention', () => fail(new Error('it has a document type')));
    for (const wrong of ['error', 'warn'] as const) parser.on(wrong, fail);
  }

  /** @throws Error for XML that is not well-formed, or that a place refuses */
  push(chunk: Buffer): void {
    const piece = this.#decode(chunk);
    const last = piece.lastIndexOf('<');
    // The parser gets whole tags only: it would take a `>` in an attribute for the end of one that is cut off. What is
    // not whole nevertheless, such as a comment, it reads again from the start, so it gets as much more as it has.
    if (last >= 0 && this.#held.length + last >= this.#pending) {
      this.#write(this.#held + piece.slice(0, last));
      this.#held = piece.slice(last);
    } else {
      this.#held += piece;
    }
    const held = this.#held;
    // In XML, a character has up to eight.
    if (held.length + this.#pending <= Math.max(MAX_TOKEN, 8 * this.maxCellBytes)) return;
    this.#write(held);
    if (this.#outside === 0) this.#places.at(-1)!.text?.(held); // a cell says that it is too long
    throw new Error(`a tag, a text, or a comment in it has more than ${MAX_TOKEN >> 20} MiB`);
  }

  end(): void {
    this.#write(this.#held + this.#decode());
    this.#parser.end();
    if (this.#error) throw this.#error;
  }

  #write(text: string): void {
    this.#pending += text.length;
    this.#parser.write(text);
    if (this.#error) throw this.#error;
  }

  /** Without a chunk, ends the text. */
  #decode(chunk?: Buffer): string {
    try {
      return this.#decoder.decode(chunk, { stream: chunk !== undefined });
    } catch {
      throw new Error('it contains text that is not valid UTF-8');
    }
  }

  readonly #attribute: Attribute = (name) => {
    const value = this.#attributes()[name];
    return value !== undefined && SPECIAL.test(value) ? decoded(value).replace(/[\t\n]/g, ' ') : value;
  };

  #open(name: string, attributes: () => Record<string, string>): void {
    this.#pending = 0;
    const above = this.#places.at(-1)!;
    const place = above.inside.get(name) ?? (TRANSPARENT.has(name) ? above : undefined);
    if (this.#outside > 0 || place === undefined) {
      this.#outside++;
      return;
    }
    this.#places.push(place);
    this.#attributes = attributes;
    if (place !== above) place.open?.(this.#attribute);
  }

  #close(): void {
    this.#pending = 0;
    if (this.#outside > 0) {
      this.#outside--;
      return;
    }
    const place = this.#places.pop()!;
    if (place !== this.#places.at(-1)) place.close?.();
  }

  #text(text: string): void {
    this.#pending = 0;
    if (this.#outside === 0) this.#places.at(-1)!.text?.(text);
  }
}

/** Line ends are those of XML (2.11), whatever the program that wrote the text uses. */
const withLineFeeds = (text: string): string => (text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text);

/** An attribute that has none of these means what is written. */
const SPECIAL = /[&\t\n\r]/;

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Text as it is meant. A reference to no character stays what it is. */
function decoded(written: string): string {
  const text = withLineFeeds(written);
  if (!text.includes('&')) return text;
  return text.replace(/&(?:#(\d+)|#x([\da-fA-F]+)|(amp|lt|gt|quot|apos));/g, (all, decimal, hex, name) => {
    if (name) return NAMED[name]!;
    const code = Number(decimal ?? `0x${hex}`);
    return isCharacter(code) ? String.fromCodePoint(code) : all;
  });
}

/** Whether XML can contain a character (2.2). */
const isCharacter = (code: number): boolean =>
  code < 0xd800
    ? code >= 0x20 || code === 9 || code === 10 || code === 13
    : code > 0xdfff && code <= 0x10ffff;
