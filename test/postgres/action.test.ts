/** The GitHub Action in relays whose state is in PostgreSQL: each job is on a runner of its own, which keeps nothing. */
import { rmSync } from 'node:fs';
import { beforeAll, describe, expect, onTestFinished } from 'vitest';
import { Runner } from '../action/runner.js';
import { built } from '../support/child.js';
import { PASSWORD } from '../support/postgres.js';
import { environmentOf, ManualClock, test } from '../support/sandbox.js';
import { hasPostgres, newSchema, server } from './support.js';

beforeAll(built);

describe.runIf(hasPostgres)('in relays', () => {
  test('what one runner does not finish in time, the next one does', async ({ start }) => {
    const schema = newSchema();
    onTestFinished(() => server.drop(schema));
    // Its jobs do not move until the third run.
    const clock = new ManualClock();
    const sandbox = await start({ clock });
    const env = { ...environmentOf(sandbox), PROFILES_STATE: server.url(schema) };
    const ids = new Set<string>();
    const logs: string[] = [];
    const shift = async (relay: string) => {
      const runner = new Runner(env);
      const { code, outputs, log, summary } = await runner.import({
        files: 'companies.csv\nusers.csv\n',
        relay,
      });
      ids.add(outputs.run!);
      logs.push(log, summary, JSON.stringify(outputs));
      for (const folder of [runner.temp, runner.workspace]) rmSync(folder, { recursive: true });
      return [code, outputs['exit-code'], outputs.resumable, outputs['rows-submitted']];
    };
    // Long enough for a busy machine to submit everything.
    expect(await shift('8s')).toEqual([0, '3', 'true', '12']);
    expect(await shift('8s')).toEqual([0, '3', 'true', '12']);
    const time = setInterval(() => clock.advance(1_000), 10);
    expect(await shift('5m')).toEqual([0, '0', 'false', '24']);
    clearInterval(time);
    expect(ids.size).toBe(1);
    const accepted = sandbox
      .ledger()
      .flatMap(({ accepted: done }) => (done ? [`${done.items} ${done.kind}`] : []));
    expect(accepted).toEqual(['12 companies', '12 users']);
    expect(logs.join('\n')).not.toContain(PASSWORD);
    expect(logs.join('\n')).not.toContain('cache of GitHub');
  });
});
