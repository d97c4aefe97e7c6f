/**
 * Describes a reply in one line for messages. An error body of the service (spec: Errors) is quoted; of an
 * HTML page, only the first words of its text. Pure. All results are single lines.
 */
import { isObject } from '../json-object.js';
import { errorBodySchema } from './contract.js';
import {
  isHtml,
  LOOK,
  oneLine,
  parseJson,
  type ReplyText,
  requestNote,
  SPACE,
  statusLine,
} from './reply-text.js';

const MAX_ERRORS = 3;

/**
 * Such as `422 Unprocessable Entity: invalid_company: company_id is missing (companies[3]) (x-request-id
 * 7f…)`.
 */
export function replyMessage(reply: ReplyText): string {
  const words = replyWords(reply);
  const html = isHtml(reply);
  const parts = html
    ? `${statusLine(reply.status)} ${words}`
    : [statusLine(reply.status), words].filter(Boolean).join(': ');
  return parts + requestNote(reply);
}

function replyWords(reply: ReplyText): string {
  if (isHtml(reply)) {
    const words = htmlWords(reply.body, statusLine(reply.status));
    return words ? `(HTML page: "${words}")` : '(HTML page)';
  }
  const value = parseJson(reply.body);
  if (value === undefined) return oneLine(reply.body);
  const known = errorBodySchema.safeParse(value);
  return known.success ? errorWords(known.data.errors) : looseWords(value);
}

/** The `error_code` of the first error in a reply; undefined if there is none. */
export function errorCodeOf(reply: ReplyText): string | undefined {
  const known = errorBodySchema.safeParse(isHtml(reply) ? undefined : parseJson(reply.body));
  return known.success ? (known.data.errors[0]?.error_code ?? undefined) : undefined;
}

type ErrorItem = ReturnType<typeof errorBodySchema.parse>['errors'][number];

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

/**
 * For bodies that the specification does not show: common fields such as `message`, otherwise the JSON
 * itself.
 */
function looseWords(value: unknown): string {
  if (typeof value === 'string') return oneLine(value);
  if (isObject(value)) {
    const words = ['error_code', 'error', 'message', 'detail', 'details', 'title']
      .map((key) => value[key])
      .filter((text): text is string => typeof text === 'string' && text !== '');
    if (words.length > 0) return oneLine([...new Set(words)].join(': '));
  }
  return oneLine(JSON.stringify(value));
}

/**
 * The visible text of a page. Each piece is used once, because such pages repeat the status in title and
 * heading.
 */
function htmlWords(body: string, status: string): string {
  const pieces = body
    .slice(0, LOOK)
    .replace(/<(script|style)\b[^>]*>[\s\S]*?<\/\1\s*>|<!--[\s\S]*?-->/gi, ' ')
    .split(/<[^>]*>?/)
    .map((piece) => oneLine(textOf(piece).replace(SPACE, ' ').replaceAll(status, ' ')))
    .filter((piece) => piece !== '');
  return oneLine([...new Set(pieces)].join(' '), 80);
}

function textOf(html: string): string {
  const text = html.replace(/&(?:amp|lt|gt|quot|nbsp|#39);/g, (entity) => ENTITIES[entity] ?? entity);
  return text.replaceAll('"', "'");
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': "'",
  '&nbsp;': ' ',
  '&#39;': "'",
};
