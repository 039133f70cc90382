-- The tables of the store on PostgreSQL. They have the names and columns of those on SQLite, whose migrations explain them.
--
-- Times are microseconds since 1970. Text that lists are sorted by has the collation "C", so that the order does not depend
-- on the server's locale.

CREATE TABLE sessions (
    number       BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id           UUID    NOT NULL UNIQUE,
    project_dir  TEXT    COLLATE "C" NOT NULL,
    title        TEXT,
    -- The title in lower case.
    title_key    TEXT,
    titled       BOOLEAN NOT NULL DEFAULT FALSE,
    -- JSON array of strings, and the same as an array for filters.
    tags         TEXT    NOT NULL DEFAULT '[]',
    tag_keys     TEXT[]  NOT NULL DEFAULT '{}',
    parent       UUID,
    forked_at    BIGINT,
    model        TEXT    NOT NULL,
    state        TEXT    NOT NULL DEFAULT '{}',
    content_hash TEXT,
    last_seq     BIGINT  NOT NULL DEFAULT 0,
    indexed_seq  BIGINT  NOT NULL DEFAULT 0,
    created_at   BIGINT  NOT NULL,
    updated_at   BIGINT  NOT NULL
);

-- No index has a column that appends change: PostgreSQL would then update every index of the row.
CREATE INDEX sessions_by_project ON sessions USING hash (project_dir);
CREATE INDEX sessions_by_parent  ON sessions (parent) WHERE parent IS NOT NULL;
CREATE INDEX sessions_by_hash    ON sessions USING hash (content_hash) WHERE content_hash IS NOT NULL;

CREATE TABLE messages (
    number     BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session    UUID    NOT NULL,
    seq        BIGINT  NOT NULL,
    message_id TEXT    COLLATE "C" NOT NULL,
    -- 0 user, 1 assistant.
    role       BIGINT  NOT NULL,
    recorded   BOOLEAN NOT NULL,
    created_at BIGINT  NOT NULL,
    -- The same checksum as on SQLite: of session, seq, id, role, recorded, time and raw.
    checksum   BIGINT  NOT NULL,
    raw        BYTEA   NOT NULL,
    UNIQUE (session, seq),
    UNIQUE (session, message_id)
);

-- Lines of imported files: head + raw + tail is the line.
CREATE TABLE records (
    number   BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session  UUID   NOT NULL,
    line     BIGINT NOT NULL,
    -- Number of the message that holds raw; without one, raw is here.
    message  BIGINT,
    checksum BIGINT NOT NULL,
    head     BYTEA  NOT NULL,
    raw      BYTEA,
    tail     BYTEA  NOT NULL,
    UNIQUE (session, line)
);

CREATE INDEX records_by_message ON records (message) WHERE message IS NOT NULL;

CREATE TABLE decisions (
    number     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session    UUID   NOT NULL,
    kind       TEXT   NOT NULL,
    data       TEXT   NOT NULL,
    made_after BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE INDEX decisions_by_session ON decisions (session, number);

CREATE TABLE compactions (
    number         BIGINT           GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id             UUID             NOT NULL UNIQUE,
    session        UUID             NOT NULL,
    trigger        TEXT             NOT NULL,
    level          TEXT             NOT NULL,
    first_seq      BIGINT           NOT NULL,
    last_seq       BIGINT           NOT NULL,
    kept_from      BIGINT           NOT NULL,
    made_after     BIGINT           NOT NULL,
    tokens_before  BIGINT           NOT NULL,
    tokens_after   BIGINT           NOT NULL,
    summary        TEXT             NOT NULL,
    summary_tokens BIGINT           NOT NULL,
    fidelity       DOUBLE PRECISION NOT NULL,
    detail         TEXT             NOT NULL,
    created_at     BIGINT           NOT NULL,
    undone_at      BIGINT
);

CREATE INDEX compactions_by_session ON compactions (session, number);

CREATE TABLE collapses (
    number          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id              UUID   NOT NULL,
    session         UUID   NOT NULL,
    first_seq       BIGINT NOT NULL,
    last_seq        BIGINT NOT NULL,
    text            TEXT   NOT NULL,
    tokens_before   BIGINT NOT NULL,
    tokens          BIGINT NOT NULL,
    strategy        TEXT   NOT NULL,
    staged_after    BIGINT NOT NULL,
    staged_at       BIGINT NOT NULL,
    committed_after BIGINT,
    committed_at    BIGINT,
    UNIQUE (session, id)
);

CREATE INDEX collapses_by_place ON collapses (session, first_seq);

CREATE TABLE client_sessions (
    number  BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    client  TEXT   COLLATE "C" NOT NULL,
    key     TEXT   COLLATE "C" NOT NULL,
    session UUID   NOT NULL,
    UNIQUE (client, key)
);

CREATE INDEX client_sessions_by_session ON client_sessions (session);

CREATE TABLE lineage (
    number  BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session UUID   NOT NULL,
    -- The last message of the prefix.
    seq     BIGINT NOT NULL,
    scope   BIGINT NOT NULL,
    -- 16 bytes.
    mark    BYTEA  NOT NULL,
    UNIQUE (session, seq)
);

CREATE INDEX lineage_by_mark    ON lineage (mark);
CREATE INDEX lineage_beginnings ON lineage (scope, mark) WHERE seq = 1;

CREATE TABLE notes (
    number      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session     UUID   NOT NULL UNIQUE,
    text        TEXT   NOT NULL,
    replaced    TEXT   NOT NULL,
    written     TEXT   NOT NULL,
    through_seq BIGINT NOT NULL,
    tokens      BIGINT NOT NULL,
    strategy    TEXT   NOT NULL,
    updated_at  BIGINT NOT NULL
);

CREATE TABLE sent_requests (
    number     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session    UUID   NOT NULL UNIQUE,
    frame      TEXT   NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE TABLE sent_marks (
    number     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session    UUID   NOT NULL UNIQUE,
    marks      TEXT   NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE TABLE jobs (
    number      BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id          UUID    NOT NULL UNIQUE,
    kind        TEXT    NOT NULL,
    session     UUID,
    payload     TEXT    NOT NULL,
    background  BOOLEAN NOT NULL DEFAULT FALSE,
    -- 0 queued, 1 running, 2 done, 3 failed.
    state       BIGINT  NOT NULL DEFAULT 0,
    owner       TEXT,
    lease_until BIGINT,
    attempts    BIGINT  NOT NULL DEFAULT 0,
    done        BIGINT  NOT NULL DEFAULT 0,
    total       BIGINT  NOT NULL DEFAULT 0,
    unit        TEXT    NOT NULL DEFAULT '',
    watermark   TEXT,
    result      TEXT,
    error       TEXT,
    created_at  BIGINT  NOT NULL,
    updated_at  BIGINT  NOT NULL
);

CREATE INDEX jobs_unfinished ON jobs (background, created_at, number) WHERE state < 2;

-- Answers given under an idempotency key, kept for a day.
CREATE TABLE receipts (
    number      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key         TEXT   COLLATE "C" NOT NULL UNIQUE,
    fingerprint TEXT   NOT NULL,
    answer      TEXT   NOT NULL,
    created_at  BIGINT NOT NULL
);

CREATE INDEX receipts_by_age ON receipts (created_at);

CREATE TABLE model_calls (
    number      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id          UUID   NOT NULL UNIQUE,
    session     UUID,
    purpose     TEXT   COLLATE "C" NOT NULL,
    provider    TEXT   NOT NULL,
    model       TEXT   COLLATE "C" NOT NULL,
    started_at  BIGINT NOT NULL,
    millis      BIGINT NOT NULL,
    input       BIGINT NOT NULL,
    output      BIGINT NOT NULL,
    cache_read  BIGINT NOT NULL,
    cache_write BIGINT NOT NULL,
    -- Millionths of a US dollar; NULL if the model has no known price.
    cost        BIGINT,
    -- "ok", or the class of the error.
    outcome     TEXT   NOT NULL
);

CREATE INDEX model_calls_by_time    ON model_calls (started_at);
CREATE INDEX model_calls_by_session ON model_calls (session, started_at) WHERE session IS NOT NULL;
