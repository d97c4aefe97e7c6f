/** What a run keeps, which the tests themselves change: so that it goes on as it began, or not at all (contract §4). */
import { readFileSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from '@photostructure/sqlite';
import { beforeEach, describe, expect, test } from 'vitest';
import { openState } from '../../src/engine/state/state.js';
import { workspace } from '../support/workspace.js';
import { FAULTS, fates, status } from './faults.js';
import { balance, type Companies } from './support.js';

const rows = Array.from({ length: 6 }, (_, i) => [`c-${i}`, String(i)]);
const file: Companies = {
  path: 'companies.csv',
  ids: new Map(rows.map(([id], i) => [i + 2, id!])),
  text: `company_id,code\n${rows.map((row) => `${row.join(',')}\n`).join('')}`,
};
const { service, machine, run } = workspace({ [file.path]: file.text });

/** Executes statements, or returns the first row of a query. */
function sql(statements: string): unknown {
  const db = new DatabaseSync(machine.path('.state/state.db'));
  try {
    return statements.startsWith('SELECT') ? db.prepare(statements).get() : db.exec(statements);
  } finally {
    db.close();
  }
}

describe('a run', () => {
  const SEND = `import ${file.path} --chunk-size 2 -o retries=0`;
  beforeEach(() => {
    // The answer to the second request is lost.
    service.trouble.submit = (nth) => (nth === 2 ? FAULTS['reset after acceptance'] : undefined);
  });

  test('records its column types and the version of its rules', async () => {
    await run(SEND);
    const state = await openState(machine.path('.state'), Date.now);
    const [first] = await state.runs.all();
    await state.close();
    expect(first).toMatchObject({ item_format: 1, inputs: [{ types: ['string', 'integer'] }] });
  });

  test('is resumed with the types that it began with, whatever would be inferred now', async () => {
    service.trouble.submit = () => status(422);
    expect((await run(SEND)).code).toBe(6);
    sql(`UPDATE runs SET record = replace(record, '["string","integer"]', '["string","string"]')`);
    service.trouble = {};
    // An import that would continue it with other types says how to continue it.
    const { code, error } = await run(`${SEND} --resume`);
    expect([code, error!.code]).toEqual([2, 'usage']);
    expect(error!.message).toMatch(/^run \S+ of the same content started with different column types$/);
    expect(error!.hint).toMatch(/^continue with:\n {2}profiles resume \S+ --base-url \S+$/);
    expect(service.seen.submit).toBe(1);
    const last = await run('resume');
    expect(last.code, last.stderr).toBe(0);
    const codes = [...service.ledger.profiles.companies.values()];
    expect(codes).toEqual(['0', '1', '2', '3', '4', '5'].map((text) => ({ code: text })));
  });

  test('has the intent of each request on disk when it arrives, also one that waited for others', async () => {
    const ids = Array.from({ length: 50 }, (_, i) => `c-${i}`);
    machine.write(file.path, `company_id,code\n${ids.map((id) => `${id},0\n`).join('')}`);
    const states: unknown[] = [];
    service.trouble.submit = () => async (exchange) => {
      const { sha256 } = await exchange.read();
      states.push(sql(`SELECT state FROM requests WHERE json_extract(record, '$.digest') = '${sha256}'`));
      await exchange.acknowledge();
    };
    const { code, stderr } = await run(`import ${file.path} --chunk-size 1 --concurrency 99`);
    expect(code, stderr).toBe(0);
    expect(states).toEqual(ids.map(() => ({ state: 'intent' })));
  });

  test('keeps its values while its jobs are only followed, and sends nothing without them', async () => {
    service.trouble = { fate: () => fates.stuck };
    const waiting = '--concurrency 4 -o interval=1h --wait 8h';
    const first = await run(`${SEND} --set plan=gold --where code!=0 ${waiting}`);
    expect([first.code, first.summary!.rows.submitted], first.stderr).toEqual([3, 5]);
    service.trouble.fate = () => fates.failed;
    expect((await run('resume')).code).toBe(7);
    service.trouble = {};
    const values = machine.path(`.state/spool/${first.summary!.run}/values.json`);
    const kept = readFileSync(values);
    writeFileSync(values, '{"sets":[[],[],[]],"where":[]}');
    const lost = await run(`resume ${first.summary!.run} --failed`);
    expect([lost.code, lost.error!.message], lost.stderr).toEqual([
      2,
      expect.stringContaining('was given values that are not on this machine'),
    ]);
    writeFileSync(values, kept);
    const again = await run(`resume ${first.summary!.run} --failed`);
    expect(again.code, again.stderr).toBe(0);
    expect([...service.ledger.profiles.companies]).toEqual(
      [1, 2, 3, 4, 5].map((code) => [`c-${code}`, { code, plan: 'gold' }]),
    );
  });

  test.each(['', ' --changed-only'])(
    'repeats a request byte for byte, else nothing is sent: exit 2%s',
    async (flag) => {
      const first = await run(SEND + flag);
      expect(first.summary!.rows, first.stderr).toMatchObject({ submitted: 2, unknown: 2, unsent: 2 });
      service.trouble = {};
      // As if the version that sent it had made other items of these rows.
      const [, { digest }] = (await machine.requests(first.summary!.run!)) as [unknown, { digest: string }];
      sql(`UPDATE requests SET record = replace(record, '${digest}', '${'0'.repeat(64)}') WHERE seq = 2`);
      const { code, error, summary } = await run('resume');
      expect([code, error!.code]).toEqual([2, 'input']);
      expect(error!.message).toBe(
        'companies.csv, lines 4 to 5: the content differs from what was sent the first time, so it was not sent again',
      );
      expect(summary!.rows).toMatchObject({ submitted: 2, unknown: 2, unsent: 2 });
      expect(service.seen.submit).toBe(2);
      // Where the body is the same, it goes on, and names it.
      sql(`UPDATE requests SET record = replace(record, '${'0'.repeat(64)}', '${digest}') WHERE seq = 2`);
      const last = await run('resume');
      expect([last.code, last.summary!.maybe_sent_twice.length], last.stderr).toEqual([0, 1]);
      await balance(last.summary!, machine, service, file);
    },
  );

  test('of other rules than this version has is not resumed: exit 2', async () => {
    await run(SEND);
    sql("UPDATE runs SET record = json_set(record, '$.item_format', 99)");
    for (const line of ['resume', `${SEND} --resume`]) {
      const { code, error } = await run(line);
      expect([code, error!.code], line).toEqual([2, 'usage']);
      expect(error!.message).toContain('was planned by another version of profiles');
    }
    expect(service.seen.submit).toBe(2);
  });
});

describe('afterwards', () => {
  const SEND = 'import a.csv --chunk-size 2 -o retries=0';
  const write = (ids: string): void =>
    machine.write('a.csv', `user_id,name\n${[...ids].map((id) => `${id},n\n`).join('')}`);

  test('an import leaves that of another machine alone, unless the file is the same', async () => {
    write('abc');
    service.trouble.submit = () => status(404);
    await run(SEND);
    sql("UPDATE runs SET record = json_set(record, '$.machine', 'another')");
    write('abd');
    const other = await run(SEND);
    expect(other.summary!.warnings.join()).not.toContain('replaces');
    sql("UPDATE runs SET record = json_set(record, '$.machine', 'another')");
    expect((await run(SEND)).summary!.warnings.join()).toContain(`replaces run ${other.summary!.run}`);
  });

  test('a run whose process died has crashed, and has no summary of the session before', async () => {
    write('abc');
    service.trouble.submit = () => status(503);
    const { run: id } = (await run(SEND)).summary!;
    expect(await machine.show(`runs ${id}`)).toMatchObject({ summary: { status: 'stopped' } });
    sql("UPDATE runs SET status = 'running'");
    expect(await machine.show(`runs ${id}`)).toMatchObject({ status: 'crashed', summary: null });
    const { code, error } = await run(`resume ${id} --failed`);
    expect([code, error!.message]).toEqual([2, `run ${id} is unfinished (crashed)`]);
  });

  test('a run has ended as it did where its state cannot be tidied afterwards', async () => {
    write('a');
    await run(SEND);
    sql(`UPDATE history SET at = 0;
      CREATE TRIGGER full BEFORE DELETE ON history BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`);
    const again = await run(SEND);
    expect([again.code, again.error, again.summary?.status], again.stderr).toEqual([0, null, 'completed']);
  });

  test('what was found unchanged is kept for as long as older data is unfinished', async () => {
    const kept = (): unknown =>
      sql(
        'SELECT count(*) AS n FROM sends JOIN fingerprints USING (send) WHERE state = 3 AND length(ids) > 0',
      );
    write('abc');
    await run(SEND);
    await run(`${SEND} --changed-only`);
    expect(kept()).toEqual({ n: 0 });
    machine.write('old.csv', 'user_id,name\nx,old\na,old\n');
    service.trouble.submit = () => status(404);
    const old = await run('import old.csv --chunk-size 1');
    service.trouble = {};
    await run(`${SEND} --changed-only`);
    expect(kept()).toEqual({ n: 1 });
    await run(`runs --forget ${old.summary!.run!}`);
    expect(kept()).toEqual({ n: 0 });
  });
});
