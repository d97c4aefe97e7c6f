/** `profiles config`, each of its subcommands as scripts and as people use it. Long because the subcommands share one file, one terminal and one way to be held to account. */

import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KEYS, type Scalar, withValue } from '../../../src/cli/settings/keys.js';
import { type Sandbox, startSandbox } from '../../../src/sandbox/index.js';
import { type CliOptions, type CliResult, cli, scratch } from '../../support/cli.js';
import { onOneLine } from '../../support/printed.js';
import { atTerminal, type Turn } from './terminal.js';

const TOKEN = 'key-0123456789-abcd';
const below = (cwd: string): string => join(cwd, '.config', 'profiles', 'config.json');
const read = (cwd: string): unknown => JSON.parse(readFileSync(below(cwd), 'utf8'));

/** A folder with a config file. */
function having(content: object, mode = 0o600): string {
  const cwd = scratch();
  mkdirSync(dirname(below(cwd)), { recursive: true });
  writeFileSync(below(cwd), JSON.stringify(content));
  chmodSync(below(cwd), mode);
  return cwd;
}

/** A command line in such a folder, the folder shown as `~`. */
async function run(words: string, options: CliOptions & { cwd: string }): Promise<CliResult> {
  const { code, stdout, stderr } = await cli(words.split(' '), options);
  const short = (text: string): string => text.replaceAll(options.cwd, '~');
  return { code, stdout: short(stdout), stderr: short(stderr) };
}

const FILE = '~/.config/profiles/config.json';
const EU = { base_url: 'https://eu.example.com', lookup_base_url: 'https://eu-lookups.example.com' };

describe('set', () => {
  const rows: [string, object, string, object, string][] = [
    ['a name', {}, 'region sandbox', { region: 'sandbox' }, `region = sandbox in ${FILE}\n`],
    [
      'a host, as it will be used',
      {},
      'regions.eu.base_url HTTPS://EU.example.com/x/',
      { regions: { eu: { base_url: 'https://eu.example.com/x' } } },
      `regions.eu.base_url = https://eu.example.com/x in ${FILE}\n`,
    ],
    [
      'a number',
      {},
      'import.chunk_size 100',
      { import: { chunk_size: 100 } },
      `import.chunk_size = 100 in ${FILE}\n`,
    ],
    [
      'a percentage',
      {},
      'import.max_invalid 2%',
      { import: { max_invalid: '2%' } },
      `import.max_invalid = 2% in ${FILE}\n`,
    ],
    [
      'a switch',
      {},
      'import.changed_only true',
      { import: { changed_only: true } },
      `import.changed_only = true in ${FILE}\n`,
    ],
    [
      'digits where text is wanted',
      {},
      'import.delimiter 1',
      { import: { delimiter: '1' } },
      `import.delimiter = 1 in ${FILE}\n`,
    ],
    [
      'a value of an account, beside what stands',
      { region: 'eu', accounts: { a: { region: 'eu' } }, regions: { eu: EU } },
      'accounts.b.region eu',
      { region: 'eu', accounts: { a: { region: 'eu' }, b: { region: 'eu' } }, regions: { eu: EU } },
      `accounts.b.region = eu in ${FILE}\n`,
    ],
    [
      'with --account, a value of that account',
      {},
      'region sandbox --account b',
      { accounts: { b: { region: 'sandbox' } } },
      `accounts.b.region = sandbox in ${FILE}\n`,
    ],
    [
      'an account named like an object’s own property',
      {},
      'accounts.constructor.region sandbox',
      { accounts: { constructor: { region: 'sandbox' } } },
      `accounts.constructor.region = sandbox in ${FILE}\n`,
    ],
  ];
  it.each(rows)('%s', async (_, before, words, after, said) => {
    const cwd = having(before);
    expect(await run(`config set ${words}`, { cwd })).toEqual({ code: 0, stdout: '', stderr: said });
    expect(read(cwd)).toEqual(after);
  });

  it('makes a private file where there is none', async () => {
    const cwd = scratch();
    expect((await run('config set region sandbox', { cwd })).code).toBe(0);
    expect(statSync(below(cwd)).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(below(cwd))).mode & 0o777).toBe(0o700);
  });

  it('a region without hosts is set, and the lines that give it some are shown', async () => {
    const cwd = scratch();
    const { code, stderr } = await run('config set region eu', { cwd });
    expect(code).toBe(0);
    expect(stderr).toBe(
      [
        `region = eu in ${FILE}`,
        'warning: region "eu" has no hosts yet; run:',
        '    profiles config set regions.eu.base_url https://…',
        '    profiles config set regions.eu.lookup_base_url https://…',
        '',
      ].join('\n'),
    );
  });
  it('a region similar to sandbox gets a warning', async () => {
    expect((await run('config set region sandbx', { cwd: scratch() })).stderr).toContain(
      '(did you mean "sandbox"?)',
    );
  });
  it('--json says on stdout what was written; --quiet says nothing', async () => {
    const cwd = scratch();
    const json = await run('config set region sandbox --json --quiet', { cwd });
    expect(json).toEqual({
      code: 0,
      stdout: `{"key":"region","value":"sandbox","path":"${FILE}"}\n`,
      stderr: '',
    });
  });

  const refusals: [string, string, string][] = [
    ['an unknown key', 'regin eu', 'unknown key "regin"\n  did you mean "region"?'],
    [
      'an unknown import key',
      'import.chunksize 5',
      'unknown key "import.chunksize"\n  did you mean "import.chunk_size"?',
    ],
    [
      'an unknown key of an account',
      'accounts.a.tokn x',
      'unknown key "accounts.a.tokn"\n  did you mean "accounts.a.token"?',
    ],
    ['a prototype', 'accounts.__proto__.region eu', 'unknown key "accounts.__proto__.region"'],
    [
      'a prototype of a region',
      'regions.__proto__.base_url https://a.example.com',
      'unknown key "regions.__proto__.base_url"',
    ],
    ['a property of objects', 'constructor x', 'unknown key "constructor"'],
    [
      'hosts for the sandbox',
      'regions.sandbox.base_url https://a.example.com',
      'regions.sandbox.base_url: the sandbox is embedded and has no hosts to set',
    ],
    ['no value', 'region', 'region needs a value\n  profiles config set region <value>'],
    [
      'a name with a space in it',
      'region eu/west',
      'region: "eu/west": a name consists of letters, digits, "-" and "_", and starts with a letter or digit',
    ],
    ['text for a number', 'import.chunk_size many', 'import.chunk_size: "many": must be a whole number'],
    ['nothing for a number', 'import.chunk_size 0', 'import.chunk_size: "0": must be at least 1'],
    [
      'a duration without unit',
      'interval 5',
      'interval: "5": a duration is written like 500ms, 30s, 5m or 2h',
    ],
    [
      'a word that is none of the choices',
      'import.empty nil',
      'import.empty: "nil": expected one of "omit"|"null"|"string"',
    ],
    [
      'a host that is none',
      'regions.eu.base_url https//eu.example.com',
      'regions.eu.base_url: "https//eu.example.com" is not a URL\n  write it like https://api.example.com',
    ],
    [
      'http:// beyond this machine',
      'regions.eu.base_url http://eu.example.com',
      'regions.eu.base_url: http:// would send the token to eu.example.com in the clear',
    ],
    ['a key like no other', 'qqqqqqqq 1', 'unknown key "qqqqqqqq"\n  profiles help config lists the keys\n'],
    [
      'an account that is not there',
      'account prod',
      'unknown account "prod"\n  create it with:\n    profiles config init --account prod',
    ],
  ];
  it.each(refusals)('refuses %s', async (_, words, message) => {
    const cwd = scratch();
    const { code, stdout, stderr } = await run(`config set ${words}`, { cwd });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(`profiles: ${message}`);
    expect(existsSync(below(cwd))).toBe(false);
  });
});

describe('set token', () => {
  it('is refused on the command line, without being repeated', async () => {
    for (const words of [
      `config set token ${TOKEN}`,
      `config set accounts.prod.token ${TOKEN}`,
      `config set token ${TOKEN} --json`,
    ]) {
      const { code, stdout, stderr } = await run(words, { cwd: scratch() });
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain(
        'a token on the command line would be visible in ps and in your shell history',
      );
      expect(stderr).not.toContain(TOKEN);
    }
  });
  it('is read from stdin, and shown as its last four characters', async () => {
    const cwd = scratch();
    const result = await run('config set token', { cwd, stdin: `${TOKEN}\r\n` });
    expect(result).toEqual({ code: 0, stdout: '', stderr: `token = …abcd in ${FILE}\n` });
    expect(read(cwd)).toEqual({ token: TOKEN });
  });
  it('says when the account in use does not take it', async () => {
    const cwd = having({ accounts: { prod: {} } });
    const { stderr } = await run('config set token', {
      cwd,
      stdin: TOKEN,
      env: { PROFILES_ACCOUNT: 'prod' },
    });
    expect(stderr).toContain(
      'account "prod" is in use and has its own token; to set that:\n    profiles config set accounts.prod.token',
    );
  });
  it.each([
    ['nothing', '', 'token: the token is empty'],
    ['two words', 'Token key-0123', 'the token from stdin contains white space'],
    ['a line break', 'key\n0123', 'the token from stdin contains white space'],
    [
      'an escape sequence',
      'key\u001b[2J0123',
      'the token from stdin contains a control or non-ASCII character',
    ],
  ])('refuses %s', async (_, stdin, message) => {
    const { code, stderr } = await run('config set token', { cwd: scratch(), stdin });
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(stderr).not.toContain('0123');
  });
});

describe('at a terminal', () => {
  const ASK = 'API key (hidden): ';
  const typing: [string, string, string][] = [
    ['typed', `${TOKEN}\r`, TOKEN],
    [
      'pasted, with the marks that terminals put around pasted text',
      `\u001b[200~${TOKEN}\u001b[201~\r`,
      TOKEN,
    ],
    ['with a slip that is taken back', `x\u007fy\b${TOKEN}z\u007f\r`, TOKEN],
    ['begun again with Ctrl-U', `wrong\u0015${TOKEN}\n`, TOKEN],
    ['begun again with Ctrl-W', `wrong\u0017${TOKEN}\n`, TOKEN],
    ['with arrow keys and a function key in between', `key-01234\u001b[D\u001b[C\u001bOP56789-abcd\r`, TOKEN],
    ['with more typed ahead', `${TOKEN}\rrm -rf\r`, TOKEN],
  ];
  it.each(typing)('a hidden answer %s', async (_, type, token) => {
    const cwd = scratch();
    const session = await atTerminal(['config', 'set', 'token'], [{ at: ASK, type }], { cwd });
    expect(session.code).toBe(0);
    expect(read(cwd)).toEqual({ token });
    expect(session.screen.replaceAll(cwd, '~')).toBe(`${ASK}\ntoken = …abcd in ${FILE}\n`);
    expect(session.raw).toBe(false);
  });

  it('Ctrl-C ends it, restores the terminal, and writes nothing', async () => {
    const cwd = scratch();
    const session = await atTerminal(['config', 'set', 'token'], [{ at: ASK, type: 'key\u0003' }], { cwd });
    expect(session).toMatchObject({ code: 130, raw: false });
    expect(session.screen).not.toContain('key\u0003');
    expect(existsSync(below(cwd))).toBe(false);
  });
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    // A terminal that is closed ends a question like Ctrl-C.
    ['SIGHUP', 130],
  ])('%s ends it too', async (signal, code) => {
    const stop = new AbortController();
    const asked = atTerminal(['config', 'set', 'token'], [], { stop });
    setImmediate(() => stop.abort(signal));
    expect(await asked).toMatchObject({ code, raw: false });
  });
  it('Ctrl-D ends it like Ctrl-C', async () => {
    const session = await atTerminal(['config', 'set', 'token'], [{ at: ASK, type: '\u0004' }]);
    expect(session).toMatchObject({ code: 130, raw: false });
  });
  it('--no-input never asks', async () => {
    const session = await atTerminal(['config', 'set', 'token', '--no-input'], []);
    expect(session.code).toBe(2);
    expect(session.screen).toContain('--no-input turns off the prompt for it');
  });

  const REGION = 'Region (default, eu, sandbox, or your own) [default]: ';
  const BASE = 'Host for imports and jobs (https://…): ';
  const LOOKUP = 'Host for lookup lists (https://…): ';
  const KEY = 'API key, hidden as you type [none]: ';

  it('init asks for everything, and asks again what is wrong', async () => {
    const cwd = scratch();
    const turns: Turn[] = [
      { at: REGION, type: 'eu west\n' },
      { at: REGION, type: 'eu\n' },
      { at: BASE, type: 'eu example\n' },
      { at: BASE, type: 'https://eu.example.com/\n' },
      { at: LOOKUP, type: 'https://eu-lookups.example.com\n' },
      { at: KEY, type: 'two words\r' },
      { at: KEY, type: `${TOKEN}\r` },
    ];
    const session = await atTerminal(['config', 'init', '--json', '--no-check'], turns, { cwd });
    expect(session.code).toBe(0);
    expect(read(cwd)).toEqual({ region: 'eu', regions: { eu: EU }, token: TOKEN });
    expect(session.screen).toContain('"eu example" is not a URL; write it like https://api.example.com');
    expect(session.screen).not.toContain(TOKEN);
    expect(session.screen).not.toContain('two words');
    expect(JSON.parse(session.stdout)).toEqual({
      path: below(cwd),
      account: null,
      region: 'eu',
      ...EU,
      token: '…abcd',
    });
  });
  it('init keeps the value for Enter', async () => {
    const content = { token: TOKEN, region: 'eu', regions: { eu: EU }, import: { chunk_size: 7 } };
    const cwd = having(content);
    const turns: Turn[] = [
      { at: '[eu]: ', type: '\n' },
      { at: '[https://eu.example.com]: ', type: '\n' },
      { at: '[https://eu-lookups.example.com]: ', type: '\n' },
      { at: '[…abcd]: ', type: '\r' },
    ];
    const session = await atTerminal(['config', 'init', '--no-check'], turns, { cwd });
    expect(session.code).toBe(0);
    expect(read(cwd)).toEqual(content);
    expect(session.screen).not.toContain('warning');
  });
  it('init takes answers that are pasted all at once', async () => {
    const cwd = scratch();
    const type = `eu\nhttps://eu.example.com\nhttps://eu-lookups.example.com\n${TOKEN}\n`;
    const session = await atTerminal(['config', 'init', '--no-check'], [{ at: REGION, type }], { cwd });
    expect(session.code).toBe(0);
    expect(read(cwd)).toEqual({ region: 'eu', regions: { eu: EU }, token: TOKEN });
  });
  it('init does not ask what a flag says, and needs nothing for the sandbox', async () => {
    const cwd = scratch();
    const session = await atTerminal(['config', 'init', '--region', 'sandbox'], [], { cwd });
    expect(session).toMatchObject({ code: 0 });
    expect(read(cwd)).toEqual({ region: 'sandbox' });
    expect(onOneLine(session.screen).replaceAll(cwd, '~')).toBe(
      `Writing ${FILE}. Press Enter to keep the value that is shown.\nwrote ${FILE}\ncheck it with:\n    profiles doctor --state ~/.state\n`,
    );
  });
});

describe('init tries the settings before it writes them', () => {
  let service: Sandbox;
  beforeAll(async () => {
    service = await startSandbox({ expectToken: TOKEN });
  });
  afterAll(() => service.stop());
  const flags = () => ['--region', 'eu', '--base-url', service.url, '--lookup-base-url', service.lookupUrl];
  const init = (more: string[], stdin: string, cwd: string) =>
    cli(['config', 'init', ...more], { cwd, stdin });
  const NOWHERE = [
    '--region',
    'eu',
    '--base-url',
    'http://127.0.0.1:9',
    '--lookup-base-url',
    'http://127.0.0.1:9',
  ];

  it('and writes it when the service answers and accepts the token', async () => {
    const cwd = scratch();
    const { code, stderr } = await init(flags(), TOKEN, cwd);
    expect(stderr).toContain(`trying ${service.url}…\n  it answers, and accepts the token\nwrote `);
    expect(code).toBe(0);
    expect(read(cwd)).toMatchObject({ token: TOKEN });
  });
  it('the environment is not used for the trial', async () => {
    const cwd = scratch();
    const env = { PROFILES_TOKEN: TOKEN, PROFILES_BASE_URL: service.url };
    const result = await cli(['config', 'init', ...flags()], { cwd, stdin: 'another-token', env });
    expect(result.code).toBe(4);
  });
  it.each([
    ['the service refuses the token', flags, 'another-token', 4, 'authorization: '],
    ['nothing answers', () => NOWHERE, TOKEN, 6, 'service: '],
  ])('%s: nothing is written, unless --no-check', async (_, where, token, exit, says) => {
    const cwd = scratch();
    const { code, stdout, stderr } = await init([...where(), '--json'], token, cwd);
    expect({ code, stdout }).toEqual({ code: exit, stdout: '' });
    expect(stderr).toContain(`\n  ${says}`);
    expect(stderr).toContain('add --no-check');
    expect(JSON.parse(stderr.trim().split('\n').at(-1)!).error.message).toContain('nothing was written to ');
    expect(stderr).not.toContain(token);
    expect(existsSync(below(cwd))).toBe(false);
    expect((await init([...where(), '--no-check'], token, cwd)).code).toBe(0);
    expect(read(cwd)).toMatchObject({ token });
  });
  it.each([
    ['y\n', 0, true],
    ['\n', 6, false],
    ['no\n', 6, false],
  ])('at a terminal it asks: %j', async (type, exit, written) => {
    const cwd = scratch();
    const turns = [
      { at: 'API key, hidden as you type [none]: ', type: `${TOKEN}\r` },
      { at: 'Write these settings anyway? [y/N]: ', type },
    ];
    const { code } = await atTerminal(['config', 'init', ...NOWHERE], turns, { cwd });
    expect([code, existsSync(below(cwd))]).toEqual([exit, written]);
  });
  it('token_command is not replaced by a question, and is tried', async () => {
    const token_command = [process.execPath, '-e', `console.log('${TOKEN}')`];
    const cwd = having({ token_command });
    expect(await init(flags(), '', cwd)).toMatchObject({ code: 0 });
    expect(read(cwd)).toMatchObject({ token_command, region: 'eu' });
    const broken = having({ token_command: ['no-such-program-zq7'] });
    const { code, stderr } = await init(flags(), '', broken);
    expect(code).toBe(4);
    expect(stderr).toContain('no-such-program-zq7 was not found');
  });
});

describe('init without a terminal', () => {
  it('reads flags, and the token from stdin', async () => {
    const cwd = scratch();
    const words = `config init --no-check --region eu --base-url ${EU.base_url} --lookup-base-url ${EU.lookup_base_url}`;
    const result = await run(words, { cwd, stdin: TOKEN });
    expect(result).toEqual({
      code: 0,
      stdout: '',
      stderr: `wrote ${FILE}\ncheck it with:\n    profiles doctor\n`,
    });
    expect(read(cwd)).toEqual({ region: 'eu', regions: { eu: EU }, token: TOKEN });
  });
  it('reads flags, and writes an account', async () => {
    const cwd = scratch();
    const words = `config init --no-check --account prod --region eu --base-url ${EU.base_url} --json`;
    const { code, stdout, stderr } = await run(words, { cwd, stdin: `${TOKEN}\n` });
    expect(code).toBe(0);
    expect(read(cwd)).toEqual({
      accounts: { prod: { region: 'eu', regions: { eu: { base_url: EU.base_url } }, token: TOKEN } },
    });
    expect(JSON.parse(stdout)).toEqual({
      path: FILE,
      account: 'prod',
      region: 'eu',
      base_url: EU.base_url,
      lookup_base_url: null,
      token: '…abcd',
    });
    expect(stderr).toContain('region "eu" has no lookup host yet');
    expect(stderr).toContain('check it with:\n    profiles doctor --account prod');
  });
  it.each([
    ['state sqlite:there', 'PROFILES_STATE', 'here'],
    ['region sandbox', 'PROFILES_REGION', 'eu'],
  ])('config set %s says that %s overrides it', async (words, name, value) => {
    const cwd = scratch();
    const { code, stderr } = await run(`config set ${words}`, { cwd, env: { [name]: value } });
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining(`warning: ${name} is set in this environment, and overrides it\n`),
    ]);
    expect((await run(`config set ${words}`, { cwd })).stderr).not.toContain('overrides');
  });
  it('names what is still missing', async () => {
    const { code, stderr } = await run('config init', { cwd: scratch() });
    expect(code).toBe(0);
    expect(stderr.match(/^warning: .*/gm)).toEqual([
      'warning: region "default" has no host yet; run:',
      'warning: region "default" has no lookup host yet; run:',
      'warning: no token is set yet; run:',
    ]);
  });
  it('refuses a host for the sandbox', async () => {
    const cwd = scratch();
    const { code, stderr } = await run(`config init --region sandbox --base-url ${EU.base_url}`, { cwd });
    expect(code).toBe(2);
    expect(stderr).toContain('region sandbox is embedded and has its own hosts');
    expect(existsSync(below(cwd))).toBe(false);
  });
});

describe('get, unset and path', () => {
  const content = {
    token: TOKEN,
    regions: { eu: EU },
    accounts: { prod: { token: TOKEN, import: { retries: 0 } } },
  };
  const rows: [string, string, CliResult][] = [
    ['a value', 'get regions.eu.base_url', { code: 0, stdout: `${EU.base_url}\n`, stderr: '' }],
    ['a value of an account', 'get accounts.prod.import.retries', { code: 0, stdout: '0\n', stderr: '' }],
    [
      'a value of the account of the flag',
      'get import.retries --account prod',
      { code: 0, stdout: '0\n', stderr: '' },
    ],
    ['a token, as its last four characters', 'get token', { code: 0, stdout: '…abcd\n', stderr: '' }],
    [
      'a token as JSON',
      'get accounts.prod.token --json',
      { code: 0, stdout: '{"key":"accounts.prod.token","value":"…abcd"}\n', stderr: '' },
    ],
    ['the region that holds without any', 'get region', { code: 0, stdout: 'default\n', stderr: '' }],
    [
      'a value that is not set',
      'get import.retries',
      {
        code: 2,
        stdout: '',
        stderr: `profiles: import.retries is not set in ${FILE}\n  to set it:\n    profiles config set import.retries\n  to see the values in effect:\n    profiles config list\n`,
      },
    ],
    ['the place of the file', 'path', { code: 0, stdout: `${FILE}\n`, stderr: '' }],
    [
      'the place as JSON',
      'path --json',
      { code: 0, stdout: `{"path":"${FILE}","origin":"default","exists":true}\n`, stderr: '' },
    ],
    ['the place of another file', 'path --config x.json', { code: 0, stdout: '~/x.json\n', stderr: '' }],
  ];
  it.each(rows)('%s', async (_, words, expected) => {
    expect(await run(`config ${words}`, { cwd: having(content) })).toEqual(expected);
  });

  it.each<[string, object]>([
    ['token', { regions: content.regions, accounts: content.accounts }],
    ['accounts.prod.import.retries', { ...content, accounts: { prod: { token: TOKEN } } }],
    ['accounts.prod', { token: TOKEN, regions: content.regions }],
    ['regions.eu', { token: TOKEN, accounts: content.accounts }],
    ['accounts.prod.import', { ...content, accounts: { prod: { token: TOKEN } } }],
    ['regions.eu.base_url', { ...content, regions: { eu: { lookup_base_url: EU.lookup_base_url } } }],
  ])('unset %s', async (key, after) => {
    const cwd = having(content);
    expect(await run(`config unset ${key}`, { cwd })).toEqual({
      code: 0,
      stdout: '',
      stderr: `${key} is no longer set in ${FILE}\n`,
    });
    expect(read(cwd)).toEqual(after);
  });
  it('unset creates no file', async () => {
    const cwd = scratch();
    expect((await run('config unset accounts.prod', { cwd })).code).toBe(0);
    expect(existsSync(below(cwd))).toBe(false);
  });
  it('what was not set is not an error', async () => {
    const cwd = having(content);
    expect(await run('config unset region --json', { cwd })).toEqual({
      code: 0,
      stdout: `{"key":"region","removed":false,"path":"${FILE}"}\n`,
      stderr: `region was not set in ${FILE}\n`,
    });
    expect(read(cwd)).toEqual(content);
  });
});

it.each([
  ['config', 'config needs a subcommand\n  available subcommands: init, list, get, set, unset, path'],
  ['config lst', 'unknown command "config lst"\n  did you mean "profiles config list"?'],
  [
    'config wibble',
    'unknown command "config wibble"\n  available subcommands: init, list, get, set, unset, path',
  ],
])('%s', async (words, message) => {
  expect(await run(words, { cwd: scratch() })).toEqual({
    code: 2,
    stdout: '',
    stderr: `profiles: ${message}\n`,
  });
});

it('a terminal gets no control characters, and a pipe gets the value unchanged', async () => {
  const cwd = scratch();
  const name = 'x\u009b2J.json';
  const set = ['set', 'import.encoding', 'y\u009b2J'];
  const get = ['get', 'import.encoding'];
  for (const words of [['path'], set, get, ['unset', 'import.encoding'], ['init', '--region', 'sandbox']]) {
    if (words[0] === 'unset') {
      const piped = await cli(['config', ...get, '--config', name], { cwd });
      expect(piped.stdout).toBe('y\u009b2J\n');
    }
    for (const more of [[], ['--json']]) {
      const { code, stdout, stderr } = await cli(['config', ...words, '--config', name, ...more], {
        cwd,
        columns: 80,
      });
      expect([words, code, (stdout + stderr).includes('\u009b')]).toEqual([words, 0, false]);
      expect(stdout + stderr).toMatch(/\\(?:x|u00)9b2J/);
    }
  }
  expect((await cli(['config', 'path', '--config', name], { cwd })).stdout).toBe(`${join(cwd, name)}\n`);
});

describe('list', () => {
  const content = {
    token: TOKEN,
    region: 'eu',
    regions: { eu: EU },
    import: { chunk_size: 100 },
    accounts: { prod: { token: 'key-of-prod-wxyz' } },
  };
  it('shows each value, where it came from, and of tokens four characters', async () => {
    const { code, stdout, stderr } = await run('config list', {
      cwd: having(content),
      env: { PROFILES_REGION: 'eu' },
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.split('\n').map((line) => line.replace(/ {2,}/g, ' | '))).toEqual([
      'key | value | origin',
      'account | not set',
      'region | eu | environment PROFILES_REGION',
      `base_url | https://eu.example.com | ${FILE} (regions.eu.base_url)`,
      `lookup_base_url | https://eu-lookups.example.com | ${FILE} (regions.eu.lookup_base_url)`,
      `token | …abcd | ${FILE} (token)`,
      'state | ~/.state | environment PROFILES_STATE_DIR',
      'state_dir | ~/.state | environment PROFILES_STATE_DIR',
      'request_timeout | 2m | default',
      `import.chunk_size | 100 | ${FILE} (import.chunk_size)`,
      `regions.eu.base_url | https://eu.example.com | ${FILE}`,
      `regions.eu.lookup_base_url | https://eu-lookups.example.com | ${FILE}`,
      `accounts.prod.token | …wxyz | ${FILE}`,
      '',
    ]);
  });
  it.each([true, false])('shows every switch (%s) and number, in effect and of an account', async (on) => {
    const switches = KEYS.filter(({ type }) => type.kind === 'flag').map(({ config }) => config);
    const numbers = KEYS.filter(({ type }) => type.kind === 'count').map(({ config }) => config);
    expect([...switches, ...numbers]).toEqual(expect.arrayContaining(['confirm', 'import.chunk_size']));
    const values: [key: string, value: Scalar][] = [
      ...switches.flatMap((key): [string, Scalar][] => [
        [key, on],
        [`accounts.prod.${key}`, !on],
      ]),
      ...numbers.flatMap((key): [string, Scalar][] => [
        [key, 7],
        [`accounts.prod.${key}`, 8],
      ]),
    ];
    const file = values.reduce<object>((at, [key, value]) => withValue(at, key.split('.'), value), {});
    const { stdout } = await run('config list --json', { cwd: having(file) });
    const rows = JSON.parse(stdout) as { key: string; value: unknown }[];
    expect(Object.fromEntries(rows.map(({ key, value }) => [key, value]))).toMatchObject(
      Object.fromEntries(values),
    );
  });
  it('fits the terminal, and contains no token in any form', async () => {
    for (const [flag, columns] of [
      ['', 60],
      ['', undefined],
      [' --json', undefined],
      [' --csv', undefined],
      [' --ndjson', undefined],
      [' --debug', 80],
    ] as const) {
      const { code, stdout, stderr } = await run(`config list${flag}`, {
        cwd: having(content),
        ...(columns ? { columns } : {}),
      });
      expect(code).toBe(0);
      expect(stdout + stderr).not.toMatch(/0123456789|key-of-prod/);
      if (columns)
        for (const line of stdout.split('\n'))
          expect([...line.replace(/\u001b\[\d+m/g, '')].length).toBeLessThanOrEqual(columns);
    }
  });
  it('--json is an array of key, value and origin', async () => {
    const { stdout } = await run('config list --json --filter key=token', { cwd: having(content) });
    expect(JSON.parse(stdout)).toEqual([{ key: 'token', value: '…abcd', origin: `${FILE} (token)` }]);
  });
  it('says once what is ignored because of a flag, unless --quiet', async () => {
    const env = { PROFILES_BASE_URL: 'https://env.example.com' };
    const loud = await run('config list --region eu', { cwd: having(content), env });
    expect(loud.stderr).toBe('warning: PROFILES_BASE_URL is ignored: --region eu brings its own hosts\n');
    const quiet = await run('config list --region eu --quiet', { cwd: having(content), env });
    expect(quiet).toEqual({ code: 0, stdout: loud.stdout, stderr: '' });
  });
  it('fails with JSON on the last line of stderr, and nothing on stdout', async () => {
    const { code, stdout, stderr } = await run('config list --json', { cwd: having({ regoin: 'eu' }) });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(JSON.parse(stderr.trimEnd().split('\n').at(-1)!)).toEqual({
      error: {
        code: 'config',
        message: `${FILE}: unknown key "regoin"`,
        hint: 'did you mean "region"?',
        status: null,
        request_id: null,
      },
    });
  });
  it('a file with a token that others can read is refused by every subcommand that reads it', async () => {
    for (const words of ['list', 'get region', 'set region eu', 'unset region', 'init']) {
      const { code, stdout, stderr } = await run(`config ${words}`, { cwd: having(content, 0o644) });
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain(`chmod 600 ${FILE}`);
    }
  });
});
