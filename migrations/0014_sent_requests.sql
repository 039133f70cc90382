-- What a session's last request had besides its messages, so that bethink's own calls repeat its bytes after a restart.
-- The breakpoints move with each request, the rest hardly ever changes: so they have a table of their own.

CREATE TABLE sent_requests (
    number     INTEGER PRIMARY KEY,
    session    BLOB    NOT NULL UNIQUE,
    -- JSON with system, tools and parameters; its shape belongs to the session service.
    frame      TEXT    NOT NULL,
    updated_at INTEGER NOT NULL,
    seal       INTEGER
);

CREATE TABLE sent_marks (
    number     INTEGER PRIMARY KEY,
    session    BLOB    NOT NULL UNIQUE,
    -- JSON of the breakpoints.
    marks      TEXT    NOT NULL,
    updated_at INTEGER NOT NULL,
    seal       INTEGER
);
