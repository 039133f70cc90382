-- Memory, teams, hooks and recording.

CREATE TABLE memory_versions (
    number    BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Project and scope.
    directory TEXT   COLLATE "C" NOT NULL,
    file      TEXT   COLLATE "C" NOT NULL,
    -- Number of the version within its file, from 1.
    version   BIGINT NOT NULL,
    hash      TEXT   NOT NULL,
    -- NULL: the file was removed.
    content   BYTEA,
    author    TEXT   NOT NULL,
    session   UUID,
    note      TEXT   NOT NULL,
    at        BIGINT NOT NULL,
    UNIQUE (directory, file, version)
);

CREATE INDEX memory_versions_by_directory ON memory_versions (directory, number);

CREATE TABLE extraction_marks (
    number      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session     UUID   NOT NULL UNIQUE,
    through_seq BIGINT NOT NULL
);

CREATE TABLE extraction_plans (
    number      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session     UUID   NOT NULL UNIQUE,
    strategy    TEXT   NOT NULL,
    through_seq BIGINT NOT NULL
);

CREATE TABLE extraction_plan_writes (
    number   BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session  UUID    NOT NULL,
    proposed BOOLEAN NOT NULL,
    name     TEXT    NOT NULL,
    replaces TEXT,
    text     TEXT    NOT NULL,
    sentence TEXT,
    seq      BIGINT
);

CREATE INDEX extraction_plan_writes_by_session ON extraction_plan_writes (session, number);

CREATE TABLE candidates (
    number      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id          UUID   NOT NULL UNIQUE,
    project_dir TEXT   COLLATE "C" NOT NULL,
    session     UUID   NOT NULL,
    seq         BIGINT NOT NULL,
    message     TEXT,
    sentence    TEXT   NOT NULL,
    context     TEXT,
    kind        TEXT   NOT NULL,
    rule        TEXT   NOT NULL,
    score       BIGINT NOT NULL,
    said_at     BIGINT NOT NULL,
    found_at    BIGINT NOT NULL,
    -- 0 waiting, 1 kept, 2 dropped.
    state       BIGINT NOT NULL,
    decided_at  BIGINT,
    decided_by  TEXT,
    topic       TEXT,
    -- JSON array of strings.
    offers      TEXT   NOT NULL
);

CREATE INDEX candidates_by_project ON candidates USING hash (project_dir);
CREATE INDEX candidates_by_session ON candidates (session);

CREATE TABLE candidate_overflow (
    number      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_dir TEXT   COLLATE "C" NOT NULL UNIQUE,
    removed     BIGINT NOT NULL
);

CREATE TABLE refused_statements (
    number     BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project    TEXT    COLLATE "C" NOT NULL,
    -- Hash of the words, which may be too long for an index.
    words_hash BYTEA   NOT NULL,
    -- JSON array of word stems, sorted.
    words      TEXT    COLLATE "C" NOT NULL,
    negative   BOOLEAN NOT NULL,
    refused_at BIGINT  NOT NULL,
    UNIQUE (project, words_hash, negative)
);

CREATE TABLE secret_allowances (
    number     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    directory  TEXT   COLLATE "C" NOT NULL,
    file       TEXT   NOT NULL,
    rule       TEXT   COLLATE "C" NOT NULL,
    line       TEXT   COLLATE "C" NOT NULL,
    allowed_by TEXT   NOT NULL,
    allowed_at BIGINT NOT NULL,
    UNIQUE (directory, rule, line)
);

CREATE TABLE topic_vectors (
    number  BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project TEXT   COLLATE "C" NOT NULL,
    topic   TEXT   COLLATE "C" NOT NULL,
    hash    TEXT   NOT NULL,
    encoder TEXT   NOT NULL,
    vectors BYTEA  NOT NULL,
    UNIQUE (project, topic)
);

CREATE TABLE last_dreams (
    number  BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project TEXT   COLLATE "C" NOT NULL UNIQUE,
    at      BIGINT,
    dream   TEXT
);

-- One row.
CREATE TABLE lock_names (
    number BIGINT PRIMARY KEY CHECK (number = 1),
    name   TEXT   NOT NULL
);

CREATE TABLE import_approvals (
    number      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project     TEXT   COLLATE "C" NOT NULL,
    path        TEXT   COLLATE "C" NOT NULL,
    approved_at BIGINT NOT NULL,
    UNIQUE (project, path)
);

CREATE TABLE proposals (
    number          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id              UUID   NOT NULL UNIQUE,
    project_dir     TEXT   COLLATE "C" NOT NULL,
    name            TEXT   NOT NULL,
    text            TEXT   NOT NULL,
    replaces        TEXT,
    proposed_by     TEXT   NOT NULL,
    source_session  TEXT,
    source_messages TEXT,
    source_strategy TEXT,
    source_time     TEXT,
    -- 0 open, 1 approved, 2 rejected.
    state           BIGINT NOT NULL,
    proposed_at     BIGINT NOT NULL,
    decided_at      BIGINT
);

CREATE INDEX proposals_by_project ON proposals USING hash (project_dir);

CREATE TABLE team_bases (
    number  BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project TEXT   COLLATE "C" NOT NULL,
    file    TEXT   COLLATE "C" NOT NULL,
    blob    TEXT,
    UNIQUE (project, file)
);

CREATE TABLE team_places (
    number  BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project TEXT   COLLATE "C" NOT NULL UNIQUE,
    dir     TEXT   NOT NULL
);

CREATE TABLE transcript_positions (
    number      BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session     UUID    NOT NULL,
    path        TEXT    COLLATE "C" NOT NULL,
    bytes       BIGINT  NOT NULL,
    hash        TEXT    NOT NULL,
    through_seq BIGINT  NOT NULL,
    elsewhere   BOOLEAN NOT NULL,
    UNIQUE (session, path)
);

CREATE TABLE transcript_places (
    number  BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    agent   TEXT   COLLATE "C" NOT NULL,
    path    TEXT   COLLATE "C" NOT NULL,
    read_at BIGINT NOT NULL,
    UNIQUE (agent, path)
);

CREATE TABLE delivered_memories (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    client TEXT   COLLATE "C" NOT NULL,
    key    TEXT   COLLATE "C" NOT NULL,
    -- JSON array of strings.
    names  TEXT   NOT NULL,
    bytes  BIGINT NOT NULL,
    UNIQUE (client, key)
);

CREATE TABLE pauses (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    since  BIGINT NOT NULL UNIQUE,
    until  BIGINT
);

CREATE TABLE unrecorded_marks (
    number   BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    mark     TEXT   COLLATE "C" NOT NULL UNIQUE,
    added_at BIGINT NOT NULL
);
