/**
 * The schema, as migrations in order. `PRAGMA user_version` is the number of applied ones. Released
 * migrations never change; new ones are added at the end.
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
  // The column now has more than two values.
  'ALTER TABLE fingerprints RENAME COLUMN completed TO state',
  // Null in earlier rows: their items are not known.
  'ALTER TABLE fingerprints ADD COLUMN records BLOB',
  // When it was seen to be completed. Earlier rows get the earliest possible time, or null if it is unknown.
  `
  ALTER TABLE fingerprints ADD COLUMN completed_at TEXT;
  UPDATE fingerprints SET completed_at = (
    SELECT jobs.submitted_at FROM requests JOIN runs USING (run)
      JOIN jobs ON jobs.scope = runs.scope AND jobs.job_id = requests.job_id
      WHERE requests.request = fingerprints.request)
    WHERE state = 1;
  `,
  // How the rows of a run became items. Null in earlier runs: format 1, with the types that its rules infer.
  `
  ALTER TABLE runs ADD COLUMN item_format INTEGER;
  ALTER TABLE inputs ADD COLUMN types TEXT;
  `,
  // Sends and their outcomes as small rows; the hashes of their rows are stored separately. A number is never
  // used twice, so that the order stays right when rows are deleted.
  `
  CREATE TABLE sends (
    send INTEGER PRIMARY KEY AUTOINCREMENT,
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
  INSERT INTO sqlite_sequence (name, seq) VALUES ('sends', 0);
  INSERT INTO sends (send, scope, kind, run, request, began, state, completed_at, job_id, doubt)
    SELECT batch, f.scope, f.kind, r.run, f.request, 0, f.state, f.completed_at,
      CASE WHEN f.state = 0 AND r.state = 'acknowledged' THEN r.job_id END,
      CASE WHEN r.state IN ('intent', 'unknown') OR r.twice IS NOT NULL
          OR (r.state = 'settled' AND (j.job_id IS NULL OR j.status NOT IN ('completed', 'failed')))
        THEN CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) END
    FROM fingerprints f LEFT JOIN requests r ON r.request = f.request
      LEFT JOIN jobs j ON j.scope = f.scope AND j.job_id = r.job_id
    ORDER BY batch;
  CREATE INDEX sends_by_scope ON sends (scope, kind);
  CREATE INDEX sends_by_request ON sends (request);
  CREATE INDEX sends_by_job ON sends (scope, job_id) WHERE job_id IS NOT NULL;
  CREATE INDEX sends_in_doubt ON sends (scope, kind, doubt) WHERE doubt IS NOT NULL;

  ALTER TABLE fingerprints RENAME TO old_fingerprints;
  CREATE TABLE fingerprints (
    send INTEGER PRIMARY KEY REFERENCES sends ON DELETE CASCADE,
    ids BLOB NOT NULL,
    contents BLOB NOT NULL,
    records BLOB
  );
  INSERT INTO fingerprints SELECT batch, ids, contents, records FROM old_fingerprints ORDER BY batch;
  DROP TABLE old_fingerprints;
  UPDATE fingerprints SET contents = zeroblob(length(contents)), records = NULL
    WHERE send IN (SELECT send FROM sends WHERE state = 0);

  ALTER TABLE runs ADD COLUMN began INTEGER NOT NULL DEFAULT 0;
  UPDATE runs SET began = (
    SELECT count(*) FROM runs r WHERE (r.started_at, r.rowid) <= (runs.started_at, runs.rowid));
  UPDATE sqlite_sequence SET seq = max(seq, (SELECT count(*) FROM runs)) WHERE name = 'sends';
  UPDATE sends SET began = coalesce((SELECT r.began FROM runs r WHERE r.run = sends.run), 0);

  ALTER TABLE requests ADD COLUMN left_out INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE requests ADD COLUMN left_out_by TEXT;
  `,
  // A request may have rows of several inputs of a kind: its ranges after the first, as JSON.
  `
  ALTER TABLE requests ADD COLUMN more TEXT;
  `,
  // A request may send all or some rows of another one again; how it failed is stored to compare the two.
  `
  ALTER TABLE requests ADD COLUMN parent INTEGER;
  ALTER TABLE requests ADD COLUMN failure TEXT;
  CREATE INDEX requests_by_parent ON requests (run, parent) WHERE parent IS NOT NULL;
  `,
  // Rejects files: how their rows were read, and how a file is recognized.
  `
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
  `,
  // The rows of each request, and rejected rows, for the history of profiles (`history.ts`).
  `
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
  `,
  // Numbers of sends come from a counter of our own, as in PostgreSQL; it continues after those that SQLite
  // has given. `missing_since`: when a job first answered 404, ISO 8601, so that later processes continue to
  // count from then.
  `
  CREATE TABLE counters (name TEXT PRIMARY KEY, last INTEGER NOT NULL) WITHOUT ROWID;
  INSERT INTO counters (name, last) SELECT 'sends', coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'sends';
  ALTER TABLE jobs ADD COLUMN missing_since TEXT;
  `,
  // Short hashes of the cells of a send, to count changes by key. `keys` is JSON.
  `
  CREATE TABLE cells (
    send INTEGER PRIMARY KEY REFERENCES sends ON DELETE CASCADE,
    keys TEXT NOT NULL,
    cells BLOB NOT NULL
  );
  `,
  // Notes about the state as a whole, such as where it has moved.
  'CREATE TABLE notes (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID',
];
