-- Spans of a session that have a short text, which stands for them once they are committed. The texts
-- that prompts show are in the decisions; this is what is prepared, listed and looked behind.

CREATE TABLE collapses (
    number          INTEGER PRIMARY KEY,
    -- A fork has its parent's spans under their ids: its decisions name them.
    id              BLOB    NOT NULL,
    session         BLOB    NOT NULL,
    first_seq       INTEGER NOT NULL,
    last_seq        INTEGER NOT NULL,
    text            TEXT    NOT NULL,
    tokens_before   INTEGER NOT NULL,
    tokens          INTEGER NOT NULL,
    strategy        TEXT    NOT NULL,
    -- Newest message when the text was written, and when it was first shown.
    staged_after    INTEGER NOT NULL,
    staged_at       INTEGER NOT NULL,
    committed_after INTEGER,
    committed_at    INTEGER,
    UNIQUE (session, id)
);

CREATE INDEX collapses_by_place ON collapses (session, first_seq);
