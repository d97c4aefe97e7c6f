/** Words for what came, whatever it was: needs no schema, so it is there before the first reply. Pure; single lines. */
import { createRequire as requireFrom } from 'node:module';

/** The parts of a reply that a message is made of. */
export interface ReplyText {
  status: number;
  requestId: string | null;
  contentType: string | null;
  body: string;
}

/** Longest piece of foreign text in a message, and how much of a body is looked at, in characters. */
const CLIP = 300;
export const LOOK = 16_384;

/** `502 Bad Gateway`. Node loads its HTTP client and server for the words, so they wait for the first line. */
export function statusLine(status: number): string {
  const { STATUS_CODES } = requireFrom(import.meta.url)('node:http') as typeof import('node:http');
  return `${status} ${STATUS_CODES[status] ?? ''}`.trim();
}

/** ` (x-request-id 7f…)`, or nothing: what the service's support asks for first. */
export function requestNote(reply: Pick<ReplyText, 'requestId'>): string {
  return reply.requestId ? ` (x-request-id ${oneLine(reply.requestId)})` : '';
}

/** A proxy's or a portal's page rather than the service's JSON, whatever its header says. */
export function isHtml({ contentType, body }: Pick<ReplyText, 'contentType' | 'body'>): boolean {
  if (/^\s*<(?:!doctype html|html)\b/i.test(body)) return true;
  return /\bx?html\b/i.test(contentType ?? '') && /^\s*</.test(body);
}

/** Names a body that is not what was expected: `an HTML page`, `an object with the keys error, code`. */
export function whatCame(reply: Pick<ReplyText, 'contentType' | 'body'>): string {
  if (reply.body.trim() === '') return 'an empty body';
  if (isHtml(reply)) return 'an HTML page';
  const value = parseJson(reply.body);
  if (value === undefined) return 'text that is not JSON';
  if (value === null) return 'null';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value !== 'object') return `a ${typeof value}`;
  const keys = Object.keys(value);
  return keys.length === 0 ? 'an empty object' : `an object with the keys ${oneLine(keys.join(', '))}`;
}

/** What nests deeper can be read, but not written: `JSON.stringify` fails at some thousand levels. */
const MAX_LEVELS = 500;

/** The value, or undefined (which no JSON text means) when it is not JSON, or nests too deeply. */
export function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return nestsDeeper(value, MAX_LEVELS) ? undefined : value;
  } catch {
    return undefined;
  }
}

function nestsDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => nestsDeeper(inner, levels - 1));
}

/** White space and control characters, line separators included. */
export const SPACE = /[\s\u0000-\u001f\u007f-\u009f]+/g;

/** Foreign text on one line, clipped between code points. */
export function oneLine(text: string, length = CLIP): string {
  const line = text.slice(0, LOOK).replace(SPACE, ' ').trim();
  if (line.length <= length) return line;
  return `${line.slice(0, length - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
