/**
 * Pages (`page.ts`) about the sandbox. Each section has a sandbox with the key `KEY`, and a clock that stands still.
 * Comments `<!-- options: {…} -->` have more of its options. Lines are
 *
 * - `<header>='<value>' … <method> <path> <body> | <field>,<field>`: a request. Its path begins with `eu:`, `control:`,
 *   `page:` and so on for another listener; `<job>` is the last job, and `<job:2>` has
 *   another number; a body of `companies*3` is three of them,
 *   and `x*300` a text of so many characters. The reply
 *   is printed with what its errors say, or only those fields of its JSON. It is held against the spec.
 * - `at 300`: milliseconds since the start; `wait 300`: since now; `poll 300`: asks for the last job then
 * - `fault <spec>`, `fault` for none, `limits {…}`, `show`, `list`, `count`, `ledger`, `reset`: of the interface `Sandbox`
 */
import type { Kind, Limits, Region, Sandbox, SandboxOptions } from '../../src/sandbox/index.js';
import { startSandbox } from '../../src/sandbox/index.js';
import { companies, type Reply, send } from '../sandbox/http.js';
import { page, type Session, said } from './page.js';
import { ManualClock } from './sandbox.js';
import { shellWords } from './sh.js';
import { checkReply } from './wire.js';

const HEADERS = ['allow', 'content-length', 'content-type', 'location', 'retry-after', 'www-authenticate'];
const JSON_TYPE = 'application/json; charset=utf-8';

const masked = (text: string): string =>
  text
    .replace(/(urn:profiles:job:\w+\/|urn%3Aprofiles%3Ajob%3A\w+%2F)[0-9a-f]{8}/g, '$1<id>')
    .replace(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, '<id>')
    .replace(/(not JSON: )[^"\n]*/g, '$1…') // Node's own words
    .replace(/x{50,}/g, (many) => `x*${many.length}`)
    .replace(/\b[0-9a-f]{64}\b/g, '<hash>')
    .replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:<port>');

type Errors = { errors?: { message: string; details?: string }[] };

/** The fields of a record, or of each in a list. */
function pick(value: unknown, fields: string[]): unknown {
  if (Array.isArray(value)) return value.map((one) => pick(one, fields));
  const all = fields.map((path) =>
    path.split('.').reduce((at: unknown, name): unknown => {
      const of = (one: unknown): unknown => (one as Record<string, unknown> | null)?.[name];
      return Array.isArray(at) ? at.map(of) : of(at);
    }, value),
  );
  return fields.length === 1 ? all[0] : all;
}

class Exchange implements Session {
  readonly #start: number;
  #job = '';

  constructor(
    private readonly sandbox: Sandbox,
    private readonly clock: ManualClock,
  ) {
    this.#start = clock.time;
  }

  async type(typed: string): Promise<string> {
    const [line = '', fields] = typed
      .replace(/<job(?::(\w*))?>/g, (_, n?: string) => this.#job.replace(/(?<=-)\d+$/, (own) => n ?? own))
      .split(/ \|(?: |$)/);
    const request = /^((?:[\w-]+='[^']*' )*)([A-Z]+) (?:(\w+):)?(\S*)(?: (.*))?$/.exec(line);
    const shown = request ? await this.#ask(request, fields) : await this.#tell(line);
    return masked(shown === '' ? '' : `${shown}\n`);
  }

  async #tell(line: string): Promise<string> {
    const { sandbox } = this;
    const [word, ...rest] = line.split(' ');
    const [first = '', second = '', region = 'default'] = shellWords(rest.join(' '));
    if (word === 'poll') {
      if (first) this.clock.time = this.#start + Number(first);
      const path = `/v1/background_jobs/${this.#job}`;
      return this.#ask(['', '', 'GET', 'base', path], 'status,completed_rows,elapsed_time');
    }
    if (word === 'at') this.clock.time = this.#start + Number(first);
    if (word === 'wait') this.clock.advance(Number(first));
    if (word === 'reset') sandbox.reset();
    if (word === 'limits') Object.assign(sandbox.limits, JSON.parse(rest.join(' ')) as Partial<Limits>);
    if (word === 'fault' && rest.length === 0) sandbox.faults.clear();
    else if (word === 'fault') {
      try {
        sandbox.faults.add(rest.join(' '));
      } catch (error) {
        const { message, hint } = error as { message: string; hint: string };
        return `${message}\n  ${hint}`;
      }
    }
    if (word === 'show') return sandbox.show(first as Kind, second, region as Region)?.json ?? 'none';
    if (word === 'count') return String(sandbox.count(first as Kind, (second || 'default') as Region));
    if (word === 'list') {
      const { total, found, rows } = await sandbox.list(first as Kind, JSON.parse(second || '{}'));
      const lines = rows.map(({ id, upserts, metadata }) => `  ${id} (${upserts}) ${metadata}`);
      return [`${found} of ${total}`, ...lines].join('\n');
    }
    if (word !== 'ledger') return '';
    return sandbox
      .ledger()
      .map(({ n, operation, status, fault, accepted }) =>
        [n, operation ?? 'none', status ?? 'no reply', fault, accepted && `accepted ${accepted.items}`]
          .filter((part) => part !== null)
          .join(' '),
      )
      .join('\n');
  }

  async #ask([, given = '', method = '', at, path = '', text]: string[], fields?: string): Promise<string> {
    const { sandbox } = this;
    const listener = at ?? (path.startsWith('/api/') ? 'lookup' : 'base');
    const hosts: Record<string, string | null> = {
      ...{ base: sandbox.url, eu: sandbox.euUrl, lookup: sandbox.lookupUrl },
      ...{ control: sandbox.controlUrl, page: sandbox.pageUrl },
    };
    const isOwn = listener === 'control' || listener === 'page';
    const headers = Object.fromEntries([
      ...(isOwn ? [] : [['authorization', 'Token KEY']]),
      ...[...given.matchAll(/([\w-]+)='([^']*)' /g)].map(([, name, value]) => [name, value]),
    ]) as Record<string, string>;
    const [, many] = /^companies\*(\d+)$/.exec(text ?? '') ?? [];
    const body = many
      ? JSON.stringify(companies(Number(many)))
      : text?.replace(/x\*(\d+)/, (_, times) => 'x'.repeat(Number(times)));
    let reply: Reply;
    try {
      reply = await send(hosts[listener] + path, { method, headers, ...(body !== undefined && { body }) });
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      return message === 'aborted' ? 'cut' : (code ?? message);
    }
    const { status } = reply;
    const [, job] = /"job_id":"([^"]+)"/.exec(isOwn ? '' : reply.text) ?? [];
    if (job) this.#job = encodeURIComponent(job);
    const isUsual = (name: string): boolean =>
      (name === 'content-length' && reply.text !== '') || reply.headers[name] === JSON_TYPE;
    const seen = HEADERS.filter((name) => reply.headers[name] && !isUsual(name));
    const shown = [status, ...seen.map((name) => `${name}='${reply.headers[name]}'`)].join(' ');
    if (seen.includes('content-type') || fields === '' || reply.text === '') return shown;
    let json: unknown;
    try {
      json = reply.json();
    } catch {
      return `${shown} ${reply.text}`;
    }
    const struck = isOwn ? null : sandbox.ledger().at(-1)?.fault;
    const problems = isOwn || struck ? [] : checkReply(method, path, status, json);
    if (problems.length > 0) return `against the spec: ${problems.join(', ')}`;
    const { errors } = json as Errors;
    if (errors) {
      const each = errors.map(({ details, message }) => `\n  ${details ? `${details}: ` : ''}${message}`);
      return shown + each.join('');
    }
    return `${shown} ${fields ? JSON.stringify(pick(json, fields.split(','))) : reply.text.trim()}`;
  }

  stop(): Promise<void> {
    return this.sandbox.stop();
  }
}

/** Declares a test for each section of a page. */
export function exchange(path: string): void {
  page(path, async (section) => {
    const clock = new ManualClock();
    const { ports, ...options } = JSON.parse(said('options', section) ?? '{}') as SandboxOptions;
    const all = { expectToken: 'KEY', ...options, ports: { control: 0, page: 0, ...ports }, clock };
    return new Exchange(await startSandbox(all), clock);
  });
}
