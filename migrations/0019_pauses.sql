-- When nothing was recorded, and the conversations that are therefore not recorded any more.

CREATE TABLE pauses (
    number INTEGER PRIMARY KEY,
    since  INTEGER NOT NULL UNIQUE,
    -- NULL: until somebody ends it.
    until  INTEGER,
    seal   INTEGER
);

CREATE TABLE unrecorded_marks (
    number   INTEGER PRIMARY KEY,
    -- Identifies the beginning of a conversation, or a client's session, as 32 hexadecimal digits.
    mark     TEXT    NOT NULL UNIQUE,
    added_at INTEGER NOT NULL,
    seal     INTEGER
);
