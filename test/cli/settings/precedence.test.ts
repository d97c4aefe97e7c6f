/** Where each setting comes from. As long as there are settings and places. */
import { describe, expect, it } from 'vitest';
import type { Settings } from '../../../src/cli/settings/sources.js';
import { type Given, refusal, settle } from './world.js';

const EU = { base_url: 'https://eu.example.com', lookup_base_url: 'https://eu-lookups.example.com' };
const FILE = {
  token: 'token-of-the-top-0000',
  region: 'eu',
  regions: { eu: EU, default: { base_url: 'https://us.example.com' } },
  import: { chunk_size: 100, keys: 'snake_case' },
  accounts: {
    prod: {
      token: 'token-of-prod-1111',
      region: 'default',
      regions: { default: { base_url: 'https://prod.example.com/api/' } },
      import: { chunk_size: 200 },
    },
    bare: {},
  },
};

const ENV = {
  PROFILES_REGION: 'default',
  PROFILES_BASE_URL: 'https://env.example.com',
  PROFILES_LOOKUP_BASE_URL: 'https://env-lookups.example.com',
  PROFILES_TOKEN: 'token-of-the-environment-2222',
};

type Row = [name: string, given: Given, expected: Record<string, unknown>];

/** What the tables compare: the token in the clear, the rest as it is. */
const seen = (settings: Settings, keys: string[]): Record<string, unknown> =>
  Object.fromEntries(
    keys.map((key) => {
      if (key === 'token') return [key, settings.token?.reveal() ?? null];
      if (key.startsWith('from '))
        return [key, settings.origins[key.slice(5)]?.replace(/^.*config\.json/, 'file')];
      return [key, settings[key as keyof Settings]];
    }),
  );

describe('hosts directly in an account are those of its own region', () => {
  const direct = { base_url: 'direct.example.com', lookup_base_url: 'https://direct-lookups.example.com' };
  const rows: [string, Given, baseUrl: string | null, from: string][] = [
    [
      'the account alone',
      { file: { accounts: { a: direct } }, flags: { account: 'a' } },
      'https://direct.example.com',
      'file (accounts.a.base_url)',
    ],
    [
      'before the hosts of that region, in the account and at the top',
      {
        file: {
          regions: { eu: EU },
          accounts: {
            a: { ...direct, region: 'eu', regions: { eu: { base_url: 'https://other.example.com' } } },
          },
        },
        flags: { account: 'a' },
      },
      'https://direct.example.com',
      'file (accounts.a.base_url)',
    ],
    [
      'the region at the top is the own one of an account without a region',
      { file: { region: 'eu', regions: { eu: EU }, accounts: { a: direct } }, flags: { account: 'a' } },
      'https://direct.example.com',
      'file (accounts.a.base_url)',
    ],
    [
      'another region by flag has its own hosts',
      {
        file: { regions: { eu: EU }, accounts: { a: { ...direct, region: 'default' } } },
        flags: { account: 'a', region: 'eu' },
      },
      EU.base_url,
      'file (regions.eu.base_url)',
    ],
    [
      'another region without hosts has none',
      { file: { accounts: { a: { ...direct, region: 'default' } } }, flags: { account: 'a', region: 'eu' } },
      null,
      'not set',
    ],
    [
      'the sandbox stays embedded',
      { file: { accounts: { a: { ...direct, region: 'sandbox' } } }, flags: { account: 'a' } },
      null,
      'embedded',
    ],
  ];
  it.each(rows)('%s', async (_, given, baseUrl, from) => {
    const settings = await settle(given);
    expect(seen(settings, ['baseUrl', 'from base_url'])).toEqual({ baseUrl, 'from base_url': from });
  });
});

describe('each value comes from the first place that has it', () => {
  const rows: Row[] = [
    [
      'nothing set at all',
      {},
      {
        account: null,
        region: 'default',
        embedded: false,
        baseUrl: null,
        lookupBaseUrl: null,
        token: null,
        timeoutMs: 120_000,
        warnings: [],
      },
    ],
    [
      'the file alone',
      { file: FILE },
      {
        region: 'eu',
        'from region': 'file (region)',
        baseUrl: EU.base_url,
        'from base_url': 'file (regions.eu.base_url)',
        lookupBaseUrl: EU.lookup_base_url,
        token: FILE.token,
        'from token': 'file (token)',
        importDefaults: { chunkSize: 100, keys: 'snake_case' },
      },
    ],
    [
      'the environment before the file',
      { file: FILE, env: ENV },
      {
        region: 'default',
        'from region': 'environment PROFILES_REGION',
        baseUrl: ENV.PROFILES_BASE_URL,
        'from base_url': 'environment PROFILES_BASE_URL',
        lookupBaseUrl: ENV.PROFILES_LOOKUP_BASE_URL,
        token: ENV.PROFILES_TOKEN,
        'from token': 'environment PROFILES_TOKEN',
        warnings: [],
      },
    ],
    [
      'a variable that is set to nothing is not set',
      { file: FILE, env: { PROFILES_REGION: '', PROFILES_BASE_URL: '', PROFILES_TOKEN: '  ' } },
      { region: 'eu', baseUrl: EU.base_url, token: FILE.token },
    ],
    [
      'a host flag before the environment; the other host stays',
      { file: FILE, env: ENV, flags: { baseUrl: 'https://flag.example.com//' } },
      {
        baseUrl: 'https://flag.example.com',
        'from base_url': 'flag --base-url',
        lookupBaseUrl: ENV.PROFILES_LOOKUP_BASE_URL,
      },
    ],
    [
      'a region flag brings its own hosts, and says what it ignores; the token stays',
      { file: FILE, env: ENV, flags: { region: 'eu' } },
      {
        region: 'eu',
        baseUrl: EU.base_url,
        lookupBaseUrl: EU.lookup_base_url,
        token: ENV.PROFILES_TOKEN,
        warnings: [
          'PROFILES_BASE_URL is ignored: --region eu brings its own hosts',
          'PROFILES_LOOKUP_BASE_URL is ignored: --region eu brings its own hosts',
        ],
      },
    ],
    [
      'a region flag whose region has a token of its own ignores that of the environment, and says so',
      { file: { regions: { eu: { ...EU, token: 'token-of-eu-3333' } } }, env: ENV, flags: { region: 'eu' } },
      {
        token: 'token-of-eu-3333',
        'from token': 'file (regions.eu.token)',
        warnings: expect.arrayContaining(['PROFILES_TOKEN is ignored: --region eu brings its own token']),
      },
    ],
    [
      'the token of the environment wins over that of a region which no flag chose',
      {
        file: { region: 'eu', regions: { eu: { ...EU, token: 'token-of-eu-3333' } } },
        env: { PROFILES_TOKEN: ENV.PROFILES_TOKEN },
      },
      { token: ENV.PROFILES_TOKEN },
    ],
    [
      'the token of an account is before that of a region at the top',
      {
        file: {
          regions: { eu: { ...EU, token: 'token-of-eu-3333' } },
          accounts: { a: { token: 'token-of-a-4444' } },
        },
        flags: { account: 'a', region: 'eu' },
      },
      { token: 'token-of-a-4444' },
    ],
    [
      'a region flag whose region has no lookup host does not fall back to the environment',
      { file: FILE, env: ENV, flags: { region: 'default' } },
      { baseUrl: 'https://us.example.com', lookupBaseUrl: null, 'from lookup_base_url': 'not set' },
    ],
    [
      'an account flag brings its own hosts and token',
      { file: FILE, env: { ...ENV, PROFILES_REGION: undefined }, flags: { account: 'prod' } },
      {
        account: 'prod',
        'from account': 'flag --account',
        region: 'default',
        'from region': 'file (accounts.prod.region)',
        baseUrl: 'https://prod.example.com/api',
        'from base_url': 'file (accounts.prod.regions.default.base_url)',
        token: 'token-of-prod-1111',
        warnings: [
          'PROFILES_BASE_URL is ignored: --account prod brings its own hosts',
          'PROFILES_LOOKUP_BASE_URL is ignored: --account prod brings its own hosts',
          'PROFILES_TOKEN is ignored: --account prod brings its own token',
        ],
      },
    ],
    [
      'both flags are named in the warning',
      {
        file: FILE,
        env: { PROFILES_BASE_URL: 'https://env.example.com' },
        flags: { account: 'prod', region: 'eu' },
      },
      {
        region: 'eu',
        baseUrl: EU.base_url,
        warnings: ['PROFILES_BASE_URL is ignored: --region eu and --account prod brings its own hosts'],
      },
    ],
    [
      'an account from the environment leaves the environment its token and hosts',
      { file: FILE, env: { ...ENV, PROFILES_ACCOUNT: 'prod' } },
      {
        account: 'prod',
        'from account': 'environment PROFILES_ACCOUNT',
        baseUrl: ENV.PROFILES_BASE_URL,
        token: ENV.PROFILES_TOKEN,
        warnings: [],
      },
    ],
    [
      'the account that the file names',
      { file: { ...FILE, account: 'prod' } },
      {
        account: 'prod',
        region: 'default',
        token: 'token-of-prod-1111',
        importDefaults: { chunkSize: 200, keys: 'snake_case' },
        'from import.chunk_size': 'file (accounts.prod.import.chunk_size)',
        'from import.keys': 'file (import.keys)',
      },
    ],
    [
      'an account takes hosts from the top, but never the token of the top',
      { file: FILE, flags: { account: 'bare' } },
      { account: 'bare', region: 'eu', baseUrl: EU.base_url, token: null, 'from token': 'not set' },
    ],
    [
      'an account flag says when the environment overrides its region',
      { file: FILE, env: { PROFILES_REGION: 'eu' }, flags: { account: 'prod' } },
      { region: 'eu', warnings: ['PROFILES_REGION=eu overrides default, the region of account prod'] },
    ],
    [
      'a duration as the deadline of a request',
      { flags: { requestTimeout: '1.5s' } },
      { timeoutMs: 1_500, 'from request_timeout': 'flag -o request_timeout' },
    ],
    [
      'names that objects are born with are ordinary names',
      {
        file: '{"accounts":{"constructor":{"token":"token-of-constructor"}}, "regions":{"toString":{"base_url":"https://a.example.com"}}}',
        flags: { account: 'constructor', region: 'toString' },
      },
      { account: 'constructor', token: 'token-of-constructor', baseUrl: 'https://a.example.com' },
    ],
  ];
  it.each(rows)('%s', async (_, given, expected) => {
    expect(seen(await settle(given), Object.keys(expected))).toEqual(expected);
  });
});

describe('region sandbox has its own hosts and no token, however it was chosen', () => {
  const rows: [string, Given][] = [
    ['by flag', { flags: { region: 'sandbox' } }],
    ['by environment', { env: { PROFILES_REGION: 'sandbox' } }],
    ['by the file', { file: { ...FILE, region: 'sandbox' } }],
    [
      'by an account',
      {
        file: { accounts: { test: { region: 'sandbox', token: 'token-of-test-3333' } } },
        flags: { account: 'test' },
      },
    ],
  ];
  it.each(rows)('%s', async (_, given) => {
    const { PROFILES_REGION: _default, ...env } = ENV;
    const settings = await settle({ ...given, env: { ...env, ...given.env } });
    expect(settings).toMatchObject({
      region: 'sandbox',
      embedded: true,
      baseUrl: null,
      lookupBaseUrl: null,
      token: null,
    });
    expect(settings.warnings[0]).toBe(
      'PROFILES_BASE_URL is ignored: region sandbox is embedded and has its own hosts',
    );
  });
  it.each(rows)('%s: a host flag is a usage error', async (_, given) => {
    for (const flag of ['baseUrl', 'lookupBaseUrl'] as const) {
      const error = await refusal({
        ...given,
        flags: { ...given.flags, [flag]: 'https://real.example.com' },
      });
      expect(error.name).toBe('UsageError');
      expect(error.message).toContain('cannot be used with region sandbox');
    }
  });
  it('no token is read for it', async () => {
    const given = { env: { PROFILES_TOKEN: 'a-real-token', PROFILES_TOKEN_FILE: 'token' } };
    const settings = await settle({ ...given, flags: { region: 'sandbox' } });
    expect([settings.token, settings.tokenFile]).toEqual([null, null]);
  });
  it('the environment cannot send an account for rehearsals to a real service', async () => {
    const file = { accounts: { test: { region: 'sandbox' } }, regions: { eu: EU } };
    const given = { file, flags: { account: 'test' }, env: { PROFILES_REGION: 'eu' } };
    expect(await refusal(given)).toEqual({
      name: 'UsageError',
      message: 'account "test" uses region sandbox, but PROFILES_REGION is eu',
      hint: 'unset PROFILES_REGION, or use --region sandbox or --region eu',
    });
    expect(await settle({ ...given, flags: { account: 'test', region: 'eu' } })).toMatchObject({
      baseUrl: EU.base_url,
    });
  });
  it('needs no file, no token and no host', async () => {
    expect((await settle({ flags: { region: 'sandbox' } })).warnings).toEqual([]);
  });
});

describe('unknown names are refused, with the nearest known one', () => {
  const rows: [string, Given, { name: string; message: string; hint: string }][] = [
    [
      'a mistyped region flag',
      { flags: { region: 'sandobx' } },
      {
        name: 'UsageError',
        message: 'unknown region "sandobx" (flag --region)',
        hint: 'did you mean "sandbox"?',
      },
    ],
    [
      'a mistyped region in the environment does not reach the host of the environment',
      { env: { PROFILES_REGION: 'sandbx', PROFILES_BASE_URL: 'https://real.example.com' } },
      {
        name: 'ConfigError',
        message: 'unknown region "sandbx" (environment PROFILES_REGION)',
        hint: 'did you mean "sandbox"?',
      },
    ],
    [
      'a region of another account',
      { file: { accounts: { a: { regions: { apac: EU } } } }, flags: { region: 'apac' } },
      {
        name: 'UsageError',
        message: 'unknown region "apac" (flag --region)',
        hint: 'available regions: default, eu, sandbox; to add this one:\n  profiles config set regions.apac.base_url https://…',
      },
    ],
    [
      'a mistyped account',
      { file: FILE, flags: { account: 'prd' } },
      { name: 'UsageError', message: 'unknown account "prd" (flag --account)', hint: 'did you mean "prod"?' },
    ],
    [
      'an account without a file',
      { env: { PROFILES_ACCOUNT: 'prod' } },
      {
        name: 'ConfigError',
        message: 'unknown account "prod" (environment PROFILES_ACCOUNT)',
        hint: 'create it with:\n  profiles config init --account prod',
      },
    ],
    [
      'an account that only objects have',
      { file: FILE, flags: { account: 'toString' } },
      {
        name: 'UsageError',
        message: 'unknown account "toString" (flag --account)',
        hint: 'create it with:\n  profiles config init --account toString',
      },
    ],
    [
      'an account with a name that the config file cannot have',
      { flags: { account: 'münchen' } },
      {
        name: 'UsageError',
        message: 'unknown account "münchen" (flag --account)',
        hint: 'a name consists of letters, digits, "-" and "_", and starts with a letter or digit',
      },
    ],
    [
      'a region with such a name',
      { env: { PROFILES_REGION: 'my region' } },
      {
        name: 'ConfigError',
        message: 'unknown region "my region" (environment PROFILES_REGION)',
        hint: 'a name consists of letters, digits, "-" and "_", and starts with a letter or digit',
      },
    ],
    [
      'a bare number as a deadline',
      { flags: { requestTimeout: '30' } },
      {
        name: 'UsageError',
        message: '-o request_timeout: "30" is not a duration',
        hint: 'write 500ms, 30s, 5m or 2h',
      },
    ],
    [
      'a deadline of nothing',
      { flags: { requestTimeout: '0s' } },
      {
        name: 'UsageError',
        message: '-o request_timeout must be greater than zero',
        hint: 'write 30s, for example',
      },
    ],
  ];
  it.each(rows)('%s', async (_, given, expected) => {
    expect(await refusal(given)).toEqual(expected);
  });
});
