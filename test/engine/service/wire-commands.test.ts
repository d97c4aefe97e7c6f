/** Whole commands against the hand-written examples: what people type becomes the requests of the examples. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Summary } from '../../../src/engine/model.js';
import { type CliResult, cli, scratch } from '../../support/cli.js';
import { fastClock } from '../../support/clock.js';
import { startWireServer, type WireExample, type WireServer, wireExamples } from '../../support/wire.js';

const ID = 'urn:example:jobs/42';
const example = (name: string): WireExample => wireExamples(name)[0]!;
const bodyOf = (name: string): object => example(name).reply.body as object;

let folder: string;
let server: WireServer;
beforeEach(() => {
  folder = scratch();
});
afterEach(async () => {
  await server.stop();
  expect(server.violations).toEqual([]);
});

async function run(argv: string[], examples: readonly WireExample[], key = 'KEY'): Promise<CliResult> {
  server = await startWireServer(examples, key);
  const env = {
    PROFILES_BASE_URL: server.baseUrl,
    PROFILES_LOOKUP_BASE_URL: server.lookupBaseUrl,
    PROFILES_TOKEN: key,
  };
  return cli(argv, { cwd: folder, env, clock: fastClock() });
}

const POLL = `GET /v1/background_jobs/${encodeURIComponent(ID)}`;
/** Method and path of every request. */
const asked = (): string[] => server.requests.map(({ method, path }) => `${method} ${path}`);
/** The body of the first one. */
const sent = (): unknown => JSON.parse(server.requests[0]!.body);

/** An item as it is sent: an empty object says nothing, and is left out. */
const itemOf = ({ metadata = {}, ...ids }: { metadata?: object }): object =>
  Object.keys(metadata).length > 0 ? { ...ids, metadata } : ids;

/** A users example whose job is the one that the other examples follow. */
function withJob(name: string): WireExample {
  const one = example(name);
  return { ...one, reply: { ...one.reply, body: { ...bodyOf(name), job_id: ID } } };
}

test('import: a CSV becomes the companies of the example, and its job is followed through all states', async () => {
  const file = join(folder, 'companies.csv');
  writeFileSync(file, 'company_id,name,size,score\n00042,"Żółw, S.A.",120,0.75\nc-2,,,\n');
  const states = ['job-queued', 'job-validating', 'job-processing', 'job-pending-refresh', 'job-completed'];
  const { code, stdout, stderr } = await run(
    ['import', file, '--json'],
    wireExamples('bulk-companies-accepted', ...states),
  );
  expect(code, stderr).toBe(0);
  expect(sent()).toEqual(example('bulk-companies-accepted').request.body);
  expect(asked()).toEqual(['POST /v1/companies/bulk_identify', ...states.map(() => POLL)]);
  const { jobs } = JSON.parse(stdout) as Summary;
  expect(jobs).toEqual([{ ...bodyOf('job-completed'), file, first_line: 2, last_line: 3 }]);
});

test('import: JSON becomes the users of the example; unknown statuses and fields do no harm', async () => {
  const { users } = example('bulk-users-accepted').request.body as { users: object[] };
  const file = join(folder, 'users.json');
  writeFileSync(file, JSON.stringify(users));
  const { code, stdout, stderr } = await run(
    ['import', file, '--json'],
    [withJob('bulk-users-accepted'), ...wireExamples('job-unknown-status', 'job-unknown-fields')],
  );
  expect(code, stderr).toBe(0);
  expect(sent()).toEqual({ users: users.map(itemOf) });
  const { jobs } = JSON.parse(stdout) as Summary;
  expect(jobs[0]).toMatchObject(bodyOf('job-unknown-fields'));
});

test('import with a key that is not known: exit 4, and the key is not shown', async () => {
  const token = 'OTHER-key-of-nobody';
  const file = join(folder, 'users.csv');
  writeFileSync(file, 'user_id\nu-1\nu-2\n');
  const { code, stdout, stderr } = await run(['import', file], wireExamples('unauthorized'), token);
  expect([code, stdout]).toEqual([4, '']);
  expect(stderr).toContain('unauthorized: invalid API key (x-request-id 5f0c9c6e-0401)');
  expect(stderr).not.toContain(token);
  expect(sent()).toEqual(example('unauthorized').request.body);
});

test('job --watch', async () => {
  const argv = ['job', ID, '--watch', '--json'];
  const { code, stdout } = await run(argv, wireExamples('job-queued', 'job-unknown-status', 'job-failed'));
  expect([code, JSON.parse(stdout)]).toEqual([7, bodyOf('job-failed')]);
  expect(asked()).toEqual(Array(3).fill(POLL));
});

test.each(['identify-company-accepted', 'identify-company-no-body'])('identify company: %s', async (name) => {
  const company = example(name).request.body as { metadata: object };
  const json = ['--metadata', JSON.stringify(company.metadata)];
  const { code, stderr } = await run(['identify', 'company', 'c-1', ...json], wireExamples(name));
  expect(code, stderr).toBe(0);
  expect(sent()).toEqual(itemOf(company));
  expect(asked()).toEqual(['POST /v1/companies/identify']);
});

test('identify user: a bulk request of one, and its job', async () => {
  const examples = [withJob('bulk-users-sparse'), example('job-completed')];
  const { code, stderr } = await run(['identify', 'user', 'u-3'], examples);
  expect(code, stderr).toBe(0);
  expect(sent()).toEqual(example('bulk-users-sparse').request.body);
  expect(asked()).toEqual(['POST /v1/users/bulk_identify', POLL]);
});
