import { describe, expect, it } from 'vitest';
import { UsageError } from '../../../src/engine/errors.js';
import { jobSegment, parseHost } from '../../../src/engine/service/address.js';

describe('a host as it is used', () => {
  it.each([
    ['https://api.example.com', 'https://api.example.com'],
    ['https://api.example.com/', 'https://api.example.com'],
    ['https://api.example.com///', 'https://api.example.com'],
    ['https://API.Example.com:443/profiles/', 'https://api.example.com/profiles'],
    [' https://api.example.com:8443/a/b ', 'https://api.example.com:8443/a/b'],
    ['api.example.com', 'https://api.example.com'],
    ['API.example.com:8443/v2/', 'https://api.example.com:8443/v2'],
    ['localhost:4100', 'https://localhost:4100'],
    ['[::1]:4100', 'https://[::1]:4100'],
    ['http://localhost:4100', 'http://localhost:4100'],
    ['http://127.0.0.1:4100/', 'http://127.0.0.1:4100'],
    ['http://service.localhost:4100', 'http://service.localhost:4100'],
    ['http://127.9.9.9', 'http://127.9.9.9'],
    ['http://[::1]:4100', 'http://[::1]:4100'],
    ['http://[::ffff:127.0.0.1]:4100', 'http://[::ffff:7f00:1]:4100'],
  ])('%s', (text, expected) => {
    expect(parseHost(text, '--base-url', undefined)).toBe(expected);
  });
});

describe('http:// beyond this machine', () => {
  it.each([
    ['http://service', 'service', true],
    ['http://service:8080/x', 'service', true],
    ['http://service:8080', 'service:8080', true],
    ['http://lookups:8081', 'service:8080, lookups:8081', true],
    ['http://SERVICE', 'Service', true],
    ['http://service:9090', 'service:8080', false],
    ['http://service.example.com', 'service', false],
    ['http://other', 'service', false],
    ['http://notservice', 'service', false],
    ['http://service', undefined, false],
    ['http://service', '', false],
    ['http://0.0.0.0', undefined, false],
    ['http://127.0.0.1.example.com', undefined, false],
    ['http://localhost.example.com', undefined, false],
    ['http://notlocalhost', undefined, false],
  ])('%s with PROFILES_ALLOW_HTTP=%s: %s', (text, allow, accepted) => {
    const parse = (): string => parseHost(text, 'PROFILES_BASE_URL', allow);
    if (accepted) expect(parse()).toMatch(/^http:/);
    else expect(parse).toThrow(/^PROFILES_BASE_URL: http:\/\/ would send the token to .* in the clear$/);
  });
});

describe('what is not a host names where it was set', () => {
  it.each([
    ['', '"" is not a URL'],
    ['not a host', '"not a host" is not a URL'],
    ['/etc/passwd', '"/etc/passwd" is not a URL'],
    ['C:\\x', '"C:\\x" is not a URL'],
    ['https:/api.example.com', '"https:/api.example.com" is not a URL'],
    ['http:api.example.com', '"http:api.example.com" is not a URL'],
    ['api.example.com?x=1', 'a host must not have a query or fragment'],
    ['https://', '"https://" is not a URL'],
    ['https://a b', '"https://a b" is not a URL'],
    ['ftp://api.example.com', 'a host must begin with https://, not ftp://'],
    ['file:///etc/passwd', 'a host must begin with https://, not file://'],
    ['https://api.example.com?x=1', 'a host must not have a query or fragment'],
    ['https://api.example.com#x', 'a host must not have a query or fragment'],
  ])('%s', (text, reason) => {
    expect(() => parseHost(text, 'regions.eu.base_url', undefined)).toThrow(`regions.eu.base_url: ${reason}`);
  });
  it.each([
    'https://me:hunter2@api.example.com',
    'https://hunter2@api.example.com',
    'me:hunter2@api.example.com',
  ])('credentials are refused without being printed: %s', (text) => {
    let message = '';
    try {
      parseHost(text, '--base-url', undefined);
    } catch (error) {
      message = `${(error as Error).message} ${(error as { hint?: string }).hint}`;
    }
    expect(message).toMatch(/^--base-url: /);
    expect(message).not.toContain('hunter2');
  });
});

describe('jobSegment', () => {
  it.each([
    ['plain-1', 'plain-1'],
    ['job:7/part 2', 'job%3A7%2Fpart%202'],
    ['%2e%2e', '%252e%252e'],
    ['a/../b?c#d', 'a%2F..%2Fb%3Fc%23d'],
    ['...', '...'],
  ])('%s is one segment', (id, segment) => {
    expect(jobSegment(id)).toBe(segment);
    const { pathname } = new URL(`https://x.example/v1/background_jobs/${segment}`);
    expect(decodeURIComponent(pathname.split('/')[3]!)).toBe(id);
  });

  it.each(['', '.', '..', 'half \ud800 pair'])('refuses %j', (id) => {
    expect(() => jobSegment(id)).toThrow(UsageError);
  });
});
