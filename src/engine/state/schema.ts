/**
 * The schema, as migrations in order. Released migrations never change; new ones are added at the end. SQLite has its
 * mark (`markOf`) in `PRAGMA user_version`, PostgreSQL in the comment of its table `meta`.
 */
import { hash } from 'node:crypto';

const TABLES = `
-- Facts about the state as a whole: the key of its hashes, the last number of a send, run, or plan, and where it has
-- moved. Written when the state is created, by each send, and by a move. Never deleted.
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO meta (name, value) VALUES ('number', '0');

-- An account of a service, and the types of the columns of its last imports (JSON). Written by the first import to it,
-- and at the end of each. Never deleted.
CREATE TABLE scopes (
  scope INTEGER PRIMARY KEY,
  account TEXT NOT NULL,
  region TEXT NOT NULL,
  base_url TEXT NOT NULL,
  column_types TEXT NOT NULL DEFAULT '{}',
  UNIQUE (account, region, base_url)
);

-- A run, with its inputs, options, and last report (JSON). \`began\` is the age of its data, in the order of sends.
-- Written when it begins and when a session ends. Deleted when the run is forgotten, or the sandbox reset.
CREATE TABLE runs (
  run TEXT PRIMARY KEY,
  scope INTEGER NOT NULL REFERENCES scopes,
  named_account TEXT,
  identity TEXT NOT NULL,
  status TEXT NOT NULL,
  finished INTEGER NOT NULL,
  ended_by TEXT,
  kinds TEXT NOT NULL,
  inputs TEXT NOT NULL,
  options TEXT NOT NULL,
  summary TEXT,
  started_at TEXT NOT NULL,
  ended_at TEXT,
  item_format INTEGER NOT NULL,
  began INTEGER NOT NULL DEFAULT 0,
  machine TEXT NOT NULL,
  replaces TEXT NOT NULL
);

-- A bulk request of a run: its rows, and what became of it. \`more\` has its ranges of rows after the first (JSON),
-- \`parent\` the request whose rows it sends again. Written before it is sent, and after each change. Deleted with its
-- run.
CREATE TABLE requests (
  request INTEGER PRIMARY KEY,
  run TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  parent INTEGER,
  input INTEGER NOT NULL,
  first_row INTEGER NOT NULL,
  end_row INTEGER NOT NULL,
  first_line INTEGER NOT NULL,
  last_line INTEGER NOT NULL,
  more TEXT,
  rows INTEGER NOT NULL,
  merged INTEGER NOT NULL,
  unchanged INTEGER NOT NULL,
  left_out INTEGER NOT NULL,
  left_out_by TEXT,
  overtaken INTEGER NOT NULL,
  doubtful INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  digest TEXT NOT NULL,
  state TEXT NOT NULL,
  reason TEXT,
  failure TEXT,
  retries INTEGER NOT NULL,
  possible_duplicate TEXT,
  job_id TEXT,
  UNIQUE (run, seq)
);
CREATE INDEX requests_by_parent ON requests (run, parent) WHERE parent IS NOT NULL;
CREATE INDEX requests_accepted ON requests (run) WHERE state = 'acknowledged';

-- A job, as it was last seen (\`record\`, JSON). \`missing_since\` is when it first answered 404. Written with the answer
-- to its request, and each time it is polled. Deleted when the sandbox is reset.
CREATE TABLE jobs (
  scope INTEGER NOT NULL REFERENCES scopes,
  job_id TEXT NOT NULL,
  run TEXT,
  kind TEXT NOT NULL,
  rows INTEGER NOT NULL,
  status TEXT NOT NULL,
  record TEXT NOT NULL,
  submitted_at TEXT NOT NULL,
  seen_at TEXT NOT NULL,
  seconds REAL,
  missing_since TEXT,
  PRIMARY KEY (scope, job_id)
) WITHOUT ROWID;
CREATE INDEX jobs_by_time ON jobs (submitted_at);

-- One time that a request or a profile was sent, numbered in order, or that a run found rows unchanged while older data
-- could overwrite them. \`job_id\` is the job that it was answered with, \`doubt\` since when its outcome is unknown.
-- Written with the intent to send, and when its outcome is known. Deleted when later sends of all its rows are recorded,
-- when there is no older data, and when the sandbox is reset.
CREATE TABLE sends (
  send INTEGER PRIMARY KEY,
  scope INTEGER NOT NULL REFERENCES scopes,
  kind TEXT NOT NULL,
  run TEXT,
  request INTEGER,
  began INTEGER NOT NULL,
  state INTEGER NOT NULL,
  completed_at TEXT,
  job_id TEXT,
  doubt INTEGER
);
CREATE INDEX sends_by_scope ON sends (scope, kind, send);
CREATE INDEX sends_by_request ON sends (request);
CREATE INDEX sends_by_job ON sends (scope, job_id) WHERE job_id IS NOT NULL;
CREATE INDEX sends_pending ON sends (scope, kind, send) WHERE state = 0;
CREATE INDEX sends_in_doubt ON sends (scope, kind, doubt) WHERE doubt IS NOT NULL;

-- The rows of a send: 8 bytes each of keyed hashes of their ids, contents, and records, and short hashes of their cells
-- by key (\`keys\`, JSON). A table of its own, because sends change and these do not. Written and deleted with the send.
CREATE TABLE fingerprints (
  send INTEGER PRIMARY KEY REFERENCES sends ON DELETE CASCADE,
  ids BLOB NOT NULL,
  contents BLOB NOT NULL,
  records BLOB,
  keys TEXT,
  cells BLOB
);

-- A saved plan, with its number in the order of sends. Written when it is saved, and deleted when it has expired.
CREATE TABLE plans (
  run TEXT PRIMARY KEY,
  scope INTEGER NOT NULL REFERENCES scopes,
  number INTEGER NOT NULL,
  made_at INTEGER NOT NULL
) WITHOUT ROWID;

-- Rows that a request sent or left out, or that a plan rejected: 6 bytes of the hash of each id, and the lines. Written
-- with the intent to send, and by the plan. Deleted with its run, and when it is older than the time to keep.
CREATE TABLE history (
  entry INTEGER PRIMARY KEY,
  what INTEGER NOT NULL,
  scope INTEGER NOT NULL REFERENCES scopes,
  kind TEXT NOT NULL,
  run TEXT REFERENCES runs ON DELETE CASCADE,
  request INTEGER REFERENCES requests ON DELETE CASCADE,
  send INTEGER,
  at INTEGER NOT NULL,
  job_id TEXT,
  note TEXT,
  lines BLOB,
  ids BLOB NOT NULL
);
CREATE INDEX history_by_time ON history (at);
CREATE INDEX history_by_request ON history (request) WHERE request IS NOT NULL;
CREATE INDEX history_by_run ON history (run) WHERE run IS NOT NULL;
CREATE INDEX history_by_send ON history (send) WHERE send IS NOT NULL;

-- A rejects file: how its rows were read (\`reading\`, JSON), how the file is recognized, and what its run had to send
-- if it sent nothing (\`unsent\`, JSON). Written after its rows.
-- Deleted with its run, and without one after 90 days.
CREATE TABLE rejects (
  run TEXT NOT NULL,
  input INTEGER NOT NULL,
  owner TEXT NOT NULL,
  location TEXT NOT NULL,
  digest TEXT NOT NULL,
  inode TEXT,
  sha256 TEXT,
  reading TEXT NOT NULL,
  unedited BLOB NOT NULL,
  unsent TEXT,
  written_at TEXT NOT NULL,
  PRIMARY KEY (run, input)
) WITHOUT ROWID;
`;

/** Tables that only PostgreSQL has, for several machines. */
export const SHARED_TABLES = `
-- The last write of a process, by which it finds out whether a commit without an answer was carried out. Written by each
-- transaction. Deleted when the process ends, or after 30 days.
CREATE TABLE writers (writer TEXT PRIMARY KEY, number INTEGER NOT NULL, wrote_at TIMESTAMPTZ NOT NULL);

-- Who may import, until when by the clock of the database. Without an owner it was released; its epoch only grows. Written
-- by each heartbeat. Never deleted.
CREATE TABLE leases (
  scope INTEGER NOT NULL REFERENCES scopes,
  kind TEXT NOT NULL,
  owner TEXT,
  epoch INTEGER NOT NULL,
  holder TEXT NOT NULL,
  machine TEXT NOT NULL,
  lease_ms INTEGER NOT NULL,
  beat_at TIMESTAMPTZ NOT NULL,
  expires_at TIMESTAMPTZ NOT NULL,
  PRIMARY KEY (scope, kind)
);
`;

export const MIGRATIONS: readonly string[] = [TABLES];

/** How many migrations a mark has room for. */
const MOST = 100;

/** The mark of a database: which first migration made it (21 bits of the hash of its SQL), and how many are applied. */
export function markOf(migrations: readonly string[]): number {
  const sql = migrations[0]!.replace(/--.*|\s+/g, '');
  return (Number.parseInt(hash('sha256', sql).slice(0, 8), 16) >>> 11) * MOST + migrations.length;
}

/** How many of the migrations a database with this mark has, 0 if it is new; null if another build made it. */
export function appliedOf(mark: number, migrations: readonly string[]): number | null {
  if (mark === 0) return 0;
  const missing = markOf(migrations) - mark;
  return missing >= 0 && missing < migrations.length ? migrations.length - missing : null;
}

/**
 * Translates SQL that defines tables. Texts are compared byte by byte, as in SQLite. Bytes are hashes, which do not get
 * smaller, so they are not compressed.
 */
export function forPostgres(sql: string): string {
  const bytes = [...sql.matchAll(/CREATE TABLE (\w+) \(([^;]*)\)/g)].flatMap(([, table, columns]) =>
    [...columns!.matchAll(/(\w+) BLOB/g)].map(
      ([, column]) => `ALTER TABLE ${table} ALTER ${column} SET STORAGE EXTERNAL`,
    ),
  );
  const types: [RegExp, string][] = [
    [/--.*/g, ''],
    [/ WITHOUT ROWID/g, ''],
    [/INTEGER PRIMARY KEY/g, 'INTEGER PRIMARY KEY GENERATED BY DEFAULT AS IDENTITY'],
    [/\bINTEGER\b/g, 'BIGINT'],
    [/\bREAL\b/g, 'DOUBLE PRECISION'],
    [/\bTEXT\b/g, 'TEXT COLLATE "C"'],
    [/\bBLOB\b/g, 'BYTEA'],
  ];
  return [types.reduce((text, [from, to]) => text.replaceAll(from, to), sql), ...bytes].join(';\n');
}
