/** The sandbox, the hand-written examples and the published OpenAPI file, each held against the others. */
import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import { describe, expect } from 'vitest';
import type { Limits } from '../../src/sandbox/index.js';
import { ManualClock, test } from '../support/sandbox.js';
import { checkReply, checkRequest, type WireExample, wireExamples } from '../support/wire.js';
import { post, send } from './http.js';

interface Operation {
  operationId: string;
  requestBody?: { content: Record<string, { schema: object; example?: unknown }> };
  responses: Record<string, object>;
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
}
const file = new URL('../../openapi.json', import.meta.url);
const openapi = JSON.parse(readFileSync(file, 'utf8')) as Document;

const ajv = new Ajv2020({ strict: false, allErrors: true });
ajvFormats.default(ajv);
ajv.addSchema(openapi, 'openapi');

/** What OpenAPI has against a value; `pointer` is a place in the document. */
function against(pointer: string[], value: unknown): string[] {
  const path = pointer.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')));
  const validate = ajv.compile({ $ref: `openapi#/${path.join('/')}` });
  validate(value);
  return (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message}`);
}

/** The operation's place in the document; references of responses are followed. */
function operationAt(method: string, path: string): { place: string[]; operation: Operation } {
  const template = path.startsWith('/v1/background_jobs/') ? '/v1/background_jobs/{job_id}' : path;
  const verb = method.toLowerCase();
  return { place: ['paths', template, verb], operation: openapi.paths[template]![verb]! };
}

function replyProblems(method: string, path: string, status: number, body: unknown): string[] {
  const { place, operation } = operationAt(method, path);
  const key = [String(status), `${Math.floor(status / 100)}XX`].find((one) => one in operation.responses);
  if (key === undefined) return [`${status} is not in the document`];
  const response = operation.responses[key] as { $ref?: string };
  const at = response.$ref === undefined ? [...place, 'responses', key] : response.$ref.slice(2).split('/');
  const found = at.reduce<unknown>((node, part) => (node as Record<string, unknown>)[part], openapi);
  const shown = 'content' in (found as object);
  return shown ? against([...at, 'content', 'application/json', 'schema'], body) : [];
}

function requestProblems({ method, path, body }: WireExample['request']): string[] {
  const { place, operation } = operationAt(method, path);
  if (operation.requestBody === undefined) return body === undefined ? [] : ['a body'];
  return against([...place, 'requestBody', 'content', 'application/json', 'schema'], body);
}

const examples = wireExamples();
const isJson = ({ reply }: WireExample): boolean => reply.body !== undefined;

describe('the examples', () => {
  test('cover the seven operations and all six states', () => {
    const operations = new Set(
      examples.map(({ request }) => operationAt(request.method, request.path).operation.operationId),
    );
    const all = Object.values(openapi.paths)
      .flatMap((verbs) => Object.values(verbs))
      .filter((one) => one.operationId !== undefined);
    expect([...operations].sort()).toEqual(all.map((one) => one.operationId).sort());
    expect(operations.size).toBe(7);
    const states = new Set(
      examples.map(({ reply }) => (reply.body as { status?: string } | undefined)?.status),
    );
    for (const state of ['queued', 'validating', 'processing', 'pending_refresh', 'completed', 'failed'])
      expect(states).toContain(state);
  });

  test.for(examples.map((example) => [example.name, example] as const))(
    '%s is what the spec says',
    ([, example]) => {
      const { request, reply, listener } = example;
      const seen = {
        listener,
        ...request,
        body: request.body === undefined ? '' : JSON.stringify(request.body),
      };
      const key = example.name === 'unauthorized' ? 'OTHER' : 'KEY';
      const refused = example.name === 'identify-company-refused';
      expect(checkRequest(seen, key)).toEqual(refused ? [expect.stringContaining('company_id is ""')] : []);
      expect(requestProblems(request)).toEqual([]);
      if (!isJson(example)) return;
      expect(checkReply(request.method, request.path, reply.status, reply.body)).toEqual([]);
      expect(replyProblems(request.method, request.path, reply.status, reply.body)).toEqual([]);
    },
  );
});

describe('the sandbox answers as in', () => {
  const given = examples.filter((example) => example.sandbox !== false);
  test.for(given.map((example) => [example.name, example] as const))('%s', async ([, example], { start }) => {
    const { request, reply, listener } = example;
    const setting = example.sandbox || {};
    const clock = new ManualClock();
    const sandbox = await start({
      clock,
      expectToken: 'KEY',
      faults: setting.faults ?? [],
      limits: (setting.limits ?? {}) as Partial<Limits>,
    });
    let { path } = request;
    if (setting.submit) {
      const { links } = (await post(sandbox, setting.submit.path, setting.submit.body)).json() as {
        links: string;
      };
      if (request.method === 'GET') path = new URL(links).pathname;
      clock.advance(setting.after_ms ?? 0);
    }
    const answer = await send((listener === 'base' ? sandbox.url : sandbox.lookupUrl) + path, {
      method: request.method,
      headers: request.headers,
      ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
    });
    expect(answer.status).toBe(reply.status);
    expect(answer.headers['x-request-id']).toMatch(/./);
    if (reply.headers['retry-after']) expect(answer.headers['retry-after']).toMatch(/^\d+$/);
    if (!isJson(example)) return;
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    expect(checkReply(request.method, path, answer.status, answer.json())).toEqual([]);
    expect(replyProblems(request.method, path, answer.status, answer.json())).toEqual([]);
    const state = (reply.body as { status?: string }).status;
    if (state !== undefined) expect(answer.json()).toMatchObject({ status: state });
  });
});

describe('OpenAPI', () => {
  test('its own example requests are taken by the sandbox', async ({ sandbox }) => {
    for (const [path, verbs] of Object.entries(openapi.paths)) {
      const content = verbs.post?.requestBody?.content['application/json'];
      if (content) expect([path, (await post(sandbox, path, content.example)).status]).toEqual([path, 202]);
    }
  });

  test('is served as it is in the file (npm run reference writes it)', async ({ sandbox }) => {
    const served = (await send(`${sandbox.url}/openapi.json`)).json();
    await expect(`${JSON.stringify(served, null, 2)}\n`).toMatchFileSnapshot('../../openapi.json');
  });

  test('leaves open what the spec does not show', () => {
    const job = examples.find((example) => example.name === 'job-completed')!.reply.body as object;
    const path = '/v1/background_jobs/x';
    expect(replyProblems('GET', path, 200, { ...job, status: 'anything', more: 1 })).toEqual([]);
    expect(replyProblems('GET', path, 200, { ...job, end_time: 5 })).toEqual([
      '/end_time must be string,null',
    ]);
  });
});
