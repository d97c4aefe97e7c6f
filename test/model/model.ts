/** What the model knows: files, runs and plans, each with the age of its data. */
import type { Kind, Summary } from '../../src/engine/model.js';
import type { Outcome } from '../../src/engine/run/outcome.js';
import type { Ran } from './machine.js';
import type { Recorded } from './recorded.js';

export interface Row {
  line: number;
  /** The line as it is: a rejects file has more columns. */
  text: string;
  id: string;
  name: string;
}

/** A line of the file of outcomes. */
export interface RowOutcome {
  line: number;
  id: string;
  outcome: Outcome | 'unknown';
  reason: string | null;
}

/** Rows that were read at one time. A larger age is newer. */
export interface Data {
  path: string;
  rows: readonly Row[];
  age: number;
  /** Whether a canary of one item goes first, and is sent again until it completes. */
  hasCanary?: boolean;
  /** Whether they are compared with what was sent before (`--changed-only`). */
  compares?: boolean;
}

export interface Run extends Data {
  id: string;
  /** Commands that worked on it. */
  commands: number[];
  /** Commands, of any run, of which it is not known what they recorded last. */
  cut: ReadonlySet<number>;
  outcomes: ReadonlyMap<string, RowOutcome>;
  /** Whether its last session wrote them. */
  isTold: boolean;
  /** Whether all its sessions wait for their jobs. */
  waits: boolean;
  /** Whether a session has sent again what failed, or a canary. */
  retries: boolean;
  recorded?: Recorded;
}

export interface Plan extends Data {
  file: string;
  concurrency: number;
  /** The run that applies it. */
  run?: string | undefined;
}

/** A profile that an import with `changedOnly` has found unchanged. */
export interface Verified {
  id: string;
  name: string;
  age: number;
  /** Requests before it. */
  after: number;
}

export class Model {
  readonly runs = new Map<string, Run>();
  readonly plans: Plan[] = [];
  readonly verified: Verified[] = [];
  /** Commands of which it is not known what they recorded last. */
  readonly cut = new Set<number>();
  /** By the number of its command: the age of what `identify` sent. */
  readonly profiles = new Map<number, number>();
  /** What was printed last as the next commands. */
  next: readonly string[] = [];
  /** What was done, to be read in a failure. */
  readonly log: string[] = [];
  #age = 0;
  #names = 0;

  constructor(readonly kind: Kind) {}

  newAge(): number {
    return ++this.#age;
  }

  newName(of: 'file' | 'identify'): string {
    return `${of === 'file' ? 'v' : 'i'}${++this.#names}`;
  }

  /** The error, with what was done. */
  explained(error: unknown): unknown {
    if (error instanceof Error && !error.message.includes(this.log[0]!)) {
      error.message += `\n${this.log.join('\n')}`;
    }
    return error;
  }

  /** Notes what was done. @param next what may still be done as it was printed before */
  did(what: string, next: readonly string[] = []): void {
    this.log.push(what);
    this.next = next;
  }

  /** A run, and that this command worked on it. */
  worked(id: string, data: Data, { command }: Ran): Run {
    const first = { ...data, id, commands: [], cut: this.cut, outcomes: new Map() };
    const run: Run = this.runs.get(id) ?? { ...first, isTold: false, waits: true, retries: false };
    this.runs.set(id, run);
    run.commands.push(command);
    run.isTold = false;
    return run;
  }

  /** A session has told the outcome of each row. @param after if it has compared them with the service: requests before it */
  said(run: Run, outcomes: ReadonlyMap<string, RowOutcome>, after: number | null): void {
    run.outcomes = outcomes;
    run.isTold = true;
    if (after === null) return;
    const unchanged = run.rows.filter(({ id }) => outcomes.get(id)!.outcome === 'unchanged');
    this.verified.push(...unchanged.map((row) => ({ ...row, age: run.age, after })));
  }
}

/** The document of a command, in which the next steps are commands. */
export type Document = Summary & { next: string[] };
