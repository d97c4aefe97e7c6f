import { describe, expect, it } from 'vitest';
import { ConfigError, UsageError } from '../../../src/engine/errors.js';
import { isLoopback, jobSegment, parseBaseUrl } from '../../../src/engine/service/address.js';

describe('parseBaseUrl', () => {
  it.each([
    ['https://api.example.com', 'https://api.example.com', ''],
    ['https://api.example.com/', 'https://api.example.com', ''],
    ['https://api.example.com:443/eu/', 'https://api.example.com', '/eu'],
    ['http://127.0.0.1:4100/a/b//', 'http://127.0.0.1:4100', '/a/b'],
  ])('%s', (text, origin, prefix) => {
    expect(parseBaseUrl(text, 'base_url')).toMatchObject({ origin, prefix });
  });

  it.each([
    ['api.example.com', 'base_url: "api.example.com" is not an http or https URL'],
    ['localhost:4100', 'base_url: "localhost:4100" is not an http or https URL'],
    ['ftp://api.example.com', 'base_url: "ftp://api.example.com" is not an http or https URL'],
    ['https://api.example.com?a=1', 'base_url: "https://api.example.com?a=1" must end before any ? or #'],
    ['https://me:hunter2@api.example.com', 'base_url: a base URL must not hold a user name or a password'],
  ])('refuses %s', (text, message) => {
    const read = (): unknown => parseBaseUrl(text, 'base_url');
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(message);
  });
});

describe('isLoopback', () => {
  it.each([
    ['localhost', true],
    ['api.localhost', true],
    ['127.0.0.1', true],
    ['127.9.9.9', true],
    ['[::1]', true],
    ['[::ffff:127.0.0.1]', true],
    ['localhost.example.com', false],
    ['127.0.0.1.example.com', false],
    ['128.0.0.1', false],
    ['[::2]', false],
    ['[::ffff:10.0.0.1]', false],
  ])('%s: %s', (host, loopback) => {
    expect(isLoopback(new URL(`http://${host}`).hostname)).toBe(loopback);
  });
});

describe('jobSegment', () => {
  it.each([
    ['plain-1', 'plain-1'],
    ['job:7/part 2', 'job%3A7%2Fpart%202'],
    [
      'https://x.example/v1/background_jobs/9?a#b',
      'https%3A%2F%2Fx.example%2Fv1%2Fbackground_jobs%2F9%3Fa%23b',
    ],
    ['%2e%2e', '%252e%252e'],
    ['a/../b', 'a%2F..%2Fb'],
    ['...', '...'],
    ['é', '%C3%A9'],
  ])('%s is one segment', (id, segment) => {
    expect(jobSegment(id)).toBe(segment);
    const url = new URL(`https://x.example/v1/background_jobs/${segment}`);
    expect(url.pathname.split('/')).toHaveLength(4);
    expect(decodeURIComponent(url.pathname.split('/')[3]!)).toBe(id);
  });

  it.each(['', '.', '..', 'half \ud800 pair'])('refuses %j', (id) => {
    expect(() => jobSegment(id)).toThrow(UsageError);
  });
});
