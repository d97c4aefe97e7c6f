/** The tables of the state, and how to read and write them in the right order with group commits. */
import type { Backend } from './backend.js';
import { Commits } from './commits.js';
import type { Database, Transaction } from './database.js';
import { Fingerprints } from './fingerprints.js';
import { stateError } from './folder.js';
import { History } from './history.js';
import { JobEnds } from './job-ends.js';
import { Jobs } from './jobs.js';
import type { Recorded } from './recorded.js';
import { RejectsFiles } from './rejects.js';
import { Requests } from './requests.js';
import { Runs } from './runs.js';
import { Scopes } from './scopes.js';
import { Sends } from './sends.js';
import { SentRows } from './sent-rows.js';
import type { Scope } from './types.js';
import { Plans, Verified } from './verified.js';

/** @typeParam B the writer thread has only a part of a backend, which is enough to record requests */
export class Tables<B extends Pick<Backend, 'db' | 'writer'> = Backend> {
  readonly db: Database;
  readonly commits: Commits<Recorded>;
  readonly scopes = new Scopes();
  readonly runs = new Runs();
  readonly requests = new Requests();
  readonly jobs = new Jobs();
  readonly fingerprints = new Fingerprints();
  readonly history = new History();
  readonly plans = new Plans();
  readonly verified = new Verified();
  readonly rejects: RejectsFiles;
  readonly sends: Sends;
  readonly jobEnds: JobEnds;
  readonly sent: SentRows;

  /**
   * @param folder the state directory, also named in errors.
   * @param now wall clock, milliseconds since the epoch
   */
  constructor(
    readonly folder: string,
    readonly backend: B,
    readonly now: () => number,
  ) {
    this.db = backend.db;
    this.commits = new Commits((some, ready) => this.#record(some, ready), folder);
    this.rejects = new RejectsFiles(this.db, (put) => this.write((tx) => put(tx, this.time())));
    this.sends = new Sends(now, this.plans);
    this.jobEnds = new JobEnds(this.jobs, this.sends, this.requests);
    this.sent = new SentRows(this.sends, this.fingerprints, this.verified);
  }

  /**
   * Writes records in one transaction, which the database may run again from the start.
   * @param ready see `Writer`
   */
  async putAll(some: readonly Recorded[], ready: () => Promise<void>): Promise<void> {
    let isAgain = false;
    await this.db.write(async (tx) => {
      await ready();
      if (isAgain) this.sent.forgetSession();
      isAgain = true;
      for (const one of some) await this.#put(tx, one);
    });
  }

  async #put(tx: Transaction, { run, scope, kind, request, sent }: Recorded): Promise<void> {
    // Nothing refers to a new request yet, which saves statements below. With many small requests, that
    // matters.
    const { request: id, isNew } = await this.requests.put(tx, run, request, sent !== null);
    const of = { run, scope: await this.scopes.idOf(tx, scope), kind, request: id };
    if (sent) {
      const { prints, shared, rows, ends } = sent;
      if (!isNew) await this.sends.unlink(tx, '= ?', id);
      await this.sent.add(tx, of, prints, shared, ends);
      const before = rows && !isNew ? await this.history.forgetRequest(tx, id) : undefined;
      if (rows) await this.history.putRequest(tx, { ...of, at: this.now() }, prints.ids, rows, before);
    }
    const acknowledged = request.state === 'acknowledged' ? request.job : null;
    const shared =
      acknowledged !== null && (await this.jobs.isShared(tx, of.scope, acknowledged.job_id, id, run));
    if (request.job) {
      const from = { kind, rows: request.rows, request: id, run };
      await this.jobs.add(tx, of.scope, request.job, from, this.time());
    }
    // The send of an intent was added with this state above.
    if (!sent || request.state !== 'intent') await this.sends.update(tx, id, request);
    // Two requests have this job id, so its end does not show that the rows of this one were completed.
    if (shared) await this.fingerprints.forget(tx, await this.sends.lastOf(tx, id));
  }

  #record(some: readonly Recorded[], ready: () => Promise<void>): Promise<void> {
    const { writer } = this.backend;
    return writer?.isStarted ? writer.put(some, ready, this.now()) : this.putAll(some, ready);
  }

  /** The current time, ISO 8601. */
  time(): string {
    return new Date(this.now()).toISOString();
  }

  /** Reads after waiting changes were committed. @throws StateError */
  async read<T>(look: () => Promise<T>): Promise<T> {
    await this.commits.flush();
    try {
      return await look();
    } catch (error) {
      throw stateError(error, 'read the state', this.folder);
    }
  }

  /** Runs one transaction after waiting changes. @throws StateError */
  async write<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    void this.commits.flush();
    try {
      return await this.db.write(work);
    } catch (error) {
      throw stateError(error, 'record', this.folder);
    }
  }

  /**
   * Runs one transaction for a scope.
   * @param work gets the row id of the scope, which is created if needed
   */
  writeIn<T>(scope: Scope, work: (tx: Transaction, id: number) => Promise<T>): Promise<T> {
    return this.write(async (tx) => work(tx, await this.scopes.idOf(tx, scope)));
  }

  /** The row id of a scope; 0, which is never a row id, if there is none. */
  find(scope: Scope): Promise<number> {
    return this.scopes.find(this.db, scope);
  }
}
