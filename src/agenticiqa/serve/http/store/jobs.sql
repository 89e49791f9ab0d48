CREATE TABLE IF NOT EXISTS jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    created_at TEXT NOT NULL,
    finished_at TEXT,
    seconds REAL,
    request TEXT NOT NULL,
    result TEXT,
    error TEXT,
    events TEXT,
    pinned INTEGER NOT NULL DEFAULT 0,
    idempotency_key TEXT
);
CREATE INDEX IF NOT EXISTS jobs_by_owner ON jobs (owner, number);
CREATE INDEX IF NOT EXISTS jobs_by_end ON jobs (finished_at);
