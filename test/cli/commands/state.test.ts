/** `profiles state`: what is remembered and how old that is, whether it is whole, and a copy of it. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DatabaseSync } from '@photostructure/sqlite';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Clock } from '../../../src/engine/util/clock.js';
import { built, profiles } from '../../support/child.js';
import { cli, scratch } from '../../support/cli.js';
import { fastClock } from '../../support/clock.js';

let cwd: string;
let database: string;
/** Of all commands of a test: what one has waited for has happened for the next. */
let clock: ReturnType<typeof fastClock>;
beforeEach(() => {
  clock = fastClock(100);
  cwd = scratch();
  database = join(cwd, '.state', 'state.db');
  writeFileSync(join(cwd, 'c.csv'), 'company_id,name\nc1,A\nc2,B\nc3,C\n');
  writeFileSync(join(cwd, 'u.csv'), 'user_id,name\nu1,A\n');
});

const run = async (line: string, time: Clock = clock) => {
  const result = await cli([...line.split(' '), '--region', 'sandbox'], { cwd, clock: time });
  const json = (): ReturnType<typeof JSON.parse> => JSON.parse(result.stdout);
  return { ...result, json, error: () => JSON.parse(result.stderr.trimEnd().split('\n').at(-1)!).error };
};

/** Changes what is recorded behind the program's back. */
function tamper(sql: string): void {
  const db = new DatabaseSync(database);
  db.exec(sql);
  db.close();
}

/** What a disk does that lost a page of this table or index. */
function zeroPage(name: string): void {
  const db = new DatabaseSync(database);
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  const { rootpage } = db.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').get(name) as {
    rootpage: number;
  };
  db.close();
  const bytes = readFileSync(database);
  const size = bytes.readUInt16BE(16);
  bytes.fill(0, (rootpage - 1) * size, rootpage * size);
  writeFileSync(database, bytes);
}

describe('state info', () => {
  test('names who holds a lock', async () => {
    await run('import c.csv');
    const lock = readdirSync(join(cwd, '.state/locks')).find((name) => name.endsWith('.lock'))!;
    const db = new DatabaseSync(join(cwd, '.state/locks', lock));
    db.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    tamper("UPDATE leases SET holder = 'run x (c.csv)'");
    const held = await run('state info --json');
    const text = await run('state info');
    db.close();
    expect(held.json().locks).toEqual([
      {
        account: 'sandbox',
        region: 'sandbox',
        base_url: 'embedded',
        kind: 'companies',
        holder: 'run x (c.csv)',
        heartbeat_age: null,
        fresh: true,
      },
    ]);
    expect(text.stdout).toMatch(/^locks +companies of sandbox \(sandbox\) held by run x \(c\.csv\)$/m);
    expect((await run('state info --json')).json().locks).toEqual([]);
  });
});

describe('state check', () => {
  test.each([
    ['runs.record', ['state check', 'runs', 'doctor', 'resume', 'import c.csv']],
    ['runs.summary', ['state check', 'runs', 'doctor', 'history company c1']],
    ['requests.record', ['state check', 'history company c1']],
    ['jobs.record', ['state check', 'jobs', 'doctor']],
    ['rejects.record', ['import bad.rejects.csv --dry-run']],
    ['fingerprints.keys', ['import changed.csv --changed-only -o track_keys=true --dry-run']],
    ['scopes.companies_types', ['import c.csv']],
    ['history.lines', ['history company c1']],
  ])('damaged JSON in %s is named, and is no bug', async (column, commands) => {
    writeFileSync(join(cwd, 'bad.csv'), 'company_id,name\nc4,D\n,E\n');
    writeFileSync(join(cwd, 'changed.csv'), 'company_id,name\nc1,changed\n');
    await run('import c.csv --changed-only -o track_keys=true');
    await run('import bad.csv --skip-invalid');
    for (const text of ['{"cut', '5', '{}', '[null]']) {
      const [table, name] = column.split('.');
      const type = column === 'history.lines' ? 'BLOB' : 'TEXT';
      tamper(`UPDATE ${table} SET ${name} = CAST('${text}' AS ${type})`);
      for (const line of commands) {
        const { stdout, stderr } = await run(line);
        expect(stdout + stderr, line).toMatch(/the state is damaged: \S+ \S+ has damaged JSON in /);
        expect(stdout + stderr, line).toContain(
          `restore a copy of ${join(cwd, '.state')}, or choose another folder`,
        );
      }
    }
  });

  test('names a damaged database: exit 1', async () => {
    await run('import c.csv');
    zeroPage('sends_by_scope');
    const { code, json, error } = await run('state check --json');
    expect([code, error().code]).toEqual([1, 'state']);
    expect(json().problems[0]).toMatchObject({ check: 'integrity' });
  });
});

describe('state backup', () => {
  beforeAll(built);

  test.skipIf(!existsSync('/proc/self/fd'))('syncs the copy, and then the folder with its name', async () => {
    const hook = pathToFileURL(join(import.meta.dirname, '../../support/log-syncs.mjs')).href;
    await run('import c.csv');
    const env = { NODE_OPTIONS: `--import ${hook}`, SYNCS: join(cwd, 'syncs') };
    const { code, stderr } = await profiles(['state', 'backup', 'copy.db'], { cwd, env }).ended;
    expect(code, stderr).toBe(0);
    const syncs = readFileSync(env.SYNCS, 'utf8').match(/(?<=^sync ).*/gm)!;
    expect(syncs.at(-2)).toMatch(/copy\.db\.[0-9a-f]{8}\.tmp.state\.db$/);
    expect(syncs.at(-1)).toBe(cwd);
  });

  test('of a damaged state names the damage, and leaves nothing', async () => {
    await run('import c.csv');
    zeroPage('jobs');
    const { code, error } = await run('state backup copy.db --json');
    expect([code, error()]).toEqual([
      1,
      expect.objectContaining({
        message: `cannot read the state in ${join(cwd, '.state')}: database disk image is malformed`,
        hint: expect.stringContaining(`restore a copy of ${join(cwd, '.state')}, or choose another folder`),
      }),
    ]);
    expect(readdirSync(cwd).filter((name) => name.startsWith('copy'))).toEqual([]);
  });
});
