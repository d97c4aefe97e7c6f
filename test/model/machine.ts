/**
 * The real thing: one machine with one account, which runs the built command line in this process. A command may be
 * interrupted, or its process may die, at any commit of its state and at any request.
 */
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import type { runCommand } from '../../src/cli/main.js';
import { type CliResult, cli, scratch } from '../support/cli.js';
import { IdleClock } from '../support/clock.js';
import { ModelService, type Script } from './service.js';

/** `MODEL_OF=../other` tries the build of another working tree. */
const BUILD = resolve(import.meta.dirname, '../..', process.env.MODEL_OF ?? '.', 'dist/main.cjs');
const load = createRequire(BUILD);
const built = load(BUILD) as { runCommand: typeof runCommand };

/** What SQLite says of it. */
const FULL = { code: 'ERR_SQLITE_ERROR', errcode: 13 };

/** Of the event loop, so that requests and replies arrive before time passes. */
const QUIET_TURNS = 6;

/** Called before and after each commit of a database. One that throws before it refuses it. */
let atCommit = (_isDone: boolean): void => {};

interceptCommits();
function interceptCommits(): void {
  const { DatabaseSync } = load('@photostructure/sqlite') as { DatabaseSync: { prototype: object } };
  const { exec } = DatabaseSync.prototype as { exec(sql: string): void };
  // The native prototype is sealed; one that inherits from it is not.
  DatabaseSync.prototype = Object.create(DatabaseSync.prototype, {
    exec: {
      value(sql: string) {
        try {
          if (sql === 'COMMIT') atCommit(false);
        } catch (error) {
          exec.call(this, 'ROLLBACK'); // as SQLite does itself
          throw error;
        }
        exec.call(this, sql);
        if (sql === 'COMMIT') atCommit(true);
      },
    },
  });
}

/**
 * How a command ends before its own end: at which moment (a commit, a request, or before its answer), and how. On a
 * `full disk`, no commit succeeds from then on.
 */
export interface End {
  at: number;
  how: 'kill' | 'Ctrl-C' | 'Ctrl-C twice' | 'full disk';
}

export interface Circumstances extends Script {
  end: End | null;
}

export const ALL_WELL: Circumstances = { moves: [], fates: [], end: null };

export interface Ran extends CliResult {
  /** The number of the command, which its arrivals have. */
  command: number;
  argv: readonly string[];
  /** How it was ended, if it was. */
  ended: End['how'] | null;
}

export class Machine {
  readonly clock = new IdleClock(undefined, QUIET_TURNS);
  readonly service = new ModelService(this.clock);
  readonly folder = scratch();
  readonly #killed = scratch();
  #url = '';

  async start(): Promise<void> {
    this.#url = await this.service.start();
  }

  stop(): Promise<void> {
    return this.service.stop();
  }

  write(path: string, text: string): void {
    writeFileSync(join(this.folder, path), text);
  }

  /** Runs a command. @param meanwhile called with each request of it, before it is answered */
  async run(
    argv: readonly string[],
    { moves, fates, end }: Circumstances = ALL_WELL,
    meanwhile?: () => Promise<void>,
  ): Promise<Ran> {
    const { service, clock } = this;
    const outer = { script: service.script, commands: service.commands, moment: service.moment, atCommit };
    clock.pass(1_000);
    const command = ++this.#commands;
    service.commands = [...outer.commands, command];
    service.script = { moves: [...moves], fates: [...fates] };
    const [stop, abort] = [new AbortController(), new AbortController()];
    let ended: End['how'] | null = null;
    let moments = 0;
    const moment = (): void => {
      if (end === null || ended !== null || ++moments < end.at || end.how === 'full disk') return;
      ended = end.how;
      if (ended === 'kill') this.#copy(this.folder, this.#killed);
      if (ended !== 'Ctrl-C') service.isDead = true;
      stop.abort('SIGINT');
      if (ended !== 'Ctrl-C') abort.abort('SIGINT');
    };
    atCommit = (isDone) => {
      moment();
      if (isDone || end?.how !== 'full disk' || moments < end.at) return;
      ended = 'full disk';
      throw Object.assign(new Error('database or disk is full'), FULL);
    };
    service.moment = async (arrival) => {
      moment();
      if (arrival?.command !== command || arrival.accepted || service.isDead) return;
      clock.open--; // time passes for the other command
      await meanwhile?.();
      clock.open++;
    };
    const env = { PROFILES_BASE_URL: this.#url, PROFILES_TOKEN: 'tok_0123456789' };
    const options = { cwd: this.folder, env, clock, stop: stop.signal, abort: abort.signal, program: built };
    const result = await cli(argv, options);
    Object.assign(service, {
      script: outer.script,
      commands: outer.commands,
      moment: outer.moment,
      isDead: false,
    });
    atCommit = outer.atCommit;
    if (ended === 'kill') this.#copy(this.#killed, this.folder);
    return { ...result, command, argv, ended };
  }

  #commands = 0;

  #copy(from: string, to: string): void {
    rmSync(to, { recursive: true, force: true });
    mkdirSync(to);
    cpSync(from, to, { recursive: true });
  }
}
