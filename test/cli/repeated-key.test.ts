/** A service that repeats the API key: it is printed nowhere and stored nowhere, however it is escaped. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cli, scratch } from '../support/cli.js';
import { httpServer } from '../support/servers.js';

const TOKEN = 'sk_live/51H8x7Ab';
const ESCAPED = 'sk_live\\/51H8x7Ab';
const BY_NUMBER = Array.from(TOKEN, (c) => `\\u00${c.charCodeAt(0).toString(16)}`).join('');
const TWICE = BY_NUMBER.replaceAll('\\', '\\\\');
const IN_URL = encodeURIComponent(TOKEN);
const IN_HTML = Array.from(TOKEN, (c) => `&#${c.charCodeAt(0)};`).join('');

/** Imports a company from a service that gives this answer to each request. */
async function importFrom(status: number, body: string, args: readonly string[] = []) {
  const { url } = await httpServer((request, response) => {
    response.writeHead(request.method === 'POST' ? status : 200, { 'x-request-id': `r-${IN_URL}` });
    response.end(body);
  });
  const cwd = scratch({ 'a.csv': 'company_id,name\nc-1,Acme\n' });
  const env = { PROFILES_TOKEN: TOKEN, PROFILES_BASE_URL: url };
  const report = ['--report', 'r.html', '-o', 'report_values=true', '--outcomes', 'o.csv'];
  const result = await cli(['import', 'a.csv', '--debug', ...report, ...args], { cwd, env });
  const kept = readdirSync(cwd, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => readFileSync(join(one.parentPath, one.name), 'utf8'));
  return { ...result, all: [result.stdout, result.stderr, ...kept].join('\n') };
}

const PRINTED = [
  TOKEN,
  ESCAPED,
  BY_NUMBER,
  BY_NUMBER.toUpperCase().replaceAll('\\U', '\\u'),
  TWICE,
  IN_URL,
  IN_HTML,
];

test.for(
  PRINTED.flatMap((key, n) => [200, [400, 401, 404, 422][n % 4]!].map((status) => [status, key] as const)),
)('%i with %s', async ([status, key]) => {
  const job = `"job_id": "j-1", "status": "completed", "filename": "${key}", "total_rows": 1, "completed_rows": 1`;
  const body = status === 200 ? `{${job}, "${key}": 1}` : `{"errors": [{"message": "${key}", "${key}": 1}]}`;
  const { all, code, stderr } = await importFrom(status, body, ['--ndjson', '-o', 'interval=1ms']);
  expect(stderr).toContain('r-[token]');
  expect(code === 0).toBe(status === 200);
  for (const written of PRINTED) expect(all).not.toContain(written);
});

test.for(PRINTED.slice(0, 4).flatMap((key) => [key, `jobs/${key}/1`]))(
  'a job id that holds the key as %s is accepted, and not traceable',
  async (id) => {
    const { all, code, stderr } = await importFrom(202, `{"job_id": "${id}", "status": "queued"}`);
    expect(code).toBe(5);
    expect(stderr).toContain('no usable job_id');
    for (const written of PRINTED) expect(all).not.toContain(written);
  },
);
