/**
 * Reads and describes replies without the schemas, which are loaded only with the first reply: decompresses them, keeps
 * the API key out of them, and makes single lines of what they say.
 */
import { createRequire as requireFrom } from 'node:module';
import { promisify } from 'node:util';
import { isObject } from '../util/json-object.js';
import { textsOf } from './names.js';

/** A complete reply. */
export interface Reply {
  type: 'reply';
  /** HTTP status. */
  status: number;
  /** The `Retry-After` header. */
  retryAfter: string | null;
  /** The `Date` header: when the service sent it. */
  date?: string | null;
  requestId: string | null;
  contentType: string | null;
  /** A compression of the body that cannot be undone. */
  coding?: string | undefined;
  body: string;
  /** URL of the request. */
  url?: string;
  /** The target of a redirect, which is never followed. */
  location?: string | null;
  /** A problem with the reply, such as a repeated job id. */
  warning?: string;
}

type ReplyText = Pick<Reply, 'status' | 'requestId' | 'contentType' | 'coding' | 'body'>;

export const isSuccess = ({ status }: Pick<Reply, 'status'>): boolean => status >= 200 && status < 300;

/** The most characters of foreign text in a message. */
const CLIP = 300;
/** The most characters of a body to search for its text. */
const LOOK = 16_384;
const MAX_ERRORS = 3;
/** A value that nests deeper can be parsed but not written: `JSON.stringify` fails at a few thousand levels. */
const MAX_LEVELS = 500;
/** White space and control characters, including line separators. */
const SPACE = /[\s\u0000-\u001f\u007f-\u009f]+/g;

/** Makes one line of foreign text, cut to a length between code points. */
export function oneLine(text: string, length = CLIP): string {
  const line = text.slice(0, LOOK).replace(SPACE, ' ').trim();
  if (line.length <= length) return line;
  return `${line.slice(0, length - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** Such as `502 Bad Gateway`. Loads `node:http` only when it is first needed, because that takes time. */
export function statusLine(status: number): string {
  const { STATUS_CODES } = requireFrom(import.meta.url)('node:http') as typeof import('node:http');
  return `${status} ${STATUS_CODES[status] ?? ''}`.trim();
}

/** ` (x-request-id 7f…)`, or nothing without an id. Support of the service asks for it first. */
export const requestNote = ({ requestId }: Pick<Reply, 'requestId'>): string =>
  requestId ? ` (x-request-id ${oneLine(requestId)})` : '';

/** Whether the body is an HTML page, such as of a proxy, whatever its content type is. */
export function isHtml({ contentType, body }: Pick<Reply, 'contentType' | 'body'>): boolean {
  if (/^\s*<(?:!doctype html|html)\b/i.test(body)) return true;
  return /\bx?html\b/i.test(contentType ?? '') && /^\s*</.test(body);
}

/**
 * The value of a JSON text; undefined if it is not JSON, or nests too deeply.
 * @param drops whether members that nest too deeply are left out instead
 */
export function parseJson(text: string, drops = false): unknown {
  try {
    const value: unknown = JSON.parse(text);
    if (!nestsDeeper(value, MAX_LEVELS)) return value;
    if (!drops || !isObject(value)) return undefined;
    return Object.fromEntries(
      Object.entries(value).filter(([, member]) => !nestsDeeper(member, MAX_LEVELS - 1)),
    );
  } catch {
    return undefined;
  }
}

function nestsDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => nestsDeeper(inner, levels - 1));
}

/** Describes an unexpected body, such as `an HTML page` or `an object with the keys error, code`. */
export function whatCame(reply: Omit<ReplyText, 'status' | 'requestId'>): string {
  if (reply.body.trim() === '') return 'an empty body';
  if (isHtml(reply)) return 'an HTML page';
  const value = parseJson(reply.body);
  if (value === undefined && reply.coding) return `data compressed with ${oneLine(reply.coding)}`;
  if (value === undefined) return 'text that is not JSON';
  if (value === null) return 'null';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (!isObject(value)) return `a ${typeof value}`;
  const keys = Object.keys(value);
  return keys.length === 0 ? 'an empty object' : `an object with the keys ${oneLine(keys.join(', '))}`;
}

/**
 * Such as `422 Unprocessable Entity: invalid_company: company_id is missing (companies[3]) (x-request-id
 * 7f…)`. Quotes an error body of the service (spec: Errors), or the first words of an HTML page.
 */
export function replyMessage(reply: ReplyText): string {
  const status = statusLine(reply.status);
  return status + words(reply, status) + requestNote(reply);
}

function words(reply: ReplyText, status: string): string {
  if (isHtml(reply)) {
    const page = htmlWords(reply.body, status);
    return page ? ` (HTML page: "${page}")` : ' (HTML page)';
  }
  const errors = errorsOf(reply);
  const value = parseJson(reply.body);
  const text = errors ? errorWords(errors) : value === undefined ? oneLine(reply.body) : looseWords(value);
  return text && `: ${text}`;
}

/** The `error_code` of the first error in a reply; undefined if there is none. */
export function errorCodeOf(reply: ReplyText): string | undefined {
  return errorsOf(reply)?.[0]?.error_code ?? undefined;
}

type ErrorItem = Partial<Record<'details' | 'error' | 'error_code' | 'message', string | null>>;
const FIELDS = ['details', 'error', 'error_code', 'message'] as const;

/** The errors of an error body (spec: Errors); null for any other body. All fields are optional. */
function errorsOf(reply: ReplyText): ErrorItem[] | null {
  const value = isHtml(reply) ? undefined : parseJson(reply.body);
  const errors = isObject(value) ? value.errors : undefined;
  const isError = (item: unknown): item is ErrorItem =>
    isObject(item) && FIELDS.every((field) => typeof (item[field] ?? '') === 'string');
  return Array.isArray(errors) && errors.every(isError) ? errors : null;
}

/** The errors as `code: message (details)`, joined by `; `. Without a message, `error` is used. */
function errorWords(errors: readonly ErrorItem[]): string {
  const shown = errors.slice(0, MAX_ERRORS).map((item) => {
    const named = [item.error_code, item.message || item.error].filter(Boolean).join(': ');
    const details = item.details && item.details !== item.message ? `(${oneLine(item.details)})` : '';
    return [oneLine(named), details].filter(Boolean).join(' ') || oneLine(JSON.stringify(item));
  });
  const more = errors.length - shown.length;
  return shown.join('; ') + (more > 0 ? `; and ${more} more` : '');
}

/** For bodies that the specification does not show: common fields such as `message`, otherwise the JSON itself. */
function looseWords(value: unknown): string {
  if (typeof value === 'string') return oneLine(value);
  const keys = ['error_code', 'error', 'message', 'detail', 'details', 'title'];
  return oneLine((isObject(value) ? textsOf(value, keys) : null) ?? JSON.stringify(value));
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': "'",
  '&nbsp;': ' ',
  '&#39;': "'",
};

/** The visible text of a page. Each piece is used once, because such pages repeat the status in title and heading. */
function htmlWords(body: string, status: string): string {
  const pieces = body
    .slice(0, LOOK)
    .replace(/<(script|style)\b[^>]*>[\s\S]*?<\/\1\s*>|<!--[\s\S]*?-->/gi, ' ')
    .split(/<[^>]*>?/)
    .map((piece) => {
      const text = piece.replace(/&(?:amp|lt|gt|quot|nbsp|#39);/g, (entity) => ENTITIES[entity] ?? entity);
      return oneLine(text.replaceAll('"', "'").replace(SPACE, ' ').replaceAll(status, ' '));
    })
    .filter((piece) => piece !== '');
  return oneLine([...new Set(pieces)].join(' '), 80);
}

/** How many encodings are undone. Each may cost as much as the longest reply. */
const MOST_CODINGS = 3;

/** A reply's bytes. `coding`: what they are compressed with, if that cannot be undone. */
interface Content {
  bytes: Buffer;
  coding?: string;
}

/**
 * Decompresses a reply by its `content-encoding`, as far as that is possible: some proxies decompress it and keep the
 * header. It streams through the thread pool, and ends as soon as there is more than allowed.
 * @param maxOutputLength for each encoding
 * @returns null if there is more
 */
export async function decoded(
  bytes: Buffer,
  contentEncoding: string,
  maxOutputLength: number,
): Promise<Content | null> {
  const names = contentEncoding
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((name) => name !== '' && name !== 'identity');
  const content: Content = { bytes };
  if (bytes.length === 0 || names.length === 0) return content;
  // Loaded only when it is needed, because that takes time.
  const { gunzip, inflate, inflateRaw, brotliDecompress } = await import('node:zlib');
  for (const name of names.reverse().slice(0, MOST_CODINGS)) {
    let decoder: typeof gunzip | undefined;
    if (/^(?:x-)?gzip$/.test(name)) decoder = gunzip;
    // Some servers leave out the header of zlib, whose low four bits are 8.
    else if (name === 'deflate') decoder = (content.bytes[0]! & 15) === 8 ? inflate : inflateRaw;
    else if (name === 'br') decoder = brotliDecompress as typeof gunzip;
    else content.coding = name;
    try {
      if (decoder) content.bytes = await promisify(decoder)(content.bytes, { maxOutputLength });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return null;
    }
  }
  return content;
}

const REDACTED = '[token]';
/** A shorter key is that of a test, and may be a part of any word. */
const SHORTEST = 8;

const NAMED: Readonly<Record<string, string>> = {
  '&': 'amp',
  '<': 'lt',
  '>': 'gt',
  '"': 'quot',
  "'": 'apos',
};

/** How JSON, HTML, and a URL write an ASCII character. JSON in JSON has more backslashes. */
function spellings(character: string): string {
  const hex = character.charCodeAt(0).toString(16);
  const either = hex.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
  const plain = `\\${character}`.replace(/^\\(?=\w)/, '');
  const named = NAMED[character] ? `|&${NAMED[character]};` : '';
  return `(?:\\\\{0,7}(?:${plain}|u00${either}|x${either})|%${either}|&#0*${character.charCodeAt(0)};?|&#[xX]0*${either};?${named})`;
}

/** Returns a function that replaces the key in a text. */
export function redactor(token: string): (text: string) => string {
  if (token.length < SHORTEST) return (text) => text;
  const pattern = new RegExp(Array.from(token, spellings).join(''), 'g');
  return (text) => text.replace(pattern, REDACTED);
}

/** Whether a text held the key. */
export const isRedacted = (text: string): boolean => text.includes(REDACTED);
