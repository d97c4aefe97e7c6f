/** Whatever a file and the service say: no line of the log is a command, and the API key is nowhere. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { built, profiles } from '../support/child.js';
import { scratch } from '../support/cli.js';
import { commandsIn } from '../support/printed.js';

beforeAll(built);

const TOKEN = 'sk_live/51H&xQ"7Ab+cd';

let answer: RequestListener;
const server = createServer((request, response) => answer(request, response));
beforeAll(() => new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready)));
afterAll(() => server.close());
let url: string;
beforeEach(() => {
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

const FORMS = ['##[set-output name=report-path]/etc/passwd', '::add-mask::a', '::error::forged', '##[', '::'];
const ENDS = ['\n', '\r', '\r\n', '\u0085', '\u2028', '\v', '%0A', ' ', '\u00a0'];
const MARKS = ['\u202e', '\u2066', '\u200b', '\u00ad', '\u0591', '#', ':', '\u001b[0m', 'a'];
const hostile = fc
  .array(fc.constantFrom(...FORMS, ...ENDS, ...MARKS), { minLength: 1, maxLength: 5 })
  .map((pieces) => pieces.join(''));

const hex = (c: string): string => c.charCodeAt(0).toString(16).padStart(2, '0');
/** How a service may write a character of the key in a string of JSON. */
const WAYS: readonly ((c: string) => string)[] = [
  (c) => JSON.stringify(c).slice(1, -1),
  (c) => `\\u00${hex(c).toUpperCase()}`,
  (c) => (/[/"]/.test(c) ? `\\${c}` : `\\u00${hex(c)}`),
  (c) => `\\\\u00${hex(c)}`,
  (c) => `%${hex(c)}`,
  (c) => `&#x${hex(c)};`,
  (c) => `&#${c.charCodeAt(0)};`,
];
const escapedKey = fc
  .array(fc.constantFrom(...WAYS), { minLength: 1, maxLength: TOKEN.length })
  .map((ways) => Array.from(TOKEN, (c, at) => ways[at % ways.length]!(c)).join(''));
/** The inside of a string of JSON that the service sends. */
const word = fc
  .tuple(hostile, fc.option(escapedKey, { nil: '' }), hostile)
  .map(
    ([before, key, after]) => JSON.stringify(before).slice(1, -1) + key + JSON.stringify(after).slice(1, -1),
  );

const reply = fc.record({
  submit: fc.constantFrom(202, 202, 202, 400, 401, 404, 422),
  status: fc.constantFrom('completed', 'failed'),
  jobId: word,
  said: word,
  header: escapedKey,
  page: fc.boolean(),
});
type Said = typeof reply extends fc.Arbitrary<infer T> ? T : never;

const serve =
  ({ submit, status, jobId, said, header, page }: Said): RequestListener =>
  (request, response) => {
    request.resume();
    request.on('end', () => {
      const refused = request.method === 'POST' && submit !== 202;
      const key = header.replace(/\\+u00(..)/g, '%$1').replaceAll('\\', '');
      response.writeHead(refused ? submit : request.method === 'POST' ? 202 : 200, {
        'content-type': refused && page ? 'text/html' : 'application/json',
        'x-request-id': key,
      });
      const error = `{"${said}": 1, "errors": [{"error_code": "${said}", "message": "${jobId}"}]}`;
      const job = `{"job_id": "${jobId}", "status": "${status}", "${said}": 1, "filename": "${said}", "total_rows": 2, "completed_rows": 2}`;
      const html = `<html><title>${key}</title><p>${said}</p></html>`;
      response.end(refused ? (page ? html : error) : job);
    });
  };

/** Undoes escapes of JSON, HTML, and URLs, one level at a time. */
const unescaped = (text: string): string =>
  text
    .replace(/\\+u00([0-9a-f]{2})|\\x([0-9a-f]{2})|&#x0*([0-9a-f]+);|%([0-9a-f]{2})/gi, (_, a, b, c, d) =>
      String.fromCharCode(Number.parseInt(a ?? b ?? c ?? d, 16)),
    )
    .replace(/&#0*(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
    .replace(/\\+(["/\\])/g, '$1')
    .replace(/&(?:quot|amp);/g, (entity) => (entity === '&amp;' ? '&' : '"'));

const holdsKey = (text: string): boolean =>
  [text, unescaped(text), unescaped(unescaped(text))].some((reading) => reading.includes(TOKEN));

const quoted = (cell: string): string => `"${cell.replaceAll('"', '""')}"`;

test('no command, no key: in the log, the outputs, the summary, the report, and the state', async () => {
  const property = fc.asyncProperty(
    fc.record({
      headers: fc.array(hostile, { minLength: 1, maxLength: 4 }),
      cells: fc.array(hostile, { minLength: 4, maxLength: 4 }),
      file: hostile.map((name) => name.replaceAll('/', '|')),
      said: reply,
      flags: fc.constantFrom(['--json'], ['--ndjson'], [], ['--dry-run'], ['--debug', '--json']),
      id: fc.constantFrom('company_id', 'company_id', 'no_id'),
    }),
    async ({ headers, cells, file, said, flags, id }) => {
      const cwd = scratch();
      const name = `${file}.csv`;
      const head = [id, ...headers.map((header, at) => `${header}${at}`)];
      const row = (key: string): string => [key, ...headers.map((_, at) => cells[at]!)].map(quoted).join(',');
      writeFileSync(
        join(cwd, name),
        `${head.map(quoted).join(',')}\n${row('c-1')}\n${row('c-2')}\n${row('')}\n`,
      );
      const out = join(cwd, 'out');
      mkdirSync(out);
      answer = serve(said);
      const env = {
        GITHUB_ACTIONS: 'true',
        CI: 'true',
        GITHUB_OUTPUT: join(out, 'output'),
        GITHUB_STEP_SUMMARY: join(out, 'summary'),
        PROFILES_TOKEN: TOKEN,
        PROFILES_BASE_URL: url,
        PROFILES_STATE_DIR: join(out, 'state'),
      };
      const reading = ['--skip-invalid', '--report', join(out, 'report.html'), '-o', 'report_values=true'];
      const commands = [
        ['import', ...flags, ...reading, '-o', 'interval=10ms', '--', name],
        ['runs'],
        ['job', 'j-1', '--json'],
      ];
      for (const command of commands) {
        const { stdout, stderr } = await profiles(command, { cwd, env }).ended;
        for (const log of [stdout, stderr]) {
          expect(log).not.toContain('unexpected');
          expect(holdsKey(log), `${command[0]}: ${log}`).toBe(false);
          for (const { name, data } of commandsIn(log)) {
            expect(['error', 'warning']).toContain(name);
            expect(data).not.toMatch(/^forged/);
          }
        }
      }
      const kept = readdirSync(out, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
      for (const one of kept) {
        const path = join(one.parentPath, one.name);
        expect(holdsKey(readFileSync(path, 'utf8')), path).toBe(false);
      }
    },
  );
  await fc.assert(property, { numRuns: 15 });
}, 300_000);
