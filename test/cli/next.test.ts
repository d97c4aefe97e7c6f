/**
 * Every command that is printed as a next step works when it is pasted: whatever chose region, account, config, hosts
 * and state, and however the first command ended. It is run by a real shell that has nothing of the first command's
 * environment but its secrets.
 */
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect } from 'vitest';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/index.js';
import { BIN, built } from '../support/child.js';
import { onOneLine, printedCommands } from '../support/printed.js';
import { test } from '../support/sandbox.js';

const FOLDER = "it's a folder";
const STATE = 'my state';

interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A folder with quotes and spaces in its name, a home beside it, and `profiles` on the PATH. */
class Machine {
  readonly root = mkdtempSync(join(tmpdir(), 'profiles-next-'));
  readonly cwd = join(this.root, FOLDER);
  readonly home = join(this.root, 'home');
  /** What a shell keeps for the next command. */
  secrets: Record<string, string> = {};

  constructor() {
    const bin = join(this.root, 'bin');
    for (const folder of [this.cwd, this.home, bin]) mkdirSync(folder);
    writeFileSync(join(bin, 'profiles'), `#!/bin/sh\nexec "${process.execPath}" "${BIN}" "$@"\n`);
    chmodSync(join(bin, 'profiles'), 0o755);
  }

  /** Types a line into a shell of its own. */
  async sh(
    line: string,
    env: Record<string, string> = {},
    during?: (kill: (signal: NodeJS.Signals) => void) => Promise<void>,
  ): Promise<Ran> {
    // Of its own group, so that a signal reaches the command as Ctrl-C does.
    const child = spawn('sh', ['-c', `exec ${line}`.replace(/^exec (?=PROFILES_\w+=)/, '')], {
      cwd: this.cwd,
      env: {
        PATH: `${join(this.root, 'bin')}:${process.env.PATH}`,
        HOME: this.home,
        ...this.secrets,
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    const texts = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => {
        texts[name] += text;
      });
    }
    const ended = new Promise<number | null>((settle, reject) => {
      child.on('error', reject).on('close', settle);
    });
    await during?.((signal) => void process.kill(-child.pid!, signal));
    return { code: await ended, ...texts };
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.cwd, name), text);
  }
}

/** How the service and the state are chosen: flags of the first command, its environment, a config file. */
interface Way {
  flags: string;
  env: Record<string, string>;
  config?: object;
  configFile?: string;
  token?: 'environment' | 'config';
}
const WAYS: Record<string, (sandbox: Sandbox) => Way> = {
  flags: ({ url, lookupUrl }) => ({
    flags: `--base-url ${url} --lookup-base-url ${lookupUrl} --state '${STATE}'`,
    env: {},
  }),
  environment: ({ url, lookupUrl }) => ({
    flags: '',
    env: { PROFILES_BASE_URL: url, PROFILES_LOOKUP_BASE_URL: lookupUrl, PROFILES_STATE_DIR: STATE },
  }),
  'a config file and an account, by flags': (sandbox) => ({
    flags: `--config 'my config.json' --account prod --state '${STATE}'`,
    env: {},
    config: configOf(sandbox),
    token: 'config',
  }),
  'a config file and an account, by the environment': (sandbox) => ({
    flags: '',
    env: { PROFILES_CONFIG: 'my config.json', PROFILES_ACCOUNT: 'prod', PROFILES_STATE_DIR: STATE },
    config: configOf(sandbox),
    token: 'config',
  }),
  'an account by the environment, and its token': (sandbox) => ({
    flags: `--config 'my config.json'`,
    env: { PROFILES_ACCOUNT: 'prod', PROFILES_STATE_DIR: STATE },
    config: configOf(sandbox, false),
  }),
  'a region by the environment, with hosts of the file': (sandbox) => ({
    flags: '',
    env: { PROFILES_CONFIG: 'my config.json', PROFILES_REGION: 'mine', PROFILES_STATE_DIR: STATE },
    config: configOf(sandbox),
  }),
  'folders of the desktop': (sandbox) => ({
    flags: '--region mine',
    env: { XDG_CONFIG_HOME: '<root>/x d g', XDG_STATE_HOME: '<root>/s t' },
    configFile: '<root>/x d g/profiles/config.json',
    config: configOf(sandbox),
  }),
};

const configOf = ({ url, lookupUrl, token }: Sandbox, withToken = true): object => ({
  regions: { mine: { base_url: url, lookup_base_url: lookupUrl } },
  accounts: { prod: { region: 'mine', ...(withToken ? { token } : {}) } },
});

const GOOD = 'company_id,name\nc1,Ada\nc2,Bob\nc3,Cy\nc4,Di\n';
const INVALID = 'company_id,name\nc1,Ada\n,Bob\nc3,Cy\nc4,Di\n';

interface Scene {
  machine: Machine;
  sandbox: Sandbox;
  /** Types a line as the first command is typed. */
  type(line: string): Promise<Ran>;
}

interface Scenario {
  sandbox?: SandboxOptions;
  files?: Record<string, string>;
  /** Without what chooses the service. */
  line: string;
  exit: number;
  before?: (scene: Scene) => unknown;
  during?: (scene: Scene, kill: (signal: NodeJS.Signals) => void) => Promise<void>;
  /** What a person does before the next command: fixes rows, waits. */
  after?: (scene: Scene) => unknown;
  /** Each command that must be printed, in any order, and how it ends. */
  next: [command: RegExp, exit: number, said?: RegExp][];
}

const fix =
  (name: string, from: string, to: string) =>
  ({ machine }: Scene): void =>
    machine.write(name, readFileSync(join(machine.cwd, name), 'utf8').replace(from, to));

/** A clock that stands still until it is told to go on: from then on it hurries, so that jobs end at once. */
function stoppedClock(): { now(): number; pass(): void } {
  const time = Date.parse('2026-01-02T03:04:05.000Z');
  let since: number | null = null;
  return {
    now: () => (since === null ? time : time + 3_600_000 + (Date.now() - since) * 1_000),
    pass: () => {
      since = Date.now();
    },
  };
}
const clocks = new WeakMap<object, { pass(): void }>();
function standing(): SandboxOptions {
  const clock = stoppedClock();
  const options = { clock };
  clocks.set(options, clock);
  return options;
}

const FILE = "'my companies.csv'";
const REJECTS = 'my companies.rejects.csv';

const SCENARIOS: Record<string, () => Scenario> = {
  'a dry run': () => ({
    line: `profiles import ${FILE} --dry-run`,
    exit: 0,
    next: [[/^profiles import 'my companies.csv'/, 0, /4 submitted \(4 completed\)/]],
  }),
  'a plan is saved': () => ({
    line: `profiles import ${FILE} --save-plan 'my plan.json' --concurrency 2`,
    exit: 0,
    next: [[/^profiles apply 'my plan.json'(?! --concurrency)/, 0, /4 submitted \(4 completed\)/]],
  }),
  'a saved plan has invalid rows': () => ({
    files: { 'my companies.csv': INVALID },
    line: `profiles import ${FILE} --save-plan 'my plan.json'`,
    exit: 5,
    next: [
      [/^profiles import .* --save-plan 'my plan.json' --skip-invalid/, 5, /profiles apply 'my plan.json'/],
    ],
  }),
  'a dry run is of the valid rows': () => ({
    files: { 'my companies.csv': INVALID },
    line: `profiles import ${FILE} --dry-run --skip-invalid`,
    exit: 5,
    next: [
      [/^profiles import 'my companies.csv' --skip-invalid(?! --skip)/, 5, /3 submitted \(3 completed\)/],
    ],
  }),
  'nobody waited, and rows are invalid': () => ({
    files: { 'my companies.csv': INVALID },
    line: `profiles import ${FILE} --no-wait --skip-invalid`,
    exit: 5,
    after: fix(REJECTS, ',Bob,', 'c2,Bob,'),
    next: [
      [/^profiles job \S+ --watch/, 0, /completed/],
      [/^profiles import 'my companies.rejects.csv'/, 0, /1 submitted \(1 completed\)/],
    ],
  }),
  'nobody waited': () => ({
    line: `profiles import ${FILE} --no-wait --chunk-size 2`,
    exit: 0,
    next: [[/^profiles job \S+ \S+ --watch/, 0, /completed/]],
  }),
  'a full disk behind stdout': () => ({
    line: `profiles import ${FILE} --json --chunk-size 2 > /dev/full`,
    exit: 1,
    next: [],
  }),
  'nothing says what the rows are': () => ({
    files: { 'my companies.csv': 'Symbol,Name\nA,Ada\nB,Bob\n' },
    line: `profiles import ${FILE}`,
    exit: 2,
    next: [[/^profiles import 'my companies.csv' --kind companies --id Symbol/, 0, /2 submitted/]],
  }),
  'waiting timed out': () => {
    const sandbox = standing();
    return {
      sandbox,
      line: `profiles import ${FILE} --wait 300ms`,
      exit: 3,
      after: () => clocks.get(sandbox)!.pass(),
      next: [[/^profiles resume \S+/, 0, /completed/]],
    };
  },
  'the token is refused': () => ({
    line: `profiles import ${FILE}`,
    exit: 4,
    before: ({ machine }) => {
      machine.secrets.PROFILES_TOKEN = 'not-the-token';
    },
    after: ({ machine, sandbox }) => {
      machine.secrets.PROFILES_TOKEN = sandbox.token;
    },
    next: [[/^profiles resume \S+/, 0, /4 submitted \(4 completed\)/]],
  }),
  'rows are invalid': () => ({
    files: { 'my companies.csv': INVALID },
    line: `profiles import ${FILE} --set plan='a b'`,
    exit: 5,
    next: [
      [
        /^profiles import 'my companies.csv' --set 'plan=a b' --skip-invalid/,
        5,
        /3 submitted \(3 completed\)/,
      ],
    ],
  }),
  'some rows are rejected': () => ({
    files: { 'my companies.csv': INVALID.replace('company_id', 'Symbol') },
    line: `profiles import ${FILE} --kind companies --id Symbol --skip-invalid --set plan='a b'`,
    exit: 5,
    after: fix(REJECTS, ',Bob,', 'c2,Bob,'),
    next: [[/^profiles import 'my companies.rejects.csv' --set 'plan=a b'/, 0, /1 submitted/]],
  }),
  'a job is short': () => ({
    sandbox: { faults: ['short-job:first=1'] },
    line: `profiles import ${FILE}`,
    exit: 5,
    next: [[/^profiles resume \S+ --failed/, 0, /✓ completed/]],
  }),
  'the service fails': () => ({
    sandbox: { faults: ['503:every=1'] },
    line: `profiles import ${FILE} -o retries=0`,
    exit: 6,
    after: ({ sandbox }) => sandbox.faults.clear(),
    next: [[/^profiles resume \S+/, 0, /4 submitted \(4 completed\)/]],
  }),
  'a request is refused': () => ({
    sandbox: { limits: { failRows: [['name', 'Bob']], failRowsWith: '422' } },
    line: `profiles import ${FILE}`,
    exit: 6,
    next: [
      [/^profiles resume \S+ --on-failure isolate/, 5, /1 rejected \+ 3 submitted/],
      [/^profiles import .* --resume --on-failure continue/, 5, /4 rejected/],
    ],
  }),
  'a request is refused, and is skipped': () => ({
    sandbox: { limits: { failRows: [['name', 'Bob']], failRowsWith: '422' } },
    line: `profiles import ${FILE} --full`,
    exit: 6,
    next: [[/^profiles import .* --resume --on-failure continue/, 5, /resuming run .* 4 rejected/s]],
  }),
  'a job fails': () => ({
    line: `profiles import ${FILE}`,
    exit: 7,
    sandbox: { limits: { failRows: [['name', 'Bob']] } },
    next: [
      [/^profiles resume \S+ --failed --on-failure isolate/, 5, /1 rejected \+ 3 submitted \(3 completed\)/],
    ],
  }),
  'another import is running': () => {
    const sandbox = standing();
    let other: Promise<Ran>;
    return {
      sandbox,
      line: `profiles import ${FILE}`,
      exit: 8,
      before: async (scene) => {
        other = scene.type(`profiles import ${FILE}`);
        await expect.poll(() => scene.sandbox.ledger().length).toBeGreaterThan(1);
      },
      after: async () => {
        clocks.get(sandbox)!.pass();
        expect((await other).code).toBe(0);
      },
      next: [[/^profiles runs \S+/, 0, /completed/]],
    };
  },
  'Ctrl-C': () => interrupted('SIGINT', 130),
  'it is asked to end': () => interrupted('SIGTERM', 143),
};

function interrupted(signal: NodeJS.Signals, exit: number): Scenario {
  const sandbox = standing();
  return {
    sandbox,
    line: `profiles import ${FILE}`,
    exit,
    during: async (scene, kill) => {
      await expect.poll(() => scene.sandbox.ledger().length).toBeGreaterThan(1);
      kill(signal);
    },
    after: () => clocks.get(sandbox)!.pass(),
    next: [[/^profiles resume \S+/, 0, /4 submitted \(4 completed\)/]],
  };
}

async function play(
  name: string,
  way: string,
  start: (options?: SandboxOptions) => Promise<Sandbox>,
): Promise<void> {
  const scenario = SCENARIOS[name]!();
  const sandbox = await start(scenario.sandbox);
  const machine = new Machine();
  const { flags, env, config, configFile = 'my config.json', token } = WAYS[way]!(sandbox);
  const real = (text: string): string => text.replace('<root>', machine.root);
  if (config) {
    const path = join(configFile.startsWith('<') ? '' : machine.cwd, real(configFile));
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
  }
  if (token !== 'config') machine.secrets.PROFILES_TOKEN = sandbox.token;
  const own = Object.fromEntries(Object.entries(env).map(([key, value]) => [key, real(value)]));
  const scene: Scene = { machine, sandbox, type: (line) => machine.sh(`${line} ${flags}`, own) };
  for (const [file, text] of Object.entries(scenario.files ?? { 'my companies.csv': GOOD })) {
    machine.write(file, text);
  }
  await scenario.before?.(scene);
  const [command, ...rest] = scenario.line.split(/(?= && | > )/);
  const first = await machine.sh(`${command} ${flags}${rest.join('')}`, own, (kill) =>
    (scenario.during ?? (async () => {}))(scene, kill),
  );
  expect({ code: first.code, stderr: first.stderr }).toEqual({
    code: scenario.exit,
    stderr: expect.any(String),
  });
  const all = printedCommands(first.stderr);
  expect(all.join('\n')).not.toContain(sandbox.token);
  await scenario.after?.(scene);
  const bare = (line: string): string => onOneLine(line).replace(/^(?:PROFILES_\w+=\S+ )+/, '');
  for (const [wanted, exit, said = /./] of scenario.next) {
    const line = all.find((each) => wanted.test(bare(each)));
    expect(line, `no ${wanted} among ${JSON.stringify(all)}\n${first.stderr}`).toBeDefined();
    const then = await machine.sh(line!);
    expect({ line, code: then.code, text: then.stdout + then.stderr }).toEqual({
      line,
      code: exit,
      text: expect.stringMatching(said),
    });
  }
  // Whatever else is named in passing finds its way, too: it fails neither for its settings nor for a bug.
  for (const line of all.filter((each) => !scenario.next.some(([wanted]) => wanted.test(bare(each))))) {
    if (/\bconfig set\b/.test(line)) continue; // it asks
    const { code, stdout, stderr } = await machine.sh(line);
    const isSettled = /\bresume\b/.test(line) && /nothing to resume|no unfinished import/.test(stderr);
    expect({ line, code: isSettled ? 0 : code, text: stdout + stderr }).toEqual({
      line,
      code: 0,
      text: expect.any(String),
    });
  }
}

beforeAll(built);

describe('what is printed works when it is pasted', () => {
  const ways = Object.keys(WAYS);
  const cases = Object.keys(SCENARIOS).flatMap((name, index): [string, string][] => {
    // One scenario in every way; each of the others in another one.
    if (name === 'the service fails') return ways.map((way) => [name, way]);
    const usable = name === 'the token is refused' ? ways.filter((way) => !/and an account/.test(way)) : ways;
    return [[name, usable[index % usable.length]!]];
  });
  test.for(cases)('%s: chosen by %s', { timeout: 600_000 }, async ([name, way], { start }) => {
    await play(name, way, start);
  });
});

describe('nothing is lost by doing only what the last line says', () => {
  const rows = (bad: (n: number) => string | undefined): string =>
    `company_id,name,size\n${Array.from({ length: 1000 }, (_, n) => bad(n) ?? `c${n},Name ${n},${n}\n`).join('')}`;

  test.for<[what: string, text: string, flags: string, lines: number]>([
    [
      '3 of 1,000 rows have no identifier',
      rows((n) => (n % 333 === 1 ? `,Name ${n},${n}\n` : undefined)),
      '',
      3,
    ],
    [
      '3 of 1,000 cells are no plain number',
      rows((n) => (n % 333 === 1 ? `c${n},Name ${n},"$1,000"\n` : undefined)),
      '--type size=number',
      2,
    ],
    [
      'a stray quote in 3 of 1,000 rows',
      rows((n) => (n % 333 === 1 ? `c${n},"Na" me,${n}\n` : undefined)),
      '',
      2,
    ],
    ['no row is valid', 'company_id,name\n,Ada\n,Bob\n', '', 2],
  ])('%s', { timeout: 300_000 }, async ([, text, flags, lines], { start }) => {
    const sandbox = await start();
    const machine = new Machine();
    machine.secrets.PROFILES_TOKEN = sandbox.token;
    machine.write('c.csv', text);
    let line = `profiles import c.csv ${flags} --base-url ${sandbox.url} --lookup-base-url ${sandbox.lookupUrl}`;
    let ran = await machine.sh(line);
    let count = 1;
    while (ran.code !== 0 && count < 6) {
      // Rows are fixed where the step says so.
      const [, file] = /(?:fix the rows in|no row is valid: fix) (\S+), then import/.exec(ran.stderr) ?? [];
      let missing = 0;
      if (file) {
        const fixed = readFileSync(join(machine.cwd, file), 'utf8').replaceAll(
          /^,/gm,
          () => `fixed-${missing++},`,
        );
        machine.write(file, fixed);
      }
      line = printedCommands(ran.stderr).at(-1)!;
      ran = await machine.sh(line);
      count++;
    }
    expect({ code: ran.code, count, sent: sandbox.count('companies') }, ran.stderr).toEqual({
      code: 0,
      count: lines,
      sent: text.trimEnd().split('\n').length - 1,
    });
  });
});
