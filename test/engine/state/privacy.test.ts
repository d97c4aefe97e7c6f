/** What the state keeps, and what it must not (contract §4): no token, no metadata. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { idHashes } from '../../../src/engine/read/index.js';
import { type Scope, sameScope, sameService } from '../../../src/engine/state/access.js';
import type { State } from '../../../src/engine/state/state.js';
import { onPostgres, stateBytes } from '../../support/state.js';
import { acknowledged, aJob, aRequest, aRun, RUN, rowsOf, SCOPE, test } from './support/state.js';

const TOKEN = 'sk-live-Zm9vYmFy-0123456789';
const SERVICE = { account: null, token: TOKEN, region: 'eu', base_url: 'https://api.test' };

describe('scope', () => {
  test('a configured account goes by its name, whatever its token', ({ state }) => {
    expect(state.scope({ ...SERVICE, account: 'production' })).toEqual(SCOPE);
    expect(state.scope({ ...SERVICE, account: 'production', token: 'another' })).toEqual(SCOPE);
  });

  test('any other by a hash of its token: the same in every process, and one for each token', async ({
    state,
    reopen,
  }) => {
    const scope = state.scope(SERVICE);
    expect(scope).toMatchObject({ region: 'eu', base_url: 'https://api.test' });
    expect(scope.account).toMatch(/^token:[0-9a-f]{16}$/);
    expect((await reopen()).scope(SERVICE)).toEqual(scope);
    expect(state.scope({ ...SERVICE, token: `${TOKEN}x` }).account).not.toBe(scope.account);
  });

  test('the hash is keyed: another machine has another one for the same token', ({ state, elsewhere }) => {
    expect(elsewhere.scope(SERVICE).account).not.toBe(state.scope(SERVICE).account);
  });
});

test.for<[over: Partial<Scope>, service: boolean, scope: boolean]>([
  [{}, true, true],
  [{ account: 'another' }, true, false],
  [{ region: 'default' }, false, false],
  [{ base_url: 'https://other.test' }, false, false],
])('scopes that differ by %j: of one service %s, the same %s', ([over, service, scope]) => {
  const other = { ...SCOPE, ...over };
  expect([sameService(SCOPE, other), sameScope(SCOPE, other)]).toEqual([service, scope]);
});

/** Every byte that is in the folder, files within folders too. */
function bytesIn(folder: string): Buffer {
  if (onPostgres) return stateBytes(folder);
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return Buffer.concat(files.map((file) => readFileSync(join(file.parentPath, file.name))));
}

/** All that an import leaves: a run, a request and its fingerprints, a job, column types. */
async function leaveTraces(state: State, id: string): Promise<void> {
  const scope = state.scope(SERVICE);
  const prints = {
    ids: idHashes(state.secret, [id]),
    contents: idHashes(state.secret, [`{"company_id":"${id}","metadata":{"note":"confidential"}}`]),
    records: idHashes(state.secret, [`${id},confidential`]),
  };
  await state.runs.start(aRun({ scope }));
  const rows = {
    sent: { ids: prints.ids, lines: [{ input: 0, lines: [2] }] },
    leftOut: { ids: prints.ids, lines: [{ input: 0, lines: [2] }] },
    overtaken: { ids: prints.ids, lines: [{ input: 0, lines: [2] }] },
    doubtful: { ids: prints.ids, lines: [{ input: 0, lines: [2] }] },
  };
  await state.requests.record(RUN, scope, 'companies', aRequest({ rows: 1 }), rowsOf(prints, [], rows));
  await state.history.putRejected(RUN, scope, 'companies', {
    ids: prints.ids,
    lines: [{ input: 0, lines: [3] }],
  });
  await state.sends.startProfile(scope, 'companies', prints.ids);
  await state.requests.record(RUN, scope, 'companies', acknowledged(aJob('job-1'), { rows: 1 }));
  await state.jobs.update(scope, aJob('job-1', { status: 'completed' }));
  await state.known.setColumnTypes(scope, 'companies', new Map([['note', 'string']]));
  await state.locks.take(scope, 'companies');
}

describe('on disk', () => {
  test('there is no token, no identifier and no metadata; open or closed', async ({ state, folder }) => {
    await leaveTraces(state, 'acme-4711');
    for (const when of ['open', 'closed']) {
      if (when === 'closed') await state.close();
      const bytes = bytesIn(folder);
      expect(bytes.includes('https://api.test')).toBe(true); // it is the right folder
      for (const secret of [TOKEN, 'acme-4711', 'confidential']) {
        expect([when, secret, bytes.includes(secret)]).toEqual([when, secret, false]);
        expect(bytes.includes(Buffer.from(secret, 'utf16le'))).toBe(false);
        expect(bytes.includes(Buffer.from(secret).toString('base64').slice(0, -4))).toBe(false);
      }
    }
  });
});

describe('column types', () => {
  test('are those of the last import of an account’s kind', async ({ state, reopen }) => {
    expect(await state.known.columnTypes(SCOPE, 'users')).toEqual(new Map());
    await state.known.setColumnTypes(SCOPE, 'users', new Map([['plan', 'string']]));
    await state.known.setColumnTypes(
      SCOPE,
      'users',
      new Map([
        ['seats', 'integer'],
        ['__proto__', 'number'],
      ]),
    );
    expect(await (await reopen()).known.columnTypes(SCOPE, 'users')).toEqual(
      new Map([
        ['seats', 'integer'],
        ['__proto__', 'number'],
      ]),
    );
    expect(await state.known.columnTypes(SCOPE, 'companies')).toEqual(new Map());
    expect(await state.known.columnTypes({ ...SCOPE, account: 'staging' }, 'users')).toEqual(new Map());
  });
});
