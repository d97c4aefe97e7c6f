import { describe, expect, it } from 'vitest';
import { connectFailure, lostReason } from '../../../src/engine/service/failure.js';
import { oneLine, replyMessage } from '../../../src/engine/service/reply.js';
import { growth } from '../../support/measure.js';

describe('replyMessage', () => {
  it('stays one short line, whatever is sent', () => {
    const nasty = `\u001b[2J\u0085\u2028\n${'\u{1f600}'.repeat(500)}`;
    for (const body of [
      nasty,
      JSON.stringify({ errors: [{ message: nasty, details: nasty, error_code: nasty }] }),
    ]) {
      const line = replyMessage({ status: 400, contentType: null, body, requestId: nasty });
      expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/);
      expect(line.length).toBeLessThan(1_000);
      expect(line).not.toMatch(/\p{Surrogate}/u); // no emoji is cut in two
    }
  });

  it('looks at the beginning of a huge page only', async () => {
    const read = (times: number): void => {
      const body = `<html>${'<!--<script>'.repeat(times)}`;
      replyMessage({ status: 500, contentType: 'text/html', body, requestId: null });
    };
    expect(await growth(read, 2_000)).toBeLessThan(50);
  });
});

describe('oneLine', () => {
  it('clips between code points', () => {
    expect(oneLine('ab\u{1f600}cd', 4)).toBe('ab…');
    expect(oneLine('ab\u{1f600}cd', 5)).toBe('ab\u{1f600}…');
    expect(oneLine('abcd', 4)).toBe('abcd');
  });
});

/** Failures that no test can bring about at will; the others are in `network`, `proxy` and `tls`. */
const coded = (code: string, message = 'm', more: object = {}): Error =>
  Object.assign(new Error(message), { code, ...more });

it.each<[error: unknown, reason: string, tls: boolean]>([
  [coded('ENOTFOUND', 'm', { hostname: 'h' }), 'host h not found (ENOTFOUND)', false],
  [
    coded('EAI_AGAIN', 'm', { hostname: 'h' }),
    'the host name h could not be looked up: no name server answered (EAI_AGAIN)',
    false,
  ],
  [
    coded('EHOSTUNREACH', 'm', { address: '10.0.0.1', port: 443 }),
    '10.0.0.1:443 cannot be reached from this network (EHOSTUNREACH)',
    false,
  ],
  [
    new AggregateError(
      [coded('ETIMEDOUT', 'm', { address: '10.0.0.1', port: 443 }), coded('ENETUNREACH')],
      '',
    ),
    '10.0.0.1:443 did not accept a connection in time (ETIMEDOUT)',
    false,
  ],
  [coded('EACCES', 'not\nallowed'), 'no connection to h:1: not allowed (EACCES)', false],
  [new Error('odd'), 'no connection to h:1: odd', false],
  ['odd', 'no connection to h:1: odd', false],
  [
    coded('UNABLE_TO_GET_ISSUER_CERT_LOCALLY'),
    "h:1's certificate comes from an authority this machine does not know (UNABLE_TO_GET_ISSUER_CERT_LOCALLY)",
    true,
  ],
  [
    coded(
      'ERR_TLS_CERT_ALTNAME_INVALID',
      "Hostname/IP does not match certificate's altnames: Cert does not contain a DNS name",
    ),
    "h:1's certificate names another host: Cert does not contain a DNS name (ERR_TLS_CERT_ALTNAME_INVALID)",
    true,
  ],
  [
    coded('ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', 'alert protocol version'),
    'h:1 did not agree on TLS (ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION)',
    true,
  ],
])('before anything was sent: %s', (error, reason, tls) => {
  expect(connectFailure(error, 'h:1', 'HTTPS_PROXY')).toMatchObject({ reason, tls });
});

it.each<[error: unknown, replyStarted: boolean, reason: string]>([
  [coded('EPIPE'), false, 'h:1 reset the connection before its reply (EPIPE)'],
  [coded('ECONNRESET'), true, 'h:1 reset the connection in the middle of its reply (ECONNRESET)'],
  [
    coded('UND_ERR_HEADERS_OVERFLOW', 'Headers Overflow Error'),
    false,
    'the connection to h:1 failed before its reply: Headers Overflow Error (UND_ERR_HEADERS_OVERFLOW)',
  ],
  [new Error('odd'), true, 'the connection to h:1 failed in the middle of its reply: odd'],
])('after it was sent: %s', (error, replyStarted, reason) => {
  expect(lostReason(error, 'h:1', replyStarted)).toBe(reason);
});

it('names the setting of a proxy, all of whose addresses failed', () => {
  const refused = ['::1', '127.0.0.1'].map((address) => coded('ECONNREFUSED', 'm', { address, port: 3128 }));
  const error = Object.assign(new AggregateError(refused, ''), { proxy: 'p:3128' });
  expect(connectFailure(error, 'h:1', 'HTTP_PROXY')).toEqual({
    reason: '::1:3128 refused the connection (ECONNREFUSED)',
    tls: false,
    hint: 'check the network, HTTP_PROXY and NO_PROXY',
  });
});
