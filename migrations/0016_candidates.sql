-- Statements that may be worth remembering, and wait until a person, an agent or a second session decides.

CREATE TABLE candidates (
    number      INTEGER PRIMARY KEY,
    -- Derived from session, message and sentence, so that none is added twice.
    id          BLOB    NOT NULL UNIQUE,
    project_dir TEXT    NOT NULL,
    session     BLOB    NOT NULL,
    seq         INTEGER NOT NULL,
    -- Id of the message; NULL if it is not known.
    message     TEXT,
    sentence    TEXT    NOT NULL,
    -- The sentence before it.
    context     TEXT,
    kind        TEXT    NOT NULL,
    rule        TEXT    NOT NULL,
    score       INTEGER NOT NULL,
    said_at     INTEGER NOT NULL,
    found_at    INTEGER NOT NULL,
    -- 0 waiting, 1 kept, 2 dropped.
    state       INTEGER NOT NULL,
    decided_at  INTEGER,
    decided_by  TEXT,
    -- Name of the topic that was written from it.
    topic       TEXT,
    -- JSON array with the conversations in which an agent was asked about it.
    offers      TEXT    NOT NULL,
    seal        INTEGER
);

CREATE INDEX candidates_by_project ON candidates (project_dir, state, number);
CREATE INDEX candidates_by_session ON candidates (session);

-- How many waiting candidates of a project gave way to newer ones.
CREATE TABLE candidate_overflow (
    number      INTEGER PRIMARY KEY,
    project_dir TEXT    NOT NULL UNIQUE,
    removed     INTEGER NOT NULL
);
