/** The model beside the real machine: runs commands, and holds what they say against what arrived. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { shellWords } from '../support/sh.js';
import { ALL_WELL, type Circumstances, Machine, type Ran } from './machine.js';
import type { Data, Document, Model, Row, RowOutcome, Run } from './model.js';
import {
  addsUp,
  canaryGoesFirst,
  countsAgree,
  holds,
  isNamed,
  isNewest,
  isSentOnce,
  outcomesHold,
  waitsForJobs,
} from './properties.js';
import { statesHold } from './recorded.js';

const OUTCOMES = 'outcomes.ndjson';

/** A run as `runs --json` lists it. */
interface Listed {
  run: string;
  status: string;
  resume: string | null;
}

interface How {
  circumstances?: Circumstances;
  /** The run that continues, if that is known before. */
  run?: Run | undefined;
  changedOnly?: boolean;
  /** A profile that is sent while this request of the command waits for its answer. */
  meanwhile?: { request: number; id: string } | null;
  concurrency?: number;
}

export class Scene {
  readonly machine = new Machine();

  constructor(readonly model: Model) {}

  /** Runs a command that sends rows. */
  async send(argv: readonly string[], data: Data, how: How = {}): Promise<Ran> {
    const { model, machine } = this;
    const before = machine.service.arrivals.length;
    rmSync(join(machine.folder, OUTCOMES), { force: true });
    let requests = 0;
    const between = async (): Promise<void> => {
      if (++requests === how.meanwhile?.request) await this.identify(how.meanwhile.id);
    };
    const ran = await this.#run([...argv, '--json', '--outcomes', OUTCOMES], how.circumstances, between);
    const summary = ran.ended === 'kill' ? null : documentOf(ran);
    const id = summary?.run ?? how.run?.id ?? (await this.#newRun());
    const hasSent = machine.service.arrivals.some(({ command }) => command === ran.command);
    holds(id !== null || !hasSent, 'what is sent belongs to a run', () => ran.stderr);
    if (id === null) return ran;
    const run = model.worked(id, data, ran);
    run.compares ||= argv.includes('--changed-only');
    const { concurrency = 1 } = how;
    isNewest(ran.command, concurrency, model, machine);
    run.retries ||= run.hasCanary === true || argv.includes('--failed');
    isSentOnce(run, run.retries, machine);
    if (run.hasCanary) canaryGoesFirst(run, machine);
    // A run that does not wait goes on so when it is resumed.
    run.waits &&= !argv.includes('--no-wait');
    if (run.waits) waitsForJobs(ran.command, concurrency, model, machine);
    await statesHold(run, machine);
    if (!summary) return ran;
    addsUp(summary);
    isNamed(run, summary, machine);
    model.next = summary.next;
    const outcomes = readOutcomes(machine);
    if (!outcomes) return ran;
    outcomesHold(run, outcomes, machine, model.kind);
    countsAgree(summary, outcomes);
    // It knows more than what is recorded.
    if (ran.ended === 'full disk') return ran;
    const isVerified = how.changedOnly && ran.ended === null;
    model.said(run, outcomes, isVerified ? before : null);
    return ran;
  }

  async identify(id: string, flags: readonly string[] = [], circumstances?: Circumstances): Promise<void> {
    const age = this.model.newAge();
    const what = this.model.kind === 'users' ? 'user' : 'company';
    const set = `name=${this.model.newName('identify')}`;
    const ran = await this.#run(['identify', what, id, '--set', set, ...flags, '--json'], circumstances);
    this.model.profiles.set(ran.command, age);
    isNewest(ran.command, 1, this.model, this.machine);
    if (!flags.includes('--no-wait')) waitsForJobs(ran.command, 1, this.model, this.machine);
  }

  async resume(run: Run, flags: readonly string[] = [], circumstances?: Circumstances): Promise<void> {
    const ran = await this.send(['resume', run.id, ...flags], run, {
      circumstances: circumstances ?? ALL_WELL,
      run,
    });
    const isAsItWas = JSON.stringify(this.rowsIn(run.path)) === JSON.stringify(run.rows);
    if (!isAsItWas || ran.ended !== null || flags.includes('--failed')) return;
    holds(ran.code !== 2, 'a run that can be resumed is resumed', () => ran.stderr);
  }

  /** Runs a command as it was printed. */
  async follow(command: string, circumstances: Circumstances): Promise<void> {
    const [program, ...argv] = shellWords(command.replaceAll('\\\n', ' '));
    const { model, machine } = this;
    const run = argv[0] === 'resume' ? model.runs.get(argv[1]!) : undefined;
    const path = argv[0] === 'import' && existsSync(join(machine.folder, argv[1]!)) ? argv[1]! : null;
    const ran = await (run
      ? this.send(argv, run, { circumstances, run })
      : path === null
        ? this.#run(argv)
        : this.send(argv, this.data(path), { circumstances }));
    const works = program === 'profiles' && (ran.ended !== null || ran.code !== 2);
    holds(works, 'every next command works', () => `${command}\n${ran.stderr}`);
  }

  /** Runs a command that sends nothing. */
  read(...argv: string[]): Promise<Ran> {
    return this.#run(argv);
  }

  async list(): Promise<Listed[]> {
    return JSON.parse((await this.machine.run(['runs', '--json'])).stdout) as Listed[];
  }

  rowsIn(path: string): Row[] {
    const text = readFileSync(join(this.machine.folder, path), 'utf8').replace(/^\ufeff/, '');
    const lines = text.trimEnd().split('\n').slice(1);
    return lines.map((text, at) => {
      const [id, name] = text.split(',') as [string, string];
      return { line: at + 2, text, id, name };
    });
  }

  /** The rows of a file as they are now. */
  data(path: string): Data {
    return { path, rows: this.rowsIn(path), age: this.model.newAge() };
  }

  write(path: string, rows: readonly Pick<Row, 'id' | 'name'>[]): void {
    const head = `${this.model.kind === 'users' ? 'user_id' : 'company_id'},name\n`;
    this.machine.write(path, head + rows.map(({ id, name }) => `${id},${name}\n`).join(''));
    this.model.did(`${path}: ${rows.map(({ id, name }) => `${id}=${name}`).join(' ')}`);
  }

  /** Whether the state has the run as its command has told it. */
  async #isRecorded(ran: Ran): Promise<boolean> {
    const told = documentOf(ran);
    if (!told?.run) return false;
    const { status } = JSON.parse((await this.machine.run(['runs', told.run, '--json'])).stdout) as Listed;
    return status === told.status;
  }

  async #run(argv: readonly string[], how?: Circumstances, between?: () => Promise<void>): Promise<Ran> {
    const ran = await this.machine.run(argv, how, between);
    const { command, ended, code } = ran;
    if (ended !== null && ended !== 'Ctrl-C') this.model.cut.add(command);
    const end = ended === null ? code : ended === 'kill' ? 'killed' : `${code}, ${ended}`;
    this.model.did(`${command}. ${argv.join(' ').replace(` --outcomes ${OUTCOMES}`, '')} → ${end}`);
    if (ended === 'full disk') {
      const isSaid = code === 1 && /disk is full/.test(ran.stderr);
      // What fails once the end of the run is recorded, such as giving back its lock, does no harm.
      holds(
        isSaid || (await this.#isRecorded(ran)),
        'a full disk is reported',
        () => `exit ${code}: ${ran.stderr}`,
      );
    } else holds(ended === 'kill' || code !== 1, 'no command fails unexpectedly', () => ran.stderr);
    return ran;
  }

  /** A run that the model has not seen; null if there is none. */
  async #newRun(): Promise<string | null> {
    return (await this.list()).find(({ run }) => !this.model.runs.has(run))?.run ?? null;
  }
}

const documentOf = ({ stdout }: Ran): Document | null =>
  stdout.startsWith('{') ? (JSON.parse(stdout) as Document) : null;

/** By identifier; null where a session has left none. */
function readOutcomes({ folder }: Machine): Map<string, RowOutcome> | null {
  const path = join(folder, OUTCOMES);
  if (!existsSync(path)) return null;
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean);
  return new Map(lines.map((line) => JSON.parse(line) as RowOutcome).map((row) => [row.id, row]));
}
