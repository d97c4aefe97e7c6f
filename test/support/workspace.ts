/** A machine with one account, and a service that it sends to. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import type { RequestRecord } from '../../src/engine/model/requests.js';
import type { Summary } from '../../src/engine/model.js';
import { BIN, type Child, type ChildOptions, type Ended, profiles, program } from './child.js';
import { type CliOptions, cli, scratch } from './cli.js';
import { fastClock } from './clock.js';
import { FaultServer } from './fault-server.js';

/** How a command with `--json` ended. */
export interface Outcome {
  code: number;
  summary: Summary | null;
  error: { code: string; message: string; hint: string | null } | null;
  stderr: string;
}

/** @param ended what a command with `--json` printed */
export function outcomeOf({ code, stdout, stderr }: Pick<Ended, 'code' | 'stdout' | 'stderr'>): Outcome {
  const lastLine = stderr.trimEnd().split('\n').at(-1) ?? '';
  return {
    code: code!,
    summary: stdout === '' ? null : (JSON.parse(stdout) as Summary),
    error: lastLine.startsWith('{"error"')
      ? (JSON.parse(lastLine) as { error: Outcome['error'] }).error
      : null,
    stderr,
  };
}

/** The words of a line, which are separated by spaces. */
type Line = string | readonly string[];
const wordsOf = (line: Line): string[] => (typeof line === 'string' ? line.split(' ') : [...line]);

/** An import as `runs --json` shows it. */
interface Shown {
  run: string;
  status: string;
  resume: string | null;
  next: string[];
  jobs: Summary['jobs'];
  requests: RequestRecord[];
  summary: Summary;
}

export class Machine {
  folder = scratch();
  clock = fastClock();
  env: Record<string, string> = {};

  constructor(baseUrl = '', token?: string) {
    this.sendTo(baseUrl, token);
  }

  sendTo(baseUrl: string, token = 'tok_0123456789'): void {
    this.env = { PROFILES_BASE_URL: baseUrl, PROFILES_TOKEN: token };
  }

  /** Makes it another machine, which knows nothing. */
  renew(baseUrl: string): void {
    this.folder = scratch();
    this.clock = fastClock();
    this.sendTo(baseUrl);
  }

  /** The path of a file of it. */
  path(name: string): string {
    return join(this.folder, name);
  }

  write(name: string, content: string | Uint8Array, mode = 0o644): void {
    mkdirSync(dirname(this.path(name)), { recursive: true });
    writeFileSync(this.path(name), content, { mode });
  }

  /** Runs a command with `--json`. */
  async run(line: Line, options: CliOptions = {}): Promise<Outcome> {
    const env = { ...this.env, ...options.env };
    const all = { cwd: this.folder, clock: this.clock, ...options, env };
    return outcomeOf(await cli([...wordsOf(line), '--json'], all));
  }

  /** Starts the built command in a process of its own. */
  start(line: Line, { env, ...options }: Partial<ChildOptions> = {}): Child {
    return profiles(wordsOf(line), { cwd: this.folder, env: { ...this.env, ...env }, ...options });
  }

  /** Runs a line of bash, in which `profiles` is the built command. */
  bash(line: string): Promise<Ended> {
    const script = `profiles() { "${process.execPath}" "${BIN}" "$@"; }; ${line}`;
    return program(['bash', '-c', script], { cwd: this.folder, env: this.env }).ended;
  }

  read(name: string): string {
    return readFileSync(this.path(name), 'utf8');
  }

  /** The document of a command that shows something. */
  async show<T>(line: Line): Promise<T> {
    const { folder: cwd, env, clock } = this;
    const { stdout, stderr } = await cli([...wordsOf(line), '--json'], { cwd, env, clock });
    if (stdout === '') throw new Error(stderr);
    return JSON.parse(stdout) as T;
  }

  /** Imports known to the machine, newest first. */
  async runs(): Promise<Shown[]> {
    const all: Shown[] = [];
    for (const { run } of await this.show<Shown[]>('runs')) all.push(await this.show(`runs ${run}`));
    return all;
  }

  /** Requests of a run, as they are recorded. */
  async requests(run: string): Promise<RequestRecord[]> {
    return (await this.show<Shown>(`runs ${run}`)).requests;
  }
}

/** A service and a machine for the tests of a file. They are the same objects for all tests, and new inside. */
export function workspace(files: Readonly<Record<string, string | Uint8Array>> = {}) {
  const service = new FaultServer();
  const machine = new Machine();
  beforeEach(async () => {
    await service.renew();
    machine.renew(service.url);
    service.clock = machine.clock;
    for (const [name, content] of Object.entries(files)) machine.write(name, content);
  });
  afterEach(async () => {
    await service.stop();
    expect(service.violations).toEqual([]);
  });
  const run = (line: Line, options?: CliOptions): Promise<Outcome> => machine.run(line, options);
  return { service, machine, run };
}
