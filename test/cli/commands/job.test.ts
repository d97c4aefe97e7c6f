import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test as plainTest } from 'vitest';
import type { Sandbox } from '../../../src/sandbox/index.js';
import { type CliOptions, cli, scratch } from '../../support/cli.js';
import { environmentOf, ManualClock, submitCompanies, test } from '../../support/sandbox.js';
import { httpServer } from '../../support/servers.js';
import { bare } from '../../support/sink.js';

const job = (words: string[], sandbox: Sandbox, options: CliOptions = {}) =>
  cli(['job', ...words], { ...options, env: { ...environmentOf(sandbox), ...options.env } });

describe('job', () => {
  test('a state that cannot be written is a warning, and the record is printed', async ({ sandbox }) => {
    const cwd = scratch();
    writeFileSync(join(cwd, 'state'), 'a file');
    const id = await submitCompanies(sandbox, 1);
    const { code, stdout, stderr } = await job([id], sandbox, { cwd, env: { PROFILES_STATE_DIR: 'state' } });
    expect([code, stdout]).toEqual([0, expect.stringContaining(id)]);
    expect(stderr).toMatch(/^warning: .*state/);
  });

  plainTest.each([[[]], [['--watch']]])(
    'of several, an unknown one ends the requests for the others: %s',
    async (flags) => {
      let answerUnknown = (): void => {};
      const server = await httpServer(({ url }, response) => {
        const unknown = url!.endsWith('/nowhere');
        if (unknown) answerUnknown = () => response.writeHead(404).end();
        // The other one is never answered; its connection ends.
        if (server.seen.length === 2) answerUnknown();
      });
      const env = { PROFILES_BASE_URL: server.url, PROFILES_TOKEN: 'a-token' };
      const { code, stdout, stderr } = await cli(['job', 'nowhere', 'held', '--json', ...flags], { env });
      expect([code, stdout]).toEqual([6, '']);
      expect(JSON.parse(stderr.trimEnd().split('\n').at(-1)!)).toMatchObject({ error: { status: 404 } });
      expect(stderr).not.toContain('retry:');
      expect(server.seen).toHaveLength(2);
    },
  );
});

describe('job --watch', () => {
  test('Ctrl-C is exit 130, says that the job continues, and shows the cursor again', async ({ start }) => {
    const sandbox = await start({ clock: new ManualClock() });
    const id = await submitCompanies(sandbox);
    const stop = new AbortController();
    const watching = job([id, '--watch', '-o', 'interval=10ms'], sandbox, { stop: stop.signal, columns: 80 });
    await expect.poll(() => sandbox.ledger().length).toBeGreaterThanOrEqual(4);
    stop.abort('SIGINT');
    const { code, stdout, stderr } = await watching;
    expect([code, stdout]).toEqual([130, '']);
    expect(bare(stderr)).toContain(`the jobs continue; follow them with:\n    profiles job ${id} --watch`);
    expect(stderr.lastIndexOf('\u001b[?25h')).toBeGreaterThan(stderr.lastIndexOf('\u001b[?25l'));
    expect(bare(stderr)).toMatch(/⠋ .*queued/);
  });
});
