/**
 * The schema, as migrations in order: `PRAGMA user_version` is the number of those applied. A migration
 * is never changed once released; a new one is added at the end.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE secret (key BLOB NOT NULL);

  CREATE TABLE scopes (
    scope INTEGER PRIMARY KEY,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    base_url TEXT NOT NULL,
    UNIQUE (account, region, base_url)
  );

  CREATE TABLE runs (
    run TEXT PRIMARY KEY,
    scope INTEGER NOT NULL REFERENCES scopes,
    named_account TEXT,
    identity TEXT,
    status TEXT NOT NULL,
    finished INTEGER NOT NULL,
    ended_by TEXT,
    options TEXT NOT NULL,
    summary TEXT,
    started_at TEXT NOT NULL,
    ended_at TEXT
  );

  CREATE TABLE inputs (
    run TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
    input INTEGER NOT NULL,
    path TEXT NOT NULL,
    location TEXT NOT NULL,
    kind TEXT NOT NULL,
    digest TEXT NOT NULL,
    rejects_file TEXT,
    PRIMARY KEY (run, input)
  ) WITHOUT ROWID;

  CREATE TABLE requests (
    request INTEGER PRIMARY KEY,
    run TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    input INTEGER NOT NULL,
    first_row INTEGER NOT NULL,
    end_row INTEGER NOT NULL,
    first_line INTEGER NOT NULL,
    last_line INTEGER NOT NULL,
    rows INTEGER NOT NULL,
    merged INTEGER NOT NULL,
    unchanged INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    digest TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT,
    retries INTEGER NOT NULL DEFAULT 0,
    twice TEXT,
    job_id TEXT,
    UNIQUE (run, seq)
  );

  CREATE TABLE jobs (
    scope INTEGER NOT NULL REFERENCES scopes,
    job_id TEXT NOT NULL,
    request INTEGER,
    run TEXT,
    kind TEXT NOT NULL,
    rows INTEGER NOT NULL,
    status TEXT NOT NULL,
    record TEXT NOT NULL,
    submitted_at TEXT NOT NULL,
    seen_at TEXT NOT NULL,
    seconds REAL,
    PRIMARY KEY (scope, job_id)
  ) WITHOUT ROWID;
  CREATE INDEX jobs_by_time ON jobs (submitted_at);

  CREATE TABLE fingerprints (
    batch INTEGER PRIMARY KEY,
    scope INTEGER NOT NULL REFERENCES scopes,
    kind TEXT NOT NULL,
    request INTEGER,
    completed INTEGER NOT NULL,
    ids BLOB NOT NULL,
    contents BLOB NOT NULL
  );
  CREATE INDEX fingerprints_by_scope ON fingerprints (scope, kind);
  CREATE INDEX fingerprints_by_request ON fingerprints (request);

  CREATE TABLE column_types (
    scope INTEGER NOT NULL REFERENCES scopes,
    kind TEXT NOT NULL,
    types TEXT NOT NULL,
    PRIMARY KEY (scope, kind)
  ) WITHOUT ROWID;
  `,
  // It says more than yes or no.
  'ALTER TABLE fingerprints RENAME COLUMN completed TO state',
  // Null in rows of before: what they were made of is not known.
  'ALTER TABLE fingerprints ADD COLUMN records BLOB',
  // When its completion was seen. A batch of before has the earliest time it can be, or null where nothing tells.
  `
  ALTER TABLE fingerprints ADD COLUMN completed_at TEXT;
  UPDATE fingerprints SET completed_at = (
    SELECT jobs.submitted_at FROM requests JOIN runs USING (run)
      JOIN jobs ON jobs.scope = runs.scope AND jobs.job_id = requests.job_id
      WHERE requests.request = fingerprints.request)
    WHERE state = 1;
  `,
  // How the rows of a run became items. Null in runs of before: format 1, and types as its rules infer them.
  `
  ALTER TABLE runs ADD COLUMN item_format INTEGER;
  ALTER TABLE inputs ADD COLUMN types TEXT;
  `,
];
