CREATE TABLE IF NOT EXISTS runs (
    id TEXT PRIMARY KEY,
    started_at TEXT NOT NULL,
    status TEXT NOT NULL,
    query TEXT NOT NULL,
    image_path TEXT NOT NULL,
    answer TEXT,
    score REAL,
    calls INTEGER,
    prompt_tokens INTEGER,
    completion_tokens INTEGER,
    cost_usd REAL,
    seconds REAL,
    request TEXT NOT NULL,
    result TEXT
);
CREATE INDEX IF NOT EXISTS runs_by_time ON runs (started_at);
CREATE TABLE IF NOT EXISTS calls (run_id TEXT NOT NULL, call TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS calls_by_run ON calls (run_id);
