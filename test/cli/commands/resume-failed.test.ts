/** `resume --failed` and `--on-failure isolate` as they are typed: what is said, what is refused, and what the sandbox holds then. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Summary } from '../../../src/engine/model.js';
import { cli, scratch } from '../../support/cli.js';
import { environmentOf, test } from '../../support/sandbox.js';

const ids = Array.from({ length: 12 }, (_, i) => `c-${i}`);

function importing(env: Record<string, string>) {
  const cwd = scratch();
  const rows = ids.map((id, i) => `${id},${i === 5 ? 'bad' : 'ok'}\n`);
  writeFileSync(join(cwd, 'companies.csv'), `company_id,plan\n${rows.join('')}`);
  const run = async (line: string) => {
    const result = await cli([...line.split(' '), '--json'], { cwd, env });
    const summary = result.stdout === '' ? null : (JSON.parse(result.stdout) as Summary);
    return { ...result, summary };
  };
  return { cwd, env, run };
}

const SEND = 'import companies.csv --chunk-size 4 -o interval=1ms';

describe('with the service', () => {
  test.for(['failed', '422', 'short'] as const)(
    'rows at fault that end %s',
    async (failRowsWith, { start }) => {
      const sandbox = await start({ limits: { failRows: [['plan', 'bad']], failRowsWith } });
      const { cwd, run } = importing(environmentOf(sandbox));
      const { code, summary, stderr } = await run(`${SEND} --on-failure isolate`);
      expect(code, stderr).toBe(5);
      const held = ids.filter((id) => sandbox.show('companies', id));
      expect(held).toEqual(ids.filter((id) => id !== 'c-5'));
      if (failRowsWith === 'short') {
        expect(summary!.rows).toMatchObject({ rejected: 0, submitted: 12, completed: 11 });
        return;
      }
      // Two lines say what the search does, and what it found.
      const search = stderr.split('\n').filter((line) => /at fault/.test(line) && /^\d\d:/.test(line));
      expect(search.map((line) => line.slice('hh:mm:ss '.length))).toEqual([
        'looking for the rows at fault in companies.csv, lines 6 to 9',
        expect.stringMatching(/^companies\.csv, lines 6 to 9: 1 row at fault, 3 completed, [2-6] requests$/),
      ]);
      expect(summary!.rows).toMatchObject({ rejected: 1, submitted: 11, completed: 11 });
      expect(summary!.rejected).toMatchObject([{ file: 'companies.csv', line: 7 }]);
      expect(summary!.jobs.map(({ status }) => status)).not.toContain('failed');
      const rejects = readFileSync(join(cwd, 'companies.rejects.csv'), 'utf8').trimEnd().split('\r\n');
      expect(rejects).toHaveLength(2);
      expect(rejects[1]).toMatch(/^c-5,bad,7,/);
      // The ledger has each request with the one that it is a part of.
      const { stdout } = await cli(['runs', summary!.run!, '--json'], { cwd });
      const { requests } = JSON.parse(stdout) as { requests: { parent: number | null; state: string }[] };
      expect(requests.filter(({ parent }) => parent !== null).length).toBeGreaterThan(2);
      expect(JSON.parse((await cli(['state', 'check', '--json'], { cwd })).stdout)).toMatchObject({
        ok: true,
      });
    },
  );

  test('the printed steps lead to the end', async ({ start }) => {
    const sandbox = await start({ limits: { failRows: [['plan', 'bad']] } });
    const { cwd, env } = importing(environmentOf(sandbox));
    const first = await cli(SEND.split(' '), { cwd, env });
    expect(first.code).toBe(7);
    const [, command] =
      /find the rows at fault, and send the others again:\n +profiles (.*)/.exec(first.stderr) ?? [];
    expect(command).toMatch(/^resume \S+ --failed --on-failure isolate /);
    const last = await cli(command!.split(' '), { cwd, env });
    expect(last.code, last.stderr).toBe(5);
    expect(last.stderr).toContain('11 submitted (11 completed)');
  });

  test('there is nothing to send again', async ({ start }) => {
    const sandbox = await start();
    const { run } = importing(environmentOf(sandbox));
    expect((await run('resume --failed')).stderr).toContain('no finished import has failed rows');
    const { summary } = await run(SEND);
    const { code, stderr } = await run(`resume ${summary!.run} --failed`);
    expect([code, stderr]).toEqual([2, expect.stringContaining('has nothing to send again')]);
  });

  test('an unfinished run is finished first', async ({ start }) => {
    const sandbox = await start({ faults: ['401:nth=2'] });
    const { run } = importing(environmentOf(sandbox));
    const { summary, code } = await run(SEND);
    expect(code).toBe(4);
    const refused = await run(`resume ${summary!.run} --failed`);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('is unfinished (stopped)')]);
  });

  test('a refused request: resume finds the rows at fault with --on-failure isolate', async ({ start }) => {
    const sandbox = await start({ limits: { failRows: [['plan', 'bad']], failRowsWith: '422' } });
    const { run } = importing(environmentOf(sandbox));
    expect((await run(SEND)).code).toBe(6);
    const { code, summary, stderr } = await run('resume --on-failure isolate');
    expect([code, summary!.rows.rejected], stderr).toEqual([5, 1]);
  });
});

test.for([
  [`${SEND} --on-failure isolate --no-wait`, '--on-failure isolate and --no-wait cannot be combined'],
  [`${SEND} -o isolate_jobs=5`, '-o isolate_jobs has no effect without --on-failure isolate'],
  [`${SEND} --on-failure isolate -o isolate_jobs=0`, '-o isolate_jobs: "0" is not a whole number'],
  ['resume --failed -o isolate_jobs=5', '-o isolate_jobs has no effect without --on-failure isolate'],
  [`${SEND} --failed`, 'unknown option --failed'],
])('%s is refused', async ([line, says]) => {
  const { run } = importing({});
  const { code, stderr } = await run(`${line!} --region sandbox`);
  expect([code, stderr]).toEqual([2, expect.stringContaining(says!)]);
});
