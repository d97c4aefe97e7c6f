/** What a run keeps so that a later version sends the same (contract §4). */
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openState } from '../../src/engine/state/state.js';
import { FaultServer, type Strike } from '../support/fault-server.js';
import { balance, type Companies, Machine } from './support.js';

describe('a run', () => {
  const rows = Array.from({ length: 6 }, (_, i) => [`c-${i}`, String(i)]);
  const file: Companies = {
    path: 'companies.csv',
    ids: new Map(rows.map(([id], i) => [i + 2, id!])),
    text: `company_id,code\n${rows.map((row) => `${row.join(',')}\n`).join('')}`,
  };
  const SEND = ['import', file.path, '--chunk-size', '2', '-o', 'retries=0'];
  const lost: Strike = async (exchange) => {
    await exchange.accept();
    exchange.socket.destroy();
  };

  let service: FaultServer;
  let machine: Machine;
  beforeEach(async () => {
    service = await new FaultServer().start();
    machine = new Machine(service.url);
    machine.write(file.path, file.text);
    // The answer to the second request is lost.
    service.trouble = { submit: (nth) => (nth === 2 ? lost : undefined) };
  });
  afterEach(() => service.stop());

  const change = (sql: string): void => {
    const db = new DatabaseSync(join(machine.folder, '.state', 'state.db'));
    db.exec(sql);
    db.close();
  };
  const codes = (): unknown[] =>
    [...service.ledger.profiles.companies.values()].map((profile) => (profile as { code: unknown }).code);

  test('records its column types and the version of its rules', async () => {
    await machine.run(SEND);
    const state = await openState(join(machine.folder, '.state'), Date.now);
    const [run] = await state.runs.all();
    await state.close();
    expect(run).toMatchObject({ item_format: 1, inputs: [{ types: ['string', 'integer'] }] });
  });

  test('is resumed with the types that it began with, whatever would be inferred now', async () => {
    service.trouble = { submit: () => (exchange) => exchange.reply(422, '{}') };
    expect((await machine.run(SEND)).code).toBe(6);
    expect(codes()).toEqual([]);
    change(`UPDATE runs SET inputs = replace(inputs, '["string","integer"]', '["string","string"]')`);
    service.trouble = {};
    const last = await machine.run(['resume']);
    expect(last.code, last.stderr).toBe(0);
    expect(codes()).toEqual(['0', '1', '2', '3', '4', '5']);
  });

  test('and an import that would continue it with other types says how to continue it', async () => {
    await machine.run(SEND);
    change(`UPDATE runs SET inputs = replace(inputs, '["string","integer"]', '["string","string"]')`);
    const { submit } = service.seen;
    const { code, error } = await machine.run([...SEND, '--resume']);
    expect([code, error!.code]).toEqual([2, 'usage']);
    expect(error!.message).toMatch(/^run \S+ of the same content started with different column types$/);
    expect(error!.hint).toMatch(/^continue with:\n {2}profiles resume \S+ --base-url \S+$/);
    expect(service.seen.submit).toBe(submit);
  });

  test.each([
    ['the whole', SEND],
    ['only what changed', [...SEND, '--changed-only']],
  ])('repeats %s request byte for byte, else nothing is sent: exit 2', async (_, argv) => {
    const first = await machine.run(argv);
    expect(first.summary!.rows, first.stderr).toMatchObject({ submitted: 2, unknown: 2, unsent: 2 });
    service.trouble = {};
    // As if the version that sent it had made other items of these rows.
    change(`UPDATE requests SET digest = '${'0'.repeat(64)}' WHERE seq = 2`);
    const { submit } = service.seen;
    const { code, error, summary } = await machine.run(['resume']);
    expect([code, error!.code]).toEqual([2, 'input']);
    expect(error!.message).toBe(
      'companies.csv, lines 4 to 5: the content differs from what was sent the first time, so it was not sent again',
    );
    expect(summary!.rows).toMatchObject({ submitted: 2, unknown: 2, unsent: 2 });
    expect(service.seen.submit).toBe(submit);
  });

  test('goes on where the body is the same, and names it', async () => {
    await machine.run(SEND);
    service.trouble = {};
    const last = await machine.run(['resume']);
    expect([last.code, last.summary!.maybe_sent_twice.length], last.stderr).toEqual([0, 1]);
    await balance(last.summary!, machine, service, file);
  });

  test('of other rules than this version has is not resumed: exit 2', async () => {
    await machine.run(SEND);
    change('UPDATE runs SET item_format = 99');
    const { submit } = service.seen;
    for (const argv of [['resume'], [...SEND, '--resume']]) {
      const { code, error } = await machine.run(argv);
      expect([code, error!.code], argv.join(' ')).toEqual([2, 'usage']);
      expect(error!.message).toContain('was planned by another version of profiles');
    }
    expect(service.seen.submit).toBe(submit);
  });
});
