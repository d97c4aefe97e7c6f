/** A backup that is taken in the middle of an import holds all that was recorded by then (contract §1, §10). */
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { built, profiles } from '../support/child.js';
import { FaultServer } from '../support/fault-server.js';
import { balance, elevenCompanies, Machine } from './support.js';

const file = elevenCompanies();

let service: FaultServer;
let machine: Machine;
beforeAll(built);
beforeEach(async () => {
  service = await new FaultServer().start();
  machine = new Machine(service.url);
  machine.write(file.path, file.text);
});
afterEach(() => service.stop());

test('taken while an import holds the lock, which info names; restored in place of a lost state, it names what was in flight, and repeats nothing else', async () => {
  const start = (argv: string[]) => profiles(argv, { cwd: machine.folder, env: machine.env });
  let backup: { code: number | null; stderr: string } | undefined;
  let info: { code: number | null; stdout: string; stderr: string } | undefined;
  service.trouble = {
    submit: (nth) =>
      nth === 2
        ? async (exchange) => {
            await exchange.accept();
            backup = await start(['state', 'backup', 'copy.db']).ended;
            info = await start(['state', 'info', '--json']).ended;
            child.kill('SIGKILL');
          }
        : undefined,
  };
  const child = start(['import', file.path, '--chunk-size', '4', '-o', 'interval=1ms']);
  expect((await child.ended).signal).toBe('SIGKILL');
  expect(backup?.code, backup?.stderr).toBe(0);
  service.trouble = {};
  const [run] = await machine.runs();
  expect(info?.code, info?.stderr).toBe(0);
  expect(JSON.parse(info!.stdout).locks).toMatchObject([
    { kind: 'companies', base_url: service.url, holder: `run ${run!.run} (${file.path})` },
  ]);

  const restored = join(machine.folder, 'restored');
  mkdirSync(restored, { mode: 0o700 });
  copyFileSync(join(machine.folder, 'copy.db'), join(restored, 'state.db'));
  machine.env.PROFILES_STATE_DIR = restored;
  const last = await machine.run(['resume']);
  expect(last.code, last.stderr).toBe(0);
  expect(last.summary!.maybe_sent_twice).toMatchObject([{ first_line: 6, last_line: 9, rows: 4 }]);
  await balance(last.summary!, machine, service, file);
  expect(service.seen.submit).toBe(4);
});
