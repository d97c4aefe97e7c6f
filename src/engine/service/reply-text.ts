/**
 * Describes replies without the schemas, which are loaded only with the first reply. All results are single
 * lines.
 */
import { createRequire as requireFrom } from 'node:module';

/** The parts of a reply that messages use. */
export interface ReplyText {
  status: number;
  requestId: string | null;
  contentType: string | null;
  /** What the body is compressed with, if that cannot be undone. */
  coding?: string | undefined;
  body: string;
}

/** The most characters of foreign text in a message. */
const CLIP = 300;
/** The most characters of a body to search for its text. */
export const LOOK = 16_384;

/** Such as `502 Bad Gateway`. Loads `node:http` only when it is first needed, because that takes time. */
export function statusLine(status: number): string {
  const { STATUS_CODES } = requireFrom(import.meta.url)('node:http') as typeof import('node:http');
  return `${status} ${STATUS_CODES[status] ?? ''}`.trim();
}

/** ` (x-request-id 7f…)`, or nothing without an id. Support of the service asks for it first. */
export function requestNote(reply: Pick<ReplyText, 'requestId'>): string {
  return reply.requestId ? ` (x-request-id ${oneLine(reply.requestId)})` : '';
}

/** Whether the body is an HTML page, such as of a proxy, whatever its content type is. */
export function isHtml({ contentType, body }: Pick<ReplyText, 'contentType' | 'body'>): boolean {
  if (/^\s*<(?:!doctype html|html)\b/i.test(body)) return true;
  return /\bx?html\b/i.test(contentType ?? '') && /^\s*</.test(body);
}

/** Describes an unexpected body, such as `an HTML page` or `an object with the keys error, code`. */
export function whatCame(reply: Omit<ReplyText, 'status' | 'requestId'>): string {
  if (reply.body.trim() === '') return 'an empty body';
  if (isHtml(reply)) return 'an HTML page';
  const value = parseJson(reply.body);
  if (value === undefined && reply.coding) {
    return `data compressed with ${oneLine(reply.coding)}`;
  }
  if (value === undefined) return 'text that is not JSON';
  if (value === null) return 'null';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value !== 'object') return `a ${typeof value}`;
  const keys = Object.keys(value);
  return keys.length === 0 ? 'an empty object' : `an object with the keys ${oneLine(keys.join(', '))}`;
}

/** A value that nests deeper can be parsed but not written: `JSON.stringify` fails at a few thousand levels. */
const MAX_LEVELS = 500;

/**
 * The value of a JSON text; undefined if it is not JSON, or nests too deeply.
 * @param drops whether members that nest too deeply are left out instead
 */
export function parseJson(text: string, drops = false): unknown {
  try {
    const value: unknown = JSON.parse(text);
    if (!nestsDeeper(value, MAX_LEVELS)) return value;
    if (!drops || Array.isArray(value)) return undefined;
    const members = Object.entries(value as object);
    return Object.fromEntries(members.filter(([, member]) => !nestsDeeper(member, MAX_LEVELS - 1)));
  } catch {
    return undefined;
  }
}

function nestsDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => nestsDeeper(inner, levels - 1));
}

/** White space and control characters, including line separators. */
export const SPACE = /[\s\u0000-\u001f\u007f-\u009f]+/g;

/** Makes one line of foreign text, cut to a length between code points. */
export function oneLine(text: string, length = CLIP): string {
  const line = text.slice(0, LOOK).replace(SPACE, ' ').trim();
  if (line.length <= length) return line;
  return `${line.slice(0, length - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
