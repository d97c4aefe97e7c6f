/** The tables of the state, and the two ways to them: a look, and a transaction. */
import type { Backend } from './backend.js';
import { Cells } from './cells.js';
import { Commits } from './commits.js';
import type { Database, Transaction } from './database.js';
import { Fingerprints } from './fingerprints.js';
import { stateError } from './folder.js';
import { History } from './history.js';
import { JobEnds } from './job-ends.js';
import { Jobs } from './jobs.js';
import { Notes } from './notes.js';
import type { Recorded } from './recorded.js';
import { RejectsFiles } from './rejects.js';
import { Requests } from './requests.js';
import { Runs } from './runs.js';
import { Scopes } from './scopes.js';
import { Sends } from './sends.js';
import { SentRows } from './sent-rows.js';
import type { Scope } from './types.js';

/** @typeParam B less than a whole one where only requests are recorded */
export class Tables<B extends Pick<Backend, 'db' | 'writer'> = Backend> {
  readonly db: Database;
  readonly commits: Commits<Recorded>;
  readonly scopes = new Scopes();
  readonly runs = new Runs();
  readonly requests = new Requests();
  readonly jobs = new Jobs();
  readonly cells = new Cells();
  readonly fingerprints = new Fingerprints(this.cells);
  readonly history = new History();
  readonly notes = new Notes();
  readonly rejects: RejectsFiles;
  readonly sends: Sends;
  readonly jobEnds: JobEnds;
  readonly sent: SentRows;

  /** @param folder as messages name it */
  constructor(
    readonly folder: string,
    readonly backend: B,
    readonly now: () => number,
  ) {
    this.db = backend.db;
    this.commits = new Commits((some, ready) => this.#record(some, ready), folder);
    this.rejects = new RejectsFiles(this.db, (put) => this.write((tx) => put(tx, this.time())));
    this.sends = new Sends(now);
    this.jobEnds = new JobEnds(this.jobs, this.sends, this.requests);
    this.sent = new SentRows(this.sends, this.fingerprints);
  }

  /** One transaction; it is run again from its start where the database says so. */
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
    // What is new refers to nothing yet. With many small requests, each statement that is left out counts.
    const { request: id, isNew } = await this.requests.put(tx, run, request, sent !== null);
    const of = { run, scope: await this.scopes.idOf(tx, scope), kind, request: id };
    if (sent) {
      const { prints, shared, rows, ends } = sent;
      if (!isNew) await this.sends.letGo(tx, '= ?', id);
      await this.sent.add(tx, of, prints, shared, ends);
      if (rows && !isNew) await this.history.forgetRequest(tx, id);
      if (rows) await this.history.putRequest(tx, { ...of, at: this.now() }, prints.ids, rows);
    }
    if (request.job) {
      const from = { kind, rows: request.rows, request: id, run };
      await this.jobs.add(tx, of.scope, request.job, from, this.time());
    }
    // An intent's rows have just been added as what it is.
    if (!sent || request.state !== 'intent') await this.sends.stand(tx, id, request);
  }

  #record(some: readonly Recorded[], ready: () => Promise<void>): Promise<void> {
    const { writer } = this.backend;
    return writer?.isStarted ? writer.put(some, ready, this.now()) : this.putAll(some, ready);
  }

  /** ISO 8601. */
  time(): string {
    return new Date(this.now()).toISOString();
  }

  /** A look at all that was recorded. @throws StateError */
  async read<T>(look: () => Promise<T>): Promise<T> {
    await this.commits.flush();
    try {
      return await look();
    } catch (error) {
      throw stateError(error, 'read the state', this.folder);
    }
  }

  /** One transaction. What was recorded before comes before it. @throws StateError */
  async write<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    void this.commits.flush();
    try {
      return await this.db.write(work);
    } catch (error) {
      throw stateError(error, 'record', this.folder);
    }
  }

  /** One transaction on what belongs to a scope. @param work is given the number of the scope */
  writeIn<T>(scope: Scope, work: (tx: Transaction, id: number) => Promise<T>): Promise<T> {
    return this.write(async (tx) => work(tx, await this.scopes.idOf(tx, scope)));
  }

  /** The number of a scope; 0, which is none's, where nothing is known of it. */
  find(scope: Scope): Promise<number> {
    return this.scopes.find(this.db, scope);
  }
}
