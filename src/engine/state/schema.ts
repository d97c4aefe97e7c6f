/**
 * The schema, as migrations in order. Released migrations never change; new ones are added at the end. SQLite has its
 * mark (`markOf`) in `PRAGMA user_version`, PostgreSQL in the comment of its table `meta`.
 */
import { hash } from 'node:crypto';
import { StateError } from '../errors.js';

/** The tables. `docs/state.md` has what is said of each: what a row is, who writes it, and when it is deleted. */
const TABLES = [
  /**
   * Facts about the state as a whole: the key of its hashes, the last number of a send, run, or plan, and where it
   * has moved. Written when the state is created, by each send, and by a move. Never deleted.
   */
  `CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
  INSERT INTO meta (name, value) VALUES ('number', '0');`,
  /**
   * An account of a service, and the types of the columns of its last imports (JSON). Written by the first import to
   * it, and at the end of each. Never deleted.
   */
  `CREATE TABLE scopes (
    scope BIGINT PRIMARY KEY,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    base_url TEXT NOT NULL,
    companies_types TEXT,
    users_types TEXT,
    UNIQUE (account, region, base_url)
  );`,
  /**
   * A run, with its inputs and options (`record`, JSON), and its last report (JSON). `began` is the age of its data,
   * in the order of sends. Written when it begins and when a session ends. Deleted when the run is forgotten, or the
   * sandbox reset.
   */
  `CREATE TABLE runs (
    run TEXT PRIMARY KEY,
    scope BIGINT NOT NULL REFERENCES scopes,
    kinds TEXT NOT NULL,
    status TEXT NOT NULL,
    finished BIGINT NOT NULL,
    ended_by TEXT,
    started_at TEXT NOT NULL,
    ended_at TEXT,
    began BIGINT NOT NULL DEFAULT 0,
    record TEXT NOT NULL,
    summary TEXT
  );`,
  /**
   * A bulk request of a run, and what became of it. `record` (JSON) has its ranges of rows and its answer, `parent`
   * is the request whose rows it sends again. Written before it is sent, and after each change. Deleted with its
   * run.
   */
  `CREATE TABLE requests (
    run TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
    seq BIGINT NOT NULL,
    parent BIGINT,
    input BIGINT NOT NULL,
    rows BIGINT NOT NULL,
    unchanged BIGINT NOT NULL,
    left_out BIGINT NOT NULL,
    state TEXT NOT NULL,
    job_id TEXT,
    record TEXT NOT NULL,
    PRIMARY KEY (run, seq)
  );
  CREATE INDEX requests_by_parent ON requests (run, parent) WHERE parent IS NOT NULL;
  CREATE INDEX requests_accepted ON requests (run) WHERE state = 'acknowledged';`,
  /**
   * A job, as it was last seen (`record`, JSON). `missing_since` is when it first answered 404. Written with the
   * answer to its request, and each time it is polled. Deleted when the sandbox is reset.
   */
  `CREATE TABLE jobs (
    scope BIGINT NOT NULL REFERENCES scopes,
    job_id TEXT NOT NULL,
    run TEXT,
    kind TEXT NOT NULL,
    rows BIGINT NOT NULL,
    status TEXT NOT NULL,
    record TEXT NOT NULL,
    submitted_at TEXT NOT NULL,
    seen_at TEXT NOT NULL,
    seconds DOUBLE PRECISION,
    missing_since TEXT,
    PRIMARY KEY (scope, job_id)
  );
  CREATE INDEX jobs_by_time ON jobs (submitted_at);`,
  /**
   * One time that a request or a profile was sent, numbered in order, or that a run found rows unchanged while older
   * data could overwrite them. `job_id` is the job that it was answered with, `doubt` since when its outcome is
   * unknown. Written with the intent to send, and when its outcome is known. Deleted when later sends of all its
   * rows are recorded, when there is no older data, and when the sandbox is reset.
   */
  `CREATE TABLE sends (
    send BIGINT PRIMARY KEY,
    scope BIGINT NOT NULL REFERENCES scopes,
    kind TEXT NOT NULL,
    run TEXT,
    seq BIGINT,
    began BIGINT NOT NULL,
    state BIGINT NOT NULL,
    completed_at TEXT,
    job_id TEXT,
    doubt BIGINT
  );
  CREATE INDEX sends_by_scope ON sends (scope, kind, send);
  CREATE INDEX sends_by_request ON sends (run, seq);
  CREATE INDEX sends_by_job ON sends (scope, job_id) WHERE job_id IS NOT NULL;
  CREATE INDEX sends_pending ON sends (scope, kind, send) WHERE state = 0;
  CREATE INDEX sends_in_doubt ON sends (scope, kind, doubt) WHERE doubt IS NOT NULL;`,
  /**
   * The rows of a send: 8 bytes each of keyed hashes of their ids, contents, and records, and short hashes of their
   * cells by key (`keys`, JSON). Written and deleted with the send.
   */
  `CREATE TABLE fingerprints (
    send BIGINT PRIMARY KEY REFERENCES sends ON DELETE CASCADE,
    ids BYTEA NOT NULL,
    contents BYTEA NOT NULL,
    records BYTEA,
    keys TEXT,
    cells BYTEA
  );`,
  /** A saved plan, with its number in the order of sends. Written when it is saved, and deleted when it has expired. */
  `CREATE TABLE plans (
    run TEXT PRIMARY KEY,
    scope BIGINT NOT NULL REFERENCES scopes,
    number BIGINT NOT NULL,
    made_at BIGINT NOT NULL
  );`,
  /**
   * Rows that a request sent or left out, or that a plan rejected: 6 bytes of the hash of each id, and the lines.
   * Written with the intent to send, and by the plan. Deleted with its run, and when it is older than the time to
   * keep.
   */
  `CREATE TABLE history (
    what BIGINT NOT NULL,
    at BIGINT NOT NULL,
    scope BIGINT NOT NULL REFERENCES scopes,
    kind TEXT NOT NULL,
    run TEXT REFERENCES runs ON DELETE CASCADE,
    seq BIGINT,
    send BIGINT,
    job_id TEXT,
    note TEXT,
    ids BYTEA NOT NULL,
    lines BYTEA
  );
  CREATE INDEX history_by_time ON history (at);
  CREATE INDEX history_by_request ON history (run, seq) WHERE run IS NOT NULL;
  CREATE INDEX history_by_send ON history (send) WHERE send IS NOT NULL;`,
  /**
   * A rejects file: how it is recognized (`mark`, JSON), how its rows were read, and what its run had to send if it
   * sent nothing (`record`, JSON). Written after its rows. Deleted with its run, and without one after 90 days.
   */
  `CREATE TABLE rejects (
    run TEXT NOT NULL,
    input BIGINT NOT NULL,
    owner TEXT NOT NULL,
    location TEXT NOT NULL,
    digest TEXT NOT NULL,
    mark TEXT,
    record TEXT NOT NULL,
    unedited BYTEA NOT NULL,
    written_at TEXT NOT NULL,
    PRIMARY KEY (run, input)
  );`,
  /**
   * Who may import. In PostgreSQL, until when by the clock of the database, and the epoch only grows; in SQLite, the
   * lock is a file. Written by whoever takes it, and by each heartbeat. Never deleted.
   */
  `CREATE TABLE leases (
    scope BIGINT NOT NULL REFERENCES scopes ON DELETE CASCADE,
    kind TEXT NOT NULL,
    holder TEXT NOT NULL,
    owner TEXT,
    epoch BIGINT,
    machine TEXT,
    lease_ms BIGINT,
    beat_at TIMESTAMPTZ,
    expires_at TIMESTAMPTZ,
    PRIMARY KEY (scope, kind)
  );`,
  /**
   * PostgreSQL: the last write of a process, to find out what became of a commit without an answer. Written by each
   * transaction. Deleted when the process ends, or after 30 days.
   */
  `CREATE TABLE writers (writer TEXT PRIMARY KEY, number BIGINT NOT NULL, wrote_at TIMESTAMPTZ NOT NULL);`,
].join('\n');

export const MIGRATIONS: readonly string[] = [TABLES];

/** How many migrations a mark has room for. */
const MOST = 100;

/** The mark of a database: which first migration made it (21 bits of the hash of its SQL), and how many are applied. */
export function markOf(migrations: readonly string[]): number {
  return (Number.parseInt(hash('sha256', migrations[0]!).slice(0, 8), 16) >>> 11) * MOST + migrations.length;
}

/**
 * The migrations that a database with this mark lacks; 0: a new one.
 * @param name for errors. @param place what to use another one of
 * @throws StateError if another build made it
 */
export function missingIn(
  mark: number,
  migrations: readonly string[],
  { name, place }: { name: string; place: 'folder' | 'schema' },
): readonly string[] {
  const missing = mark === 0 ? migrations.length : markOf(migrations) - mark;
  const isKnown = mark === 0 || (missing >= 0 && missing < migrations.length);
  if (isKnown) return migrations.slice(migrations.length - missing);
  throw new StateError(`${name} was written by another version of profiles`, {
    hint: `use that version, or another ${place}`,
    problem: { code: 'state_version' },
  });
}

/** SQL that defines tables, in which texts are compared byte by byte, as in SQLite. SQLite knows the other types, too. */
export const forPostgres = (sql: string): string => sql.replace(/\bTEXT\b/g, 'TEXT COLLATE "C"');
