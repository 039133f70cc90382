-- Where agents keep transcripts that are read on while the daemon runs: a directory, or a database.

CREATE TABLE transcript_places (
    number  INTEGER PRIMARY KEY,
    agent   TEXT    NOT NULL,
    path    TEXT    NOT NULL,
    -- When everything in it had been read.
    read_at INTEGER NOT NULL,
    seal    INTEGER,
    UNIQUE (agent, path)
);
