/** A folder in which every invocation finds what it names, and the service that it talks to. Made once, copied for each run. */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { World } from '../../src/cli/context.js';
import { systemClock } from '../../src/engine/util/clock.js';
import { type Sandbox, startSandbox } from '../../src/sandbox/index.js';
import { type CliOptions, type CliResult, cli, scratch } from '../support/cli.js';
import { type Invocation, WRONG_TOKEN } from './invocations.js';

/** The API key of the place: whatever prints it, a test finds it. */
export const TOKEN = 'key-7f3b91c2d4e8a6054';
/** Stands in every metadata value of the place's files, and nowhere else: long enough that no digest holds it by chance. */
export const CANARY = 'canary-zq7';

const FACTOR = 20;
/** In the past, so that what it makes has ended for processes that go by the real clock, however long the making took. */
const start = systemClock.now() - 24 * 3_600_000;
/** Real time runs from here. */
const began = systemClock.now();
/** Twenty times as fast as the real one: a poll's 200 ms take 10. */
export const hurried: World['clock'] = {
  now: () => start + (systemClock.now() - began) * FACTOR,
  monotonic: () => systemClock.monotonic() * FACTOR,
  sleep: (ms, signal) => systemClock.sleep(ms / FACTOR, signal),
};

export interface Place {
  service: Sandbox;
  /** What points a command at the service, the token left out. */
  env: Readonly<Record<string, string>>;
  /** A copy of the folder, as it was made. */
  folder(): string;
  /** The line's words, with what is in braces filled in. */
  words(line: string): string[];
  stop(): Promise<void>;
}

const FILES: Record<string, string> = {
  'companies.csv': csv(
    'company_id,name,plan,employees',
    (n) => `acme-00${n},canary-zq7 Company ${n},canary-zq7-gold,${n}`,
  ),
  'users.csv': csv('user_id,company_id,name', (n) => `u-${n},acme-00${n},canary-zq7 User ${n}`),
  'users.ndjson':
    '{"user_id":"u-1","name":"canary-zq7 User"}\n{"user_id":"u-2","metadata":{"name":"canary-zq7 User"}}\n',
  'invalid.csv':
    'company_id,name\nacme-001,canary-zq7 Company\n,canary-zq7 without an identifier\nacme-003,canary-zq7,too many\n',
  'header-only.csv': 'company_id,name\n',
  'two-quotes.csv': 'company_id,name\nacme-001,"canary-zq7 Company\nacme-002,canary-zq7 Company\n',
  'unreadable.json': '{"regoin":"eu"}\n',
};

function csv(header: string, line: (n: number) => string): string {
  return `${[header, ...Array.from({ length: 9 }, (_, i) => line(i + 1))].join('\n')}\n`;
}

/** Starts the service, and lets a few commands leave what a machine remembers: runs, jobs, a rehearsal. */
export async function makePlace(): Promise<Place> {
  const service = await startSandbox({ clock: hurried, expectToken: TOKEN });
  const template = scratch();
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(template, name), text);
  writeFileSync(join(template, 'token.txt'), `${TOKEN}\n`, { mode: 0o600 });
  const env = { PROFILES_BASE_URL: service.url, PROFILES_LOOKUP_BASE_URL: service.lookupUrl };

  const json = async (line: string, ends = 0, cwd = template): Promise<Record<string, unknown>> => {
    const words = [...line.split(' '), '--json'];
    const { code, stdout, stderr } = await cli(words, {
      cwd,
      env: { ...env, PROFILES_TOKEN: TOKEN },
      clock: hurried,
    });
    if (code !== ends) throw new Error(`${line}: exit ${code}\n${stderr}`);
    return JSON.parse(stdout) as Record<string, unknown>;
  };
  const jobOf = ({ jobs }: Record<string, unknown>): string => (jobs as { job_id: string }[])[0]!.job_id;

  // Not an import: its job would end by a clock that is ahead of other processes'.
  await json('identify company acme-001 --set name=canary-zq7-Company --region sandbox');
  const done = await json('import companies.csv');
  await json('import companies.csv --save-plan plan.json');
  service.faults.add('fail-job:every=1');
  const failed = await json('import users.ndjson', 7);
  service.faults.clear();
  // A user of no file: an import of the same one would follow this job first.
  const open = await json('identify user u-80 --no-wait');
  service.faults.add('500:every=1');
  const unfinished = await json('import users.csv -o retries=0', 6);
  service.faults.clear();

  const ids: Record<string, string> = {
    run: done.run as string,
    job: jobOf(done),
    failed: jobOf(failed),
    open: (open.job as { job_id: string }).job_id,
    unfinished: unfinished.run as string,
  };
  const copies: string[] = [];
  return {
    service,
    env,
    folder: () => {
      const copy = scratch();
      copies.push(copy);
      cpSync(template, copy, { recursive: true });
      return copy;
    },
    words: (line) =>
      line
        .replace(/\{(\w+)\}/g, (_, name: string) => ids[name]!)
        .split(' ')
        .filter(Boolean),
    stop: async () => {
      await service.stop();
      for (const folder of [template, ...copies]) rmSync(folder, { recursive: true });
    },
  };
}

/** How the command learns the token. */
export type TokenSource = 'environment' | 'config' | 'file';

export interface RunOptions {
  /** Further words, such as `--json`. */
  flags?: readonly string[];
  token?: TokenSource;
  /** Also what GitHub Actions sets, with a step summary in the folder. */
  inGitHub?: boolean;
  /** Of the terminal that it runs in, if it does. */
  terminal?: Pick<CliOptions, 'streams' | 'env'>;
}

/** Runs one line of the table in a folder of its own. */
export async function run(
  place: Place,
  invocation: Invocation,
  { flags = [], token = 'environment', inGitHub = false, terminal }: RunOptions = {},
): Promise<CliResult & { folder: string }> {
  const folder = place.folder();
  const words = place.words(invocation.line);
  // A refused key comes by a variable of its own, beside which a file's would be refused.
  const byFile = token === 'file' && !invocation.wrongKey;
  const given: Record<string, string> = byFile
    ? { PROFILES_TOKEN_FILE: 'token.txt' }
    : token === 'environment'
      ? { PROFILES_TOKEN: TOKEN }
      : {};
  const github = { GITHUB_ACTIONS: 'true', GITHUB_STEP_SUMMARY: join(folder, 'step-summary.md') };
  if (token === 'config') writeConfig(folder);
  for (const fault of invocation.faults ?? []) place.service.faults.add(fault);
  try {
    const result = await cli([...words, ...flags], {
      cwd: folder,
      env: {
        ...place.env,
        ...given,
        ...(inGitHub ? github : {}),
        ...(invocation.wrongKey && { PROFILES_TOKEN: WRONG_TOKEN }),
        ...terminal?.env,
      },
      clock: hurried,
      ...(invocation.stdin === undefined ? {} : { stdin: invocation.stdin }),
      ...(invocation.stopped ? { stop: AbortSignal.abort('SIGINT') } : {}),
      ...(terminal?.streams === undefined ? {} : { streams: terminal.streams }),
    });
    return { ...result, folder };
  } finally {
    place.service.faults.clear();
  }
}

function writeConfig(folder: string): void {
  const file = join(folder, '.config/profiles/config.json');
  mkdirSync(join(folder, '.config/profiles'), { recursive: true, mode: 0o700 });
  const token = readFileSync(join(folder, 'token.txt'), 'utf8').trim();
  writeFileSync(file, JSON.stringify({ token }), { mode: 0o600 });
}
