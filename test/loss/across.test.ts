/**
 * Several imports, single profiles and resumes over the same ids, in seeded random sequences: jobs that end in any
 * order, lost replies, jobs that are gone, both ends seen in one poll, interrupts, kills anywhere. Whatever `--changed-only` then
 * calls unchanged is what the service holds, as it is read from the sandbox (contract §4 "Across runs").
 *
 * `LOSS_SEED=17` runs one of them; `TIMES=100` many more, `ACROSS_FROM=2001` from there on.
 */
import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { cli } from '../support/cli.js';
import { fastClock } from '../support/clock.js';
import { copyTables, expireLeases, onPostgres } from '../support/state.js';
import { type Fault, Middle } from './middle.js';
import { Machine, type Outcome, seeded, seeds } from './support.js';

// Few, so that they meet.
const IDS = ['u1', 'u2'];
const NAMES = ['n1', 'n2'];
const PLANS = ['p1', 'p2'];
const DATABASE = ['state.db', 'state.db-wal'];

interface Item {
  id: string;
  name: string;
  plan: string | null;
}

class Scenario {
  readonly clock = fastClock();
  readonly #random: () => number;
  #machine!: Machine;
  #middle!: Middle;
  #files = 0;
  /** Rows of one id that an import had, by their text. */
  readonly #repeats = new Map<string, Item[]>();
  /** What was done, to be read in a failure. */
  readonly log: string[] = [];

  constructor(seed: number) {
    this.#random = seeded(seed);
  }

  async play(): Promise<void> {
    this.#middle = await Middle.start(this.clock, () => this.#one([0.1, 2_000]));
    onTestFinished(() => this.#middle.stop());
    this.#machine = new Machine(this.#middle.url, this.#middle.sandbox.token);
    const rate = this.#one([0, 0.1, 0.3]);
    this.#middle.trouble = (sort) => (this.#random() < rate ? this.#fault(sort) : null);
    const steps = 3 + Math.floor(this.#random() * 5);
    for (let step = 0; step < steps; step++) await this.#step();
    this.#middle.trouble = () => null;
    if (this.#random() < 0.5) await this.#holds();
    // What is under way by then has ended, whoever knows of it.
    this.clock.pass(3_600_000);
    if (this.#random() < 0.8) await this.#run(['jobs', '--refresh']);
    await this.#holds();
  }

  #one<T>(of: readonly T[]): T {
    return of[Math.floor(this.#random() * of.length)]!;
  }

  #fault(sort: 'submit' | 'poll'): Fault {
    return sort === 'poll'
      ? this.#one(['404', '503'])
      : this.#one(['lost before', 'lost after', 'lost after', 'untraceable', '503', '413', '422']);
  }

  async #step(): Promise<void> {
    const chance = this.#random();
    if (chance < 0.55) return this.#import();
    if (chance < 0.63) return this.#identify();
    if (chance < 0.75) return this.#onRun((run) => ['resume', run, '-o', 'interval=3s']);
    if (chance < 0.8) return this.#onRun((run) => ['runs', '--forget', run]);
    if (chance < 0.87) return this.#gone();
    if (chance < 0.94) return this.#run(['jobs', '--refresh']);
    this.clock.pass(this.#one([500, 20_000, 120_000, 25 * 3_600_000]));
  }

  /** Jobs answer 404 for as long as a command asks for them, and go on. */
  async #gone(): Promise<void> {
    const { trouble } = this.#middle;
    this.#middle.trouble = (sort) => (sort === 'poll' ? '404' : trouble(sort));
    await (this.#random() < 0.5
      ? this.#import()
      : this.#onRun((run) => ['resume', run, '-o', 'interval=3s']));
    this.#middle.trouble = trouble;
  }

  async #import(): Promise<void> {
    const plans = this.#random() < 0.4;
    const rows = IDS.filter(() => this.#random() < 0.8).map(
      (id): Item => ({
        id,
        name: this.#one(NAMES),
        plan: plans ? this.#one([null, ...PLANS]) : null,
      }),
    );
    // Another row of an id: of another request, or merged.
    while (rows.length > 0 && this.#random() < 0.4) {
      rows.push({
        ...this.#one(rows),
        name: this.#one(NAMES),
        plan: plans ? this.#one([null, ...PLANS]) : null,
      });
    }
    for (const id of IDS) this.#repeat(rows.filter((row) => row.id === id));
    const argv = ['import', this.#write(rows), '--chunk-size', this.#one(['1', '2', '5'])];
    argv.push(
      '--concurrency',
      this.#one(['1', '3']),
      '-o',
      `retries=${this.#one(['0', '2'])}`,
      '-o',
      'interval=3s',
    );
    if (this.#random() < 0.4) argv.push('--no-wait');
    else if (this.#random() < 0.5) argv.push('--wait', this.#one(['500ms', '2s', '15s']));
    if (this.#random() < 0.15) argv.push('--changed-only');
    if (this.#random() < 0.1) argv.push('--full');
    argv.push(...this.#one([[], [], ['--on-failure', 'isolate'], ['--on-failure', 'continue']]));
    await this.#run(argv);
  }

  #repeat(rows: Item[]): void {
    for (let from = 0; from < rows.length - 1; from++) {
      const last = rows.slice(from);
      this.#repeats.set(JSON.stringify(last), last);
    }
  }

  #identify(): Promise<void> {
    const argv = ['identify', 'user', this.#one(IDS), '--set', `name=${this.#one(NAMES)}`];
    argv.push(...this.#one([[], ['--no-wait'], ['--wait', '2s']]));
    return this.#run(argv);
  }

  async #onRun(argv: (run: string) => string[]): Promise<void> {
    const { folder: cwd, env } = this.#machine;
    const { stdout } = await cli(['runs', '--json'], { cwd, env, clock: this.clock });
    const open = (JSON.parse(stdout) as { run: string; resume: string | null }[]).filter(
      ({ resume }) => resume,
    );
    if (open.length > 0) await this.#run(argv(this.#one(open).run));
  }

  /** A command; now and then it is interrupted, or its process dies, as a request arrives or has been carried out. */
  async #run(argv: string[]): Promise<void> {
    let left = this.#random() < 0.4 ? 1 + Math.floor(this.#random() * 8) : 0;
    const kill = this.#random() < 0.5;
    let killed = false;
    const stop = new AbortController();
    this.#middle.moment = () => {
      if (left === 0 || --left > 0) return;
      if (!kill) return stop.abort('SIGINT');
      killed = true;
      this.#middle.dead = true;
      this.#copy('.state', 'killed');
    };
    const outcome = await this.#command(argv, stop.signal);
    if (killed) this.#copy('killed', '.state');
    this.#middle.dead = false;
    this.#middle.moment = () => {};
    this.log.push(`${argv.join(' ')} → ${killed ? 'killed' : outcome.code}`);
    if (!killed) expect(outcome.code, outcome.stderr).not.toBe(1);
  }

  #command(argv: string[], stop = new AbortController().signal): Promise<Outcome> {
    return this.#machine.run(argv, { clock: this.clock, stop });
  }

  #copy(from: string, to: string): void {
    const [source, target] = [from, to].map((name) => join(this.#machine.folder, name)) as [string, string];
    if (onPostgres) {
      copyTables(source, target);
      // As the operating system releases a lock with its process.
      expireLeases(target);
      return;
    }
    mkdirSync(target, { recursive: true });
    for (const name of [...DATABASE, 'state.db-shm']) rmSync(join(target, name), { force: true });
    for (const name of DATABASE) {
      const file = join(source, name);
      if (existsSync(file)) copyFileSync(file, join(target, name));
    }
  }

  #write(rows: readonly Item[]): string {
    const plans = rows.some(({ plan }) => plan !== null);
    const lines = rows.map(({ id, name, plan }) => [id, name, ...(plans ? [plan] : [])].join(','));
    const path = `${++this.#files}.csv`;
    this.#machine.write(
      path,
      `user_id,name${plans ? ',plan' : ''}\n${lines.map((line) => `${line}\n`).join('')}`,
    );
    this.log.push(`${path}: ${lines.join(' ')}`);
    return path;
  }

  /** Of all that the service does not hold, nothing is unchanged. */
  async #holds(): Promise<void> {
    for (const plan of [null, ...PLANS]) {
      for (const name of NAMES) {
        const others = IDS.map((id): Item => ({ id, name, plan })).filter((item) => !this.#isHeld(item));
        if (others.length > 0) await this.#isSent(others);
      }
    }
    for (const rows of this.#repeats.values()) {
      const plan = rows.findLast((row) => row.plan !== null)?.plan ?? null;
      if (!this.#isHeld({ ...rows.at(-1)!, plan })) await this.#isSent(rows);
    }
  }

  async #isSent(rows: readonly Item[]): Promise<void> {
    const path = this.#write(rows);
    this.log.pop();
    const { summary, stderr } = await this.#command(['import', path, '--changed-only', '--dry-run']);
    const said = `${this.log.join('\n')}\n${path}: ${JSON.stringify(rows)}`;
    expect(summary?.rows, `${said}\n${stderr}`).toMatchObject({ read: rows.length, unchanged: 0 });
  }

  #isHeld({ id, name, plan }: Item): boolean {
    const metadata = this.#middle.sandbox.show('users', id)?.metadata;
    return metadata?.name === name && (plan === null || metadata.plan === plan);
  }
}

const FROM = Number(process.env.ACROSS_FROM ?? 1);
const cases = seeds(12).map((seed) => seed + FROM - 1);

test.each(cases)('seed %i', { timeout: 600_000 }, (seed) => new Scenario(seed).play());
