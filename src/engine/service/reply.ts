/**
 * Reads and describes replies without the schemas, which are loaded only with the first reply: keeps the API key out of
 * them, and makes single lines of what they say.
 */
import { createRequire as requireFrom } from 'node:module';
import { isObject, levelsOf } from '../util/json-object.js';
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
  /** The `content-encoding` header. No request asks for one, so the body of such a reply is not read. */
  coding?: string | null;
  body: string;
  /** URL of the request. */
  url?: string;
  /** The target of a redirect, which is never followed. */
  location?: string | null;
  /** Whether all of the request was on its way by then: a service may reply before it has read all of it. */
  isAfterRequest?: boolean;
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
export const isHtml = ({ contentType, body }: Pick<Reply, 'contentType' | 'body'>): boolean =>
  /^\s*<(?:!doctype html|html)\b/i.test(body) ||
  (/\bx?html\b/i.test(contentType ?? '') && /^\s*</.test(body));

/** The value of a JSON text; undefined if it is not JSON. Of an object with more than 1,000 levels, only the job id. */
export function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (levelsOf(value, 1_000) < 1_000) return value;
  return isObject(value) ? { job_id: value.job_id } : undefined;
}

/** Describes an unexpected body, such as `an HTML page` or `an object with the keys error, code`. */
export function whatCame(reply: Omit<ReplyText, 'status' | 'requestId'>): string {
  if (reply.body.trim() === '') return 'an empty body';
  if (isHtml(reply)) return 'an HTML page';
  const value = parseJson(reply.body);
  if (value === undefined)
    return reply.coding ? `data compressed with ${oneLine(reply.coding)}` : 'text that is not JSON';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (!isObject(value)) return value === null ? 'null' : `a ${typeof value}`;
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
  if (reply.coding && value === undefined) return `: ${whatCame(reply)}`;
  // For bodies that the specification does not show: common fields such as `message`, otherwise the body itself.
  const loose =
    (isObject(value) && textsOf(value, LOOSE)) || (typeof value === 'string' ? value : reply.body);
  const text = errors ? errorWords(errors) : oneLine(loose);
  return text && `: ${text}`;
}

const LOOSE = ['error_code', 'error', 'message', 'detail', 'details', 'title'];

/** The `error_code` of the first error in a reply; undefined if there is none. */
export const errorCodeOf = (reply: ReplyText): string | undefined =>
  textsOf(errorsOf(reply)?.[0] ?? {}, ['error_code']) ?? undefined;

/** The errors of an error body (spec: Errors); null for any other body. All fields are optional. */
export function errorsOf(reply: ReplyText): Record<string, unknown>[] | null {
  const value = isHtml(reply) ? undefined : parseJson(reply.body);
  const errors = isObject(value) ? value.errors : undefined;
  return Array.isArray(errors) && errors.every(isObject) ? errors : null;
}

/** The errors as `code: message (details)`, joined by `; `. Without a message, `error` is used. */
function errorWords(errors: readonly Record<string, unknown>[]): string {
  const shown = errors.slice(0, MAX_ERRORS).map((item) => {
    const named = textsOf(item, ['error_code', item.message ? 'message' : 'error']) ?? '';
    const { details, message } = item;
    const note = typeof details === 'string' && details && details !== message ? `(${oneLine(details)})` : '';
    return `${oneLine(named)} ${note}`.trim() || oneLine(JSON.stringify(item));
  });
  const more = errors.length - shown.length;
  return shown.join('; ') + (more > 0 ? `; and ${more} more` : '');
}

/** The visible text of a page. Each piece is used once, because such pages repeat the status in title and heading. */
function htmlWords(body: string, status: string): string {
  const pieces = body
    .slice(0, LOOK)
    .replace(/<(script|style)\b[^>]*>[\s\S]*?<\/\1\s*>|<!--[\s\S]*?-->/gi, ' ')
    .split(/<[^>]*>?/)
    .map((piece) => oneLine(piece.replaceAll('"', "'").replace(SPACE, ' ').replaceAll(status, ' ')));
  return oneLine([...new Set(pieces)].join(' ').trim(), 80);
}

const REDACTED = '[token]';
/** What else HTML writes for a character. */
const ENTITIES: Record<string, string> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' };

/** Returns a function that replaces the key in a text, also as JSON, JSON in JSON, a URL, or HTML writes it. */
export function redactor(token: string): (text: string) => string {
  // A shorter key is that of a test, and may be a part of any word.
  if (token.length < 8) return (text) => text;
  const spellings = Array.from(token, (character) => {
    const code = character.charCodeAt(0);
    const hex = code.toString(16);
    const plain = `\\${character}`.replace(/^\\(?=\w)/, '');
    return `(?:\\\\{0,7}(?:${plain}|u00${hex}|x${hex})|%${hex}|&#(?:0*${code}|x0*${hex});?|&${ENTITIES[character] ?? `#${code}`};)`;
  });
  const pattern = new RegExp(spellings.join(''), 'gi');
  return (text) => text.replace(pattern, REDACTED);
}

/** Whether a text held the key. */
export const isRedacted = (text: string): boolean => text.includes(REDACTED);
