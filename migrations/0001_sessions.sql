-- Times are microseconds since 1970. Ids of sessions, compactions and jobs are the 16 bytes of a UUID.
-- Every table has an integer key of its own, so that a damaged file can be read past its damage.
-- Foreign keys are kept by the one writer, not by constraints: a recovered table stands alone.

CREATE TABLE sessions (
    number       INTEGER PRIMARY KEY,
    id           BLOB    NOT NULL UNIQUE,
    project_dir  TEXT    NOT NULL,
    title        TEXT,
    -- The title in lower case, for a search that knows more than ASCII.
    title_key    TEXT,
    titled       INTEGER NOT NULL DEFAULT 0,
    -- JSON array of strings.
    tags         TEXT    NOT NULL DEFAULT '[]',
    parent       BLOB,
    forked_at    INTEGER,
    model        TEXT    NOT NULL,
    state        TEXT    NOT NULL DEFAULT '{}',
    content_hash TEXT,
    last_seq     INTEGER NOT NULL DEFAULT 0,
    -- Messages after this one are not in message_terms yet: an append moves last_seq, and is marked.
    indexed_seq  INTEGER NOT NULL DEFAULT 0,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL
);

CREATE INDEX sessions_by_project ON sessions (project_dir);
CREATE INDEX sessions_by_parent  ON sessions (parent) WHERE parent IS NOT NULL;
CREATE INDEX sessions_by_hash    ON sessions (content_hash) WHERE content_hash IS NOT NULL;

CREATE TABLE messages (
    number     INTEGER PRIMARY KEY,
    session    BLOB    NOT NULL,
    seq        INTEGER NOT NULL,
    message_id TEXT    NOT NULL,
    -- 0 user, 1 assistant.
    role       INTEGER NOT NULL,
    recorded   INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    -- Of session, seq, id and raw: SQLite itself would not notice a bit that fell over.
    checksum   INTEGER NOT NULL,
    raw        BLOB    NOT NULL,
    UNIQUE (session, seq),
    UNIQUE (session, message_id)
);

-- Keeps no text: only which words are in which message, by its number. `session` holds one word, the
-- id of the session, so that a search meets the messages of one session alone. Positions are kept
-- (detail = full): without them and without text, bm25() sees no occurrence and ranks all alike.
CREATE VIRTUAL TABLE message_terms USING fts5 (
    session,
    user,
    assistant,
    tool_input,
    tool_result,
    content = '',
    contentless_delete = 1,
    tokenize = 'ascii'
);

-- Lines of imported files, cut around their message: head + raw + tail is the line again.
CREATE TABLE records (
    number   INTEGER PRIMARY KEY,
    session  BLOB    NOT NULL,
    line     INTEGER NOT NULL,
    -- Number of the message that holds raw; without one, raw is here.
    message  INTEGER,
    -- Of session, line and the whole line, wherever its bytes are.
    checksum INTEGER NOT NULL,
    head     BLOB    NOT NULL,
    raw      BLOB,
    tail     BLOB    NOT NULL,
    UNIQUE (session, line)
);

CREATE INDEX records_by_message ON records (message) WHERE message IS NOT NULL;

CREATE TABLE decisions (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    session    BLOB    NOT NULL,
    kind       TEXT    NOT NULL,
    data       TEXT    NOT NULL,
    made_after INTEGER NOT NULL,
    created_at INTEGER NOT NULL
);

CREATE INDEX decisions_by_session ON decisions (session, number);

CREATE TABLE compactions (
    number         INTEGER PRIMARY KEY,
    id             BLOB    NOT NULL UNIQUE,
    session        BLOB    NOT NULL,
    "trigger"      TEXT    NOT NULL,
    level          TEXT    NOT NULL,
    first_seq      INTEGER NOT NULL,
    last_seq       INTEGER NOT NULL,
    kept_from      INTEGER NOT NULL,
    made_after     INTEGER NOT NULL,
    tokens_before  INTEGER NOT NULL,
    tokens_after   INTEGER NOT NULL,
    summary        TEXT    NOT NULL,
    summary_tokens INTEGER NOT NULL,
    fidelity       REAL    NOT NULL,
    detail         TEXT    NOT NULL,
    created_at     INTEGER NOT NULL,
    undone_at      INTEGER
);

CREATE INDEX compactions_by_session ON compactions (session, number);

CREATE TABLE jobs (
    number      INTEGER PRIMARY KEY,
    id          BLOB    NOT NULL UNIQUE,
    kind        TEXT    NOT NULL,
    session     BLOB,
    payload     TEXT    NOT NULL,
    -- All other work goes first.
    background  INTEGER NOT NULL DEFAULT 0,
    -- 0 queued, 1 running, 2 done, 3 failed.
    state       INTEGER NOT NULL DEFAULT 0,
    owner       TEXT,
    lease_until INTEGER,
    attempts    INTEGER NOT NULL DEFAULT 0,
    done        INTEGER NOT NULL DEFAULT 0,
    total       INTEGER NOT NULL DEFAULT 0,
    unit        TEXT    NOT NULL DEFAULT '',
    watermark   TEXT,
    result      TEXT,
    error       TEXT,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL
);

CREATE INDEX jobs_unfinished ON jobs (background, created_at, number) WHERE state < 2;

-- Answers given under an idempotency key, kept for a day.
CREATE TABLE receipts (
    number      INTEGER PRIMARY KEY,
    key         TEXT    NOT NULL UNIQUE,
    fingerprint TEXT    NOT NULL,
    answer      TEXT    NOT NULL,
    created_at  INTEGER NOT NULL
);

CREATE INDEX receipts_by_age ON receipts (created_at);
