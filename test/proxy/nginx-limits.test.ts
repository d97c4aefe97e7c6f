/**
 * Limits of nginx: what is too large is halved until it fits, what is too fast waits (contract §4).
 *
 * Rates are counted by the real clock, so those tests run in real time.
 */
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/engine/util/clock.js';
import { startNginx, withNginx } from './nginx.js';
import { expectDone, page, SEND, Sender, startService, timesCarriedOut } from './support.js';

withNginx(() => {
  describe('client_max_body_size: 413', () => {
    test.each([
      ['requests of some kilobytes', 60, '2k', 2 << 10],
      ['requests of some megabytes, answered while they are being sent', 30_000, '512k', 512 << 10],
    ])('%s are halved until they fit', async (_, n, size, bytes) => {
      const service = await startService();
      const nginx = await startNginx({ upstream: service.url, server: `client_max_body_size ${size};` });
      const sender = new Sender(nginx.url, n);
      const { code, stderr, summary } = await sender.run([
        'import',
        'companies.csv',
        '--chunk-size',
        '50000',
      ]);
      expect(code, stderr).toBe(0);
      expectDone(summary!, sender, service);
      expect(summary).toMatchObject({ retries: 0, maybe_sent_twice: [] });
      // Halved, not crumbled.
      const sizes = service.ledger().flatMap(({ accepted }) => accepted?.bytes ?? []);
      expect(Math.max(...sizes)).toBeLessThanOrEqual(bytes);
      expect(Math.min(...sizes)).toBeGreaterThan(bytes / 4);
    });
  });

  describe('limit_req: 429', () => {
    const limited = (rate: string) => ({
      http: `limit_req_zone $binary_remote_addr zone=all:1m rate=${rate}; limit_req_status 429;`,
      location: 'limit_req zone=all;',
    });
    const said = new RegExp(`retry: request \\d in \\d+ms: 429 Too Many Requests ${page()}$`, 'm');

    test('is waited for; everything arrives once', async () => {
      const service = await startService();
      const nginx = await startNginx({ upstream: service.url, ...limited('20r/s') });
      const sender = new Sender(nginx.url);
      // In real time, since nginx counts by it: 50 ms between two requests, polls included.
      const flags = ['-o', 'retries=20', '-o', 'retry_delay=50ms', '-o', 'interval=10ms'];
      const options = { clock: systemClock };
      const { code, stderr, summary } = await sender.run(
        ['import', 'companies.csv', '--chunk-size', '4', ...flags],
        options,
      );
      expect(code, stderr).toBe(0);
      expectDone(summary!, sender, service);
      expect(summary!.maybe_sent_twice).toEqual([]);
      expect(summary!.retries).toBeGreaterThan(0);
      expect(stderr).toMatch(said);
    });

    test('for too long: stopped, and resumed', async () => {
      const service = await startService();
      const nginx = await startNginx({ upstream: service.url, ...limited('1r/m') });
      const sender = new Sender(nginx.url);
      const first = await sender.run([...SEND, '--no-wait']);
      expect([first.code, first.summary?.status]).toEqual([6, 'stopped']);
      expect(first.stderr).toMatch(said);
      expect(first.summary!.rows).toMatchObject({ submitted: 4, unsent: 8 });

      await nginx.change({ upstream: service.url });
      const last = await sender.run(['resume']);
      expect([last.code, last.summary?.status]).toEqual([0, 'submitted']);
      expect(last.summary).toMatchObject({ rows: { submitted: 12 }, maybe_sent_twice: [] });
      expect([...timesCarriedOut(service).values()]).toEqual(sender.ids.map(() => 1));
    });
  });
});
