/** Where each setting comes from: its flag, its variable, the account, the top of the file, or its default. */
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import {
  configLocation,
  type SettingsFlags,
  type SettingsWorld,
  stateLocation,
} from '../../../src/cli/settings/sources.js';
import { writeDuration } from '../../../src/engine/util/duration.js';
import { cli, scratch } from '../../support/cli.js';
import { type Given, refusal, settle } from './world.js';

const EU = { base_url: 'https://eu.example.com', lookup_base_url: 'https://eu-lookups.example.com' };
const DIRECT = { base_url: 'direct.example.com', lookup_base_url: 'https://direct-lookups.example.com' };
const EU_TOKEN = { eu: { ...EU, token: 'token-of-eu' } };
const DB = 'postgres://loader@db.test/crm?schema=profiles';
const SECRET = 'postgres://loader:Hush/99@db.test/crm';
const PROD = {
  token: 'token-of-prod',
  region: 'default',
  regions: { default: { base_url: 'https://prod.example.com/api/' } },
  import: { chunk_size: 200 },
};
const ABOVE = { region: 'eu', regions: { eu: { base_url: 'https://other.example.com' } } };
const STATES = { prod: { state: 'postgres://loader@prod.test/crm' }, bare: {} };

/** Config files by their names in the cases. */
const FILES: Record<string, object> = {
  FILE: {
    token: 'token-of-the-top',
    region: 'eu',
    regions: { eu: EU, default: { base_url: 'https://us.example.com' } },
    import: { chunk_size: 100, keys: 'snake_case' },
    accounts: { prod: PROD, bare: {} },
  },
  EU_TOKEN: { regions: EU_TOKEN },
  EU_CHOSEN: { region: 'eu', regions: EU_TOKEN },
  TOKEN_OF_A: { regions: EU_TOKEN, accounts: { a: { token: 'token-of-a' } } },
  DIRECT: { accounts: { a: DIRECT } },
  ABOVE: { regions: { eu: EU }, accounts: { a: { ...DIRECT, ...ABOVE } } },
  TOP: { region: 'eu', regions: { eu: EU }, accounts: { a: DIRECT } },
  OTHER: { regions: { eu: EU }, accounts: { a: { ...DIRECT, region: 'default' } } },
  NO_HOSTS: { accounts: { a: { ...DIRECT, region: 'default' } } },
  BOXED: { accounts: { a: { ...DIRECT, region: 'sandbox', token: 'token-of-a' } } },
  REHEARSED: { accounts: { test: { region: 'sandbox' } }, regions: { eu: EU } },
  APAC: { accounts: { a: { regions: { apac: EU } } } },
  ODD: {
    accounts: { constructor: { token: 'token-of-constructor' } },
    regions: { toString: { base_url: 'https://a.example.com' } },
  },
  STATE: { state: '/x' },
  SECRET: { state: SECRET },
  STATES: { state: '/x', accounts: STATES },
};

/** A variable for each host, the region and the token. */
const ENV = [
  ...['PROFILES_REGION=default', 'PROFILES_BASE_URL=https://env.example.com'],
  ...['PROFILES_LOOKUP_BASE_URL=https://env-lookups.example.com', 'PROFILES_TOKEN=token-of-the-environment'],
].join(' ');

/** Reads `PROFILES_REGION=eu --account prod < FILE`. A value may be quoted. */
function given(line: string): Given {
  const words = line
    .replace('ENV', ENV)
    .match(/(?:[^\s']|'[^']*')+/g)!
    .map((word) => word.replaceAll("'", ''));
  const [env, flags]: [Record<string, string>, Record<string, string>] = [{}, {}];
  let file: object | undefined;
  while (words.length > 0) {
    const word = words.shift()!;
    if (word === '<') file = FILES[words.shift()!]!;
    else if (!word.startsWith('-')) env[word.slice(0, word.indexOf('='))] = word.slice(word.indexOf('=') + 1);
    else flags[word.slice(2).replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())] = words.shift()!;
  }
  return { env, flags, ...(file && { file }) };
}

/** Every setting as `key=value (origin)`, and the warnings. */
async function seen(of: Given): Promise<string[]> {
  const { importDefaults, origins, warnings, configPath, ...settings } = await settle(of);
  const home = configPath.replace(/\/\.config.*$/, '');
  const { state, token } = settings;
  const values: Record<string, unknown> = {
    ...{ account: settings.account, region: settings.region, token: token?.reveal() },
    ...{ base_url: settings.baseUrl, lookup_base_url: settings.lookupBaseUrl },
    ...{ request_timeout: writeDuration(settings.timeoutMs), state_dir: settings.stateDir },
    state: state.kind === 'sqlite' ? state.folder : state.url.reveal(),
    ...{ 'import.chunk_size': importDefaults.chunkSize, 'import.keys': importDefaults.keys },
  };
  const lines = Object.entries(values).map(
    ([key, value]) => `${key}=${value ?? 'none'} (${origins[key]?.replace(/^.*config\.json/, 'file')})`,
  );
  return [...lines, ...warnings.map((text) => `warning: ${text}`)].map((text) => text.replaceAll(home, '~'));
}

/** A name, what is given, and below it what must be seen: an origin only where one stands there. */
const CASES = `
nothing set at all
$ HOST=x
account=none; region=default (default); base_url=none (not set); lookup_base_url=none; token=none; request_timeout=2m
the file alone
$ < FILE
region=eu (file (region)); base_url=${EU.base_url} (file (regions.eu.base_url)); lookup_base_url=${EU.lookup_base_url}
token=token-of-the-top (file (token)); import.chunk_size=100; import.keys=snake_case
the environment before the file
$ ENV < FILE
region=default (environment PROFILES_REGION); base_url=https://env.example.com (environment PROFILES_BASE_URL)
lookup_base_url=https://env-lookups.example.com; token=token-of-the-environment (environment PROFILES_TOKEN); no warning
a variable that is set to nothing is not set
$ PROFILES_REGION='' PROFILES_BASE_URL='' PROFILES_TOKEN='  ' < FILE
region=eu; base_url=${EU.base_url}; token=token-of-the-top
a host flag before the environment; the other host stays
$ ENV --base-url https://flag.example.com// < FILE
base_url=https://flag.example.com (flag --base-url); lookup_base_url=https://env-lookups.example.com
a region flag brings its own hosts, and says what it ignores; the token stays
$ ENV --region eu < FILE
region=eu; base_url=${EU.base_url}; lookup_base_url=${EU.lookup_base_url}; token=token-of-the-environment
warning: PROFILES_BASE_URL is ignored: --region eu brings its own hosts
warning: PROFILES_LOOKUP_BASE_URL is ignored: --region eu brings its own hosts
a region flag whose region has a token of its own ignores that of the environment, and says so
$ PROFILES_TOKEN=token-of-the-environment --region eu < EU_TOKEN
token=token-of-eu (file (regions.eu.token))
warning: PROFILES_TOKEN is ignored: --region eu brings its own token
the token of the environment wins over that of a region which no flag chose
$ PROFILES_TOKEN=token-of-the-environment < EU_CHOSEN
token=token-of-the-environment
the token of an account is before that of a region at the top
$ --account a --region eu < TOKEN_OF_A
token=token-of-a
a region flag whose region has no lookup host does not fall back to the environment
$ ENV --region default < FILE
base_url=https://us.example.com; lookup_base_url=none (not set)
an account flag brings its own hosts and token
$ ENV PROFILES_REGION='' --account prod < FILE
account=prod (flag --account); region=default (file (accounts.prod.region)); token=token-of-prod
base_url=https://prod.example.com/api (file (accounts.prod.regions.default.base_url))
warning: PROFILES_BASE_URL is ignored: --account prod brings its own hosts
warning: PROFILES_LOOKUP_BASE_URL is ignored: --account prod brings its own hosts
warning: PROFILES_TOKEN is ignored: --account prod brings its own token
both flags are named in the warning
$ PROFILES_BASE_URL=https://env.example.com --account prod --region eu < FILE
region=eu; base_url=${EU.base_url}
warning: PROFILES_BASE_URL is ignored: --region eu and --account prod brings its own hosts
an account from the environment leaves the environment its token and hosts
$ ENV PROFILES_ACCOUNT=prod < FILE
account=prod (environment PROFILES_ACCOUNT); base_url=https://env.example.com; token=token-of-the-environment; no warning
an account overrides the top, key by key
$ PROFILES_ACCOUNT=prod < FILE
token=token-of-prod; import.chunk_size=200 (file (accounts.prod.import.chunk_size)); import.keys=snake_case (file (import.keys))
an account takes hosts from the top, but never the token of the top
$ --account bare < FILE
account=bare; region=eu; base_url=${EU.base_url}; token=none (not set)
an account flag says when the environment overrides its region
$ PROFILES_REGION=eu --account prod < FILE
region=eu
warning: PROFILES_REGION=eu overrides default, the region of account prod
a duration as the deadline of a request
$ --request-timeout 1.5s
request_timeout=1500ms (flag -o request_timeout)
names that objects are born with are ordinary names
$ --account constructor --region toString < ODD
account=constructor; token=token-of-constructor; base_url=https://a.example.com
hosts directly in an account are those of its own region
$ --account a < DIRECT
base_url=https://direct.example.com (file (accounts.a.base_url))
they are before the hosts of that region, in the account and at the top
$ --account a < ABOVE
base_url=https://direct.example.com (file (accounts.a.base_url))
the region at the top is the own one of an account without a region
$ --account a < TOP
base_url=https://direct.example.com (file (accounts.a.base_url))
another region by flag has its own hosts
$ --account a --region eu < OTHER
base_url=${EU.base_url} (file (regions.eu.base_url))
another region without hosts has none
$ --account a --region eu < NO_HOSTS
base_url=none (not set)
the sandbox stays embedded, and no token is read for it
$ PROFILES_TOKEN=a-real-token --account a < BOXED
region=sandbox; base_url=none (embedded); lookup_base_url=none (embedded); token=none (embedded)
the sandbox by a flag
$ ENV PROFILES_TOKEN_FILE=token --region sandbox
region=sandbox; base_url=none; lookup_base_url=none; token=none
warning: PROFILES_BASE_URL is ignored: region sandbox is embedded and has its own hosts
warning: PROFILES_LOOKUP_BASE_URL is ignored: region sandbox is embedded and has its own hosts
the sandbox by the environment needs no file, no token and no host
$ PROFILES_REGION=sandbox
region=sandbox; base_url=none; token=none; no warning
a region flag decides about an account for rehearsals
$ --account test --region eu < REHEARSED
base_url=${EU.base_url}
the state is in the state folder
$ HOST=x
state=~/.local/state/profiles (default); state_dir=~/.local/state/profiles
the state by its flag; beside a database, the machine has its own folder
$ PROFILES_STATE=/x PROFILES_STATE_DIR=/own --state ${DB}
state=${DB} (flag --state); state_dir=/own
the state by its variable
$ PROFILES_STATE=${SECRET} < STATE
state=${SECRET} (environment PROFILES_STATE)
the state by the file, whose folder holds everything
$ PROFILES_STATE_DIR=/own < STATE
state=/x (file (state)); state_dir=/x
a password in the file
$ < SECRET
state=${SECRET} (file (state))
the state of an account
$ --account prod < STATES
state=postgres://loader@prod.test/crm (file (accounts.prod.state))
an account without a state has that of the top
$ --account bare < STATES
state=/x (file (state))
a state as a path
$ PROFILES_STATE='a b'
state=~/a b; state_dir=~/a b
a state as a folder of SQLite
$ PROFILES_STATE=sqlite:data
state=~/data
a state as a folder of SQLite with slashes
$ PROFILES_STATE=sqlite:///data
state=/data
`;

const cases = [...CASES.matchAll(/^(?!\$)(.+)\n\$ (.*)\n((?:(?!.*\n\$ ).+\n)+)/gm)].map(
  ([, name = '', line = '', wanted = '']): [string, string, string[]] => [
    name,
    line,
    wanted.trim().split(/; |\n/),
  ],
);

it('the cases are read', () => expect(cases.length).toBe(CASES.match(/^\$/gm)!.length));

it.each(cases)('%s', async (_, line, wanted) => {
  const all = await seen(given(line));
  const warnings = wanted.filter((text) => text.startsWith('warning:'));
  for (const text of wanted.filter((each) => /^[\w.]+=/.test(each))) {
    expect(all).toContainEqual(text.endsWith(')') ? text : expect.stringMatching(`^${escaped(text)} \\(`));
  }
  if (warnings.length > 0 || wanted.includes('no warning'))
    expect(all.filter((text) => text.startsWith('warning:'))).toEqual(warnings);
});

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

const NAME_RULE = 'a name consists of letters, digits, "-" and "_", and starts with a letter or digit';
const HOSTS = 'the sandbox is embedded and has its own hosts; leave one of them out';

describe('refused', () => {
  it.each<[line: string, name: 'Config' | 'Usage', message: string, hint?: string]>([
    ['--region sandobx', 'Usage', 'unknown region "sandobx" (flag --region)', 'did you mean "sandbox"?'],
    [
      'PROFILES_REGION=sandbx PROFILES_BASE_URL=https://real.example.com',
      ...([
        'Config',
        'unknown region "sandbx" (environment PROFILES_REGION)',
        'did you mean "sandbox"?',
      ] as const),
    ],
    [
      '--region apac < APAC',
      ...(['Usage', 'unknown region "apac" (flag --region)'] as const),
      'available regions: default, eu, sandbox; to add this one:\n  profiles config set regions.apac.base_url https://…',
    ],
    ['--account prd < FILE', 'Usage', 'unknown account "prd" (flag --account)', 'did you mean "prod"?'],
    [
      'PROFILES_ACCOUNT=prod',
      ...(['Config', 'unknown account "prod" (environment PROFILES_ACCOUNT)'] as const),
      'create it with:\n  profiles config init --account prod',
    ],
    [
      '--account toString < FILE',
      ...(['Usage', 'unknown account "toString" (flag --account)'] as const),
      'create it with:\n  profiles config init --account toString',
    ],
    ['--account münchen', 'Usage', 'unknown account "münchen" (flag --account)', NAME_RULE],
    [
      "PROFILES_REGION='my region'",
      'Config',
      'unknown region "my region" (environment PROFILES_REGION)',
      NAME_RULE,
    ],
    [
      '--request-timeout 30',
      'Usage',
      '-o request_timeout: "30" is not a duration',
      'write 500ms, 30s, 5m or 2h',
    ],
    [
      '--request-timeout 0s',
      'Usage',
      '-o request_timeout must be greater than zero',
      'write 30s, for example',
    ],
    [
      '--account test PROFILES_REGION=eu < REHEARSED',
      ...(['Usage', 'account "test" uses region sandbox, but PROFILES_REGION is eu'] as const),
      'unset PROFILES_REGION, or use --region sandbox or --region eu',
    ],
    [
      '--region sandbox --base-url https://a.example.com',
      ...(['Usage', '--base-url cannot be used with region sandbox (flag --region)', HOSTS] as const),
    ],
    [
      'PROFILES_REGION=sandbox --lookup-base-url https://a.example.com',
      ...([
        'Usage',
        '--lookup-base-url cannot be used with region sandbox (environment PROFILES_REGION)',
      ] as const),
      HOSTS,
    ],
    [`--state ${SECRET}`, 'Usage', '--state: a password on the command line'],
    ['--state postgresql://h/d?password=Hush', 'Usage', '--state: a password'],
    ['PROFILES_STATE=mysql://u:Hush@h/d', 'Config', 'PROFILES_STATE: mysql is not'],
    ['--state sqlite:', 'Usage', '--state: the directory is missing'],
  ])('%s', async (line, name, message, hint) => {
    const found = await refusal(given(line));
    expect(found).toEqual({
      name: `${name}Error`,
      message: hint === undefined ? expect.stringContaining(message) : message,
      hint: hint ?? found.hint,
    });
    expect(JSON.stringify(found)).not.toContain('Hush');
  });
});

describe('the password of a state', () => {
  it('makes a file that others can read be refused, and none else', async () => {
    const open = { mode: 0o644 };
    const { message } = await refusal({ file: { state: SECRET }, ...open });
    expect(message).toContain('contains a password, but other users can read it (mode 0644)');
    expect(await seen({ file: { state: DB }, ...open })).toContain(`state=${DB} (file (state))`);
  });
  it('is in nothing that is printed', async () => {
    const env = { PROFILES_STATE: SECRET };
    const settings = await settle({ env });
    expect(inspect(settings, { depth: 9 }) + JSON.stringify(settings)).not.toContain('Hush');
    const { stdout } = await cli(['config', 'list', '--json'], { env });
    const origin = 'environment PROFILES_STATE';
    expect(JSON.parse(stdout)).toContainEqual({
      key: 'state',
      value: 'postgres://loader:…@db.test/crm',
      origin,
    });
  });
  it('is refused by config set, which keeps a URL without one', async () => {
    const cwd = scratch();
    const refused = await cli(['config', 'set', 'state', SECRET], { cwd });
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('PGPASSWORD')]);
    expect(refused.stderr).not.toContain('Hush');
    expect((await cli(['config', 'set', 'state', DB], { cwd })).code).toBe(0);
    expect((await cli(['config', 'get', 'state'], { cwd })).stdout).toBe(`${DB}\n`);
  });
});

const unix = (env: Record<string, string>): SettingsWorld => ({ env, platform: 'linux', cwd: '/here' });
const windows = (env: Record<string, string>): SettingsWorld => ({ env, platform: 'win32', cwd: 'C:\\here' });
const HOME = { HOME: '/home/a' };
const APP_DATA = 'C:\\Users\\a\\AppData';
const ROAMING = { APPDATA: `${APP_DATA}\\Roaming`, LOCALAPPDATA: `${APP_DATA}\\Local` };

describe('where files are by default', () => {
  it.each<[SettingsWorld, SettingsFlags, string, origin?: string]>([
    [unix(HOME), {}, '/home/a/.config/profiles/config.json'],
    [unix({ ...HOME, XDG_CONFIG_HOME: '/xdg' }), {}, '/xdg/profiles/config.json'],
    [unix({ ...HOME, XDG_CONFIG_HOME: 'relative' }), {}, '/home/a/.config/profiles/config.json'],
    [unix({ ...HOME, PROFILES_CONFIG: '/etc/p.json' }), {}, '/etc/p.json', 'environment PROFILES_CONFIG'],
    [unix({ ...HOME, PROFILES_CONFIG: 'p.json' }), {}, '/here/p.json', 'environment PROFILES_CONFIG'],
    [unix({ PROFILES_CONFIG: '/etc/p.json' }), { config: 'q.json' }, '/here/q.json', 'flag --config'],
    [windows(ROAMING), {}, `${APP_DATA}\\Roaming\\profiles\\config.json`],
    [windows(ROAMING), { config: 'q.json' }, 'C:\\here\\q.json', 'flag --config'],
    [windows({ USERPROFILE: 'C:\\Users\\a' }), {}, 'C:\\Users\\a\\.config\\profiles\\config.json'],
  ])('the config file: %j %j is %s', (world, flags, value, origin = 'default') => {
    expect(configLocation(world, flags)).toEqual({ value, origin });
  });
  it.each<[SettingsWorld, string, origin?: string]>([
    [unix(HOME), '/home/a/.local/state/profiles'],
    [unix({ ...HOME, XDG_STATE_HOME: '/xdg' }), '/xdg/profiles'],
    [unix({ ...HOME, PROFILES_STATE_DIR: '.state' }), '/here/.state', 'environment PROFILES_STATE_DIR'],
    [windows(ROAMING), `${APP_DATA}\\Local\\profiles\\state`],
  ])('the state folder: %j is %s', (world, value, origin = 'default') => {
    expect(stateLocation(world)).toEqual({ value, origin });
  });
  it('without a home folder it says what to set', () => {
    const message = 'no home folder found, so there is no default for --config';
    expect(() => configLocation(unix({}), {})).toThrow(message);
    expect(configLocation(unix({}), { config: '/c.json' }).value).toBe('/c.json');
  });
});
