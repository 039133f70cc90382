-- What the daemon knows of a session's notes. The file that a person reads lies beside the database and
-- is written after this row: `text` is what it is to hold, `replaced` tells what it held before.

CREATE TABLE notes (
    number      INTEGER PRIMARY KEY,
    session     BLOB    NOT NULL UNIQUE,
    text        TEXT    NOT NULL,
    -- Hash of the file when this was written; empty if there was none.
    replaced    TEXT    NOT NULL,
    -- JSON of the daemon's own lines, and of those that a person removed.
    written     TEXT    NOT NULL,
    -- Newest message that the notes cover, and the tokens of history through it.
    through_seq INTEGER NOT NULL,
    tokens      INTEGER NOT NULL,
    strategy    TEXT    NOT NULL,
    updated_at  INTEGER NOT NULL
);
