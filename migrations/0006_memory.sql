-- Persistent memory. The files are the truth and lie elsewhere; here is what they held, and what features
-- remember beside them.

-- What a memory file held: kept when the daemon writes over it, and when the daemon wrote it.
CREATE TABLE memory_versions (
    number    INTEGER PRIMARY KEY,
    -- Project and scope.
    directory TEXT    NOT NULL,
    file      TEXT    NOT NULL,
    hash      TEXT    NOT NULL,
    -- NULL: the file was removed.
    content   BLOB,
    author    TEXT    NOT NULL,
    session   BLOB,
    note      TEXT    NOT NULL,
    at        INTEGER NOT NULL
);

CREATE INDEX memory_versions_by_file ON memory_versions (directory, file, number);

-- Small things that outlive a session: approvals, refusals, proposals, marks. One JSON value each.
CREATE TABLE kept (
    number INTEGER PRIMARY KEY,
    space  TEXT    NOT NULL,
    owner  TEXT    NOT NULL,
    key    TEXT    NOT NULL,
    value  TEXT    NOT NULL,
    at     INTEGER NOT NULL,
    UNIQUE (space, owner, key)
);
