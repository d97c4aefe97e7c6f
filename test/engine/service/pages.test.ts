/**
 * Pages of answers, with what is made of each.
 *
 * - `answer <status> <header>=<value> … | <body>`: what becomes of a bulk request and of a poll (also `answer lost`, `unsent`
 *   and `tls`); `answers <status> …`: the same of many, in short
 * - `message <status> <content type> | <body>`: the line that is said of a reply; `came | <body>`: what came in its place
 *
 * A body begins with `<` for a file of the page.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Answer, classify, classifyRead } from '../../../src/engine/service/answer.js';
import { replyMessage, whatCame } from '../../../src/engine/service/reply.js';
import { type Block, page, type Session } from '../../support/page.js';

const NOW = Date.UTC(2024, 1, 29, 12, 0, 0);
const PAGES = join(import.meta.dirname, 'pages');
const HEADERS: Record<string, string> = { 'retry-after': 'retryAfter', 'content-type': 'contentType' };

const NONE: Record<string, Answer> = {
  unsent: { type: 'unsent', reason: 'h refused the connection', tls: false },
  tls: { type: 'unsent', reason: "h's certificate has expired", tls: true, hint: 'check the clock' },
  lost: { type: 'lost', reason: 'h reset the connection' },
};

type Decided = ReturnType<typeof classify> | ReturnType<typeof classifyRead>;

class Answers implements Session {
  readonly #files = new Map<string, string>();

  write({ file, text }: Block): void {
    this.#files.set(file, text);
  }

  async type(line: string): Promise<string> {
    const [given, rest] = line.split(/ ?\| ?(.*)/s);
    const body = this.#files.get(rest?.replace(/^< /, '') ?? '') ?? rest;
    const [command, first, ...others] = given!.split(/ (?=\S)/);
    if (command === 'came') return `${whatCame({ contentType: 'application/json', body: body ?? '' })}\n`;
    if (command === 'message') {
      const contentType = others[0] ?? null;
      const reply = { status: Number(first), contentType, body: body ?? '', requestId: null };
      return `${replyMessage(reply)}\n`;
    }
    const headers = Object.fromEntries(
      `${others.join(' ')}`.split(/ (?=[\w-]+=)/).flatMap((one) => {
        const [name, value] = one.split(/=(.*)/s);
        return name ? [[HEADERS[name] ?? name, value]] : [];
      }),
    );
    const answer = (status: string): Answer =>
      NONE[status] ?? { ...replyOf(Number(status), body), ...headers };
    if (command === 'answer') return decisions(answer(first!)).map(told).join('');
    return [first!, ...others]
      .map((status) => `${status} ${decisions(answer(status)).map(shortly).join('; ')}\n`)
      .join('');
  }
}

const replyOf = (status: number, body = '{"errors":[{"message":"why"}]}') => ({
  type: 'reply' as const,
  status,
  retryAfter: null,
  requestId: 'r-1',
  contentType: 'application/json',
  body,
  url: 'https://api.example.com/v1/x',
});

const decisions = (answer: Answer): [what: string, decided: Decided][] => [
  ['bulk', classify(answer, NOW)],
  ['poll', classifyRead(answer, NOW)],
];

const shortly = ([what, decided]: [string, Decided]): string => {
  const { why, maybeSent } = { why: '', maybeSent: false, ...decided };
  return `${what}: ${decided.do}${why && what === 'bulk' ? `, ${why}` : ''}${maybeSent && what === 'bulk' ? ', maybe sent' : ''}`;
};

function told([what, decided]: [string, Decided]): string {
  const { error, reply: _, ...others } = { error: undefined, reply: undefined, ...decided };
  const said = `${what} ${JSON.stringify(others)}\n`;
  if (!error) return said;
  const { name, message, hint, exit, status, requestId, problem } = error;
  const more = JSON.stringify({ exit, status, requestId, problem });
  return `${said}  ${name}: ${message} ${more}\n${hint === undefined ? '' : `  ${hint}\n`}`;
}

for (const name of readdirSync(PAGES)) page(join(PAGES, name), () => new Answers());
