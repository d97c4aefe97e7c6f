/**
 * Imports through nginx, as it stands before many services: each ends as the contract says (§4 "What becomes of an
 * answer"), a resume brings the rest, and the service's ledger agrees.
 *
 * nginx keeps time by the real clock. So these tests wait for it, some hundred milliseconds each; only the
 * program's own waiting is shortened.
 */
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/engine/util/clock.js';
import { resumeToTheEnd } from '../loss/support.js';
import { closedPort } from '../support/servers.js';
import {
  expectDone,
  page,
  SEND,
  Sender,
  startNginx,
  startService,
  timesCarriedOut,
  withNginx,
} from './nginx.js';

const FIRST = { first_line: 2, last_line: 5, rows: 4 };
const FIRST_IDS = ['c-0', 'c-1', 'c-2', 'c-3'];

withNginx(() => {
  describe('no request gets through, until the proxy is fixed', () => {
    interface Case {
      /** Of nginx's location, or nothing listens behind it. */
      site: string | 'nothing behind it';
      exit: number;
      says: string;
      /** The service may have it, for all that can be known. */
      named: boolean;
    }
    test.each<[string, Case]>([
      [
        'upstream down',
        {
          site: 'nothing behind it',
          exit: 6,
          says: `^the service answered 502 Bad Gateway ${page()} \\(3 attempts\\)$`,
          named: true,
        },
      ],
      [
        'closed without a reply',
        {
          site: 'return 444;',
          exit: 6,
          says: '^127\\.0\\.0\\.1:\\d+ closed the connection before its reply \\(3 attempts\\)$',
          named: true,
        },
      ],
      [
        'maintenance',
        {
          site: 'add_header Retry-After 3600 always; return 503;',
          exit: 6,
          says: `^the service answered 503 Service Unavailable ${page('503 Service Temporarily Unavailable ')}; the service asks to wait 1h`,
          named: false,
        },
      ],
      [
        'no such site',
        {
          site: 'return 404;',
          exit: 6,
          says: `^http://127.0.0.1:\\d+/v1/companies/bulk_identify answered 404 Not Found ${page()}$`,
          named: false,
        },
      ],
      [
        'an access rule',
        {
          site: 'deny all;',
          exit: 4,
          says: `^a proxy refused the request: 403 Forbidden ${page()}$`,
          named: false,
        },
      ],
    ])('%s', async (_, { site, exit, says, named }) => {
      const service = await startService();
      const down = site === 'nothing behind it';
      const nginx = await startNginx(
        down
          ? { upstream: `http://127.0.0.1:${await closedPort()}` }
          : { upstream: service.url, location: site },
      );
      const sender = new Sender(nginx.url);
      const first = await sender.run(SEND);
      expect([first.code, first.summary?.status], first.stderr).toEqual([exit, 'stopped']);
      expect(first.error?.message).toMatch(new RegExp(says));
      expect(first.stderr).not.toMatch(/<|\r/);
      const doubt = named ? { unknown: 4, unsent: 8 } : { unsent: 12 };
      expect(first.summary!.rows).toMatchObject({ read: 12, submitted: 0, ...doubt });
      expect(service.ledger()).toEqual([]);

      await nginx.change({ upstream: service.url });
      const last = await resumeToTheEnd(sender, first);
      expect(last.code, last.stderr).toBe(0);
      expectDone(last.summary!, sender, service);
      for (const { maybe_sent_twice } of [first.summary!, last.summary!])
        expect(maybe_sent_twice).toMatchObject(named ? [FIRST] : []);
    });

    test('a redirect to another host: nothing arrives there', async () => {
      const [service, stranger] = [await startService(), await startService()];
      const redirect = `return 307 ${stranger.url}$request_uri;`;
      const nginx = await startNginx({ upstream: service.url, location: redirect });
      const sender = new Sender(nginx.url);
      const first = await sender.run(SEND);
      expect([first.code, first.summary?.status]).toEqual([6, 'stopped']);
      const to = `redirects to ${stranger.url}/v1/companies/bulk_identify: 307 Temporary Redirect`;
      expect(first.error?.message).toMatch(new RegExp(`${to} ${page()}$`));

      await nginx.change({ upstream: service.url });
      const last = await resumeToTheEnd(sender, first);
      expectDone(last.summary!, sender, service);
      expect(last.summary!.maybe_sent_twice).toEqual([]);
      expect(stranger.ledger()).toEqual([]);
    });
  });

  describe('what becomes of the first request is not known, so it is sent again and named', () => {
    test.each<[string, string, string, boolean]>([
      [
        'upstream slow, and done',
        'hang:first=1,accepted',
        `504 Gateway Timeout ${page('504 Gateway Time-out ')}`,
        true,
      ],
      ['upstream hangs', 'hang:first=1', `504 Gateway Timeout ${page('504 Gateway Time-out ')}`, false],
      ['upstream resets when it is done', 'reset-after:first=1', `502 Bad Gateway ${page()}`, true],
      ['upstream resets at once', 'reset-before:first=1', `502 Bad Gateway ${page()}`, false],
      [
        'upstream breaks off in the head of its reply',
        'cut-header:first=1',
        `502 Bad Gateway ${page()}`,
        true,
      ],
      [
        'upstream breaks off in the body of its reply',
        'cut-body:first=1',
        '127\\.0\\.0\\.1:\\d+ closed the connection in the middle of its reply',
        true,
      ],
    ])('%s', async (_, fault, reason, carriedOut) => {
      const service = await startService({ faults: [fault] });
      const nginx = await startNginx({ upstream: service.url, location: 'proxy_read_timeout 300ms;' });
      const sender = new Sender(nginx.url);
      const { code, stderr, summary } = await sender.run(SEND);
      expect(code, stderr).toBe(0);
      expect(stderr).toMatch(
        new RegExp(`^\\S+ retry: request 1 in [\\w.]+: ${reason}; its rows may be sent twice$`, 'm'),
      );
      expect(summary!.maybe_sent_twice).toMatchObject([
        { ...FIRST, reason: expect.stringMatching(new RegExp(`^${reason}$`)) },
      ]);
      expectDone(summary!, sender, service, carriedOut ? FIRST_IDS : []);
    });
  });

  test('a reply without length, cut short: nginx passes it on as whole, it is not JSON, and the request is sent again', async () => {
    // To an HTTP/1.0 client, as nginx is one, a reply without length ends where the connection does.
    const service = await startService({ faults: ['cut-body:first=1,chunked'] });
    const sender = new Sender((await startNginx({ upstream: service.url })).url);
    const { code, summary } = await sender.run(SEND);
    expect([code, summary?.status]).toEqual([0, 'completed']);
    expect(summary!.maybe_sent_twice).toMatchObject([
      { ...FIRST, reason: expect.stringContaining('answered 202 Accepted with') },
    ]);
    expectDone(summary!, sender, service, FIRST_IDS);
  });

  test('polls fail: what was accepted is followed by the resume, and not sent again', async () => {
    const service = await startService();
    const broken = 'if ($request_method = GET) { return 502; }';
    const nginx = await startNginx({ upstream: service.url, location: broken });
    const sender = new Sender(nginx.url);
    const first = await sender.run(SEND);
    expect([first.code, first.summary?.status]).toEqual([6, 'stopped']);
    expect(first.error).toMatchObject({
      message: expect.stringMatching(new RegExp(`502 Bad Gateway ${page()}$`)),
      hint: expect.stringContaining('the service or a proxy is having problems'),
    });
    expect(first.summary!.rows).toMatchObject({ submitted: 4, completed: 0, unsent: 8 });

    await nginx.change({ upstream: service.url });
    const last = await resumeToTheEnd(sender, first);
    expectDone(last.summary!, sender, service);
    expect(last.summary!.maybe_sent_twice).toEqual([]);
  });

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
