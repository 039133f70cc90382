-- Findings of the secret scan that a person allowed in a memory directory.

CREATE TABLE secret_allowances (
    number     INTEGER PRIMARY KEY,
    directory  TEXT    NOT NULL,
    -- The file that it was allowed in first.
    file       TEXT    NOT NULL,
    rule       TEXT    NOT NULL,
    -- Hash of the line that contains it.
    line       TEXT    NOT NULL,
    allowed_by TEXT    NOT NULL,
    allowed_at INTEGER NOT NULL,
    seal       INTEGER,
    UNIQUE (directory, rule, line)
);
