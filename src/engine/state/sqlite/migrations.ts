/**
 * The schema, as migrations in order. `PRAGMA user_version` is the number of applied ones. Released
 * migrations never change; new ones are added at the end. PostgreSQL has the same tables and columns
 * (`postgres/schema.ts`).
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

  -- The last number that was given out of each kind. A number is never used twice, so that the order stays right when
  -- rows are deleted.
  CREATE TABLE counters (name TEXT PRIMARY KEY, last INTEGER NOT NULL) WITHOUT ROWID;
  INSERT INTO counters (name, last) VALUES ('sends', 0);

  -- replaces: the runs whose place it took, as JSON.
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
    ended_at TEXT,
    item_format INTEGER NOT NULL,
    began INTEGER NOT NULL DEFAULT 0,
    machine TEXT NOT NULL,
    replaces TEXT NOT NULL
  );

  CREATE TABLE inputs (
    run TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
    input INTEGER NOT NULL,
    path TEXT NOT NULL,
    location TEXT NOT NULL,
    kind TEXT NOT NULL,
    digest TEXT NOT NULL,
    rejects_file TEXT,
    types TEXT NOT NULL,
    PRIMARY KEY (run, input)
  ) WITHOUT ROWID;

  -- parent: the request whose rows it sends again. more: its ranges after the first, as JSON.
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
    left_out INTEGER NOT NULL DEFAULT 0,
    left_out_by TEXT,
    overtaken INTEGER NOT NULL DEFAULT 0,
    more TEXT,
    parent INTEGER,
    failure TEXT,
    UNIQUE (run, seq)
  );
  CREATE INDEX requests_by_parent ON requests (run, parent) WHERE parent IS NOT NULL;

  -- missing_since: when it first answered 404, so that later processes continue to count from then.
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
    missing_since TEXT,
    PRIMARY KEY (scope, job_id)
  ) WITHOUT ROWID;
  CREATE INDEX jobs_by_time ON jobs (submitted_at);
  CREATE INDEX jobs_by_run ON jobs (run);

  -- Sends and their outcomes as small rows; the hashes of their rows are stored separately.
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
  CREATE INDEX sends_in_doubt ON sends (scope, kind, doubt) WHERE doubt IS NOT NULL;

  CREATE TABLE fingerprints (
    send INTEGER PRIMARY KEY REFERENCES sends ON DELETE CASCADE,
    ids BLOB NOT NULL,
    contents BLOB NOT NULL,
    records BLOB
  );

  -- Short hashes of the cells of a send, to count changes by key. keys is JSON.
  CREATE TABLE cells (
    send INTEGER PRIMARY KEY REFERENCES sends ON DELETE CASCADE,
    keys TEXT NOT NULL,
    cells BLOB NOT NULL
  );

  CREATE TABLE column_types (
    scope INTEGER NOT NULL REFERENCES scopes,
    kind TEXT NOT NULL,
    types TEXT NOT NULL,
    PRIMARY KEY (scope, kind)
  ) WITHOUT ROWID;

  -- Rejects files: how their rows were read, and how a file is recognized.
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
    written_at TEXT NOT NULL,
    PRIMARY KEY (run, input)
  ) WITHOUT ROWID;

  -- The rows of each request, and rejected rows, for the history of profiles (history.ts).
  CREATE TABLE history (
    entry INTEGER PRIMARY KEY,
    what INTEGER NOT NULL,
    scope INTEGER NOT NULL REFERENCES scopes,
    kind TEXT NOT NULL,
    run TEXT REFERENCES runs ON DELETE CASCADE,
    request INTEGER REFERENCES requests ON DELETE CASCADE,
    send INTEGER,
    at INTEGER NOT NULL,
    ids BLOB NOT NULL,
    lines BLOB,
    job_id TEXT,
    note TEXT
  );
  CREATE INDEX history_by_time ON history (at);
  CREATE INDEX history_by_request ON history (request) WHERE request IS NOT NULL;
  CREATE INDEX history_by_run ON history (run) WHERE run IS NOT NULL;
  CREATE INDEX history_by_send ON history (send) WHERE send IS NOT NULL;

  -- Saved plans, with their numbers in the order of runs and sends.
  CREATE TABLE plans (
    run TEXT PRIMARY KEY,
    scope INTEGER NOT NULL REFERENCES scopes,
    number INTEGER NOT NULL,
    made_at INTEGER NOT NULL
  ) WITHOUT ROWID;

  -- Ids of rows that a run found unchanged, while older data could overwrite them (verified.ts).
  CREATE TABLE verified (
    run TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
    scope INTEGER NOT NULL REFERENCES scopes,
    kind TEXT NOT NULL,
    part INTEGER NOT NULL,
    ids BLOB NOT NULL,
    PRIMARY KEY (run, kind, part)
  );

  -- Notes about the state as a whole, such as where it has moved.
  CREATE TABLE notes (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  `,
];
