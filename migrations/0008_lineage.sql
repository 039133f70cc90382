-- Marks of the beginnings of conversations that clients resend with each request: which session a request
-- continues. They hold nothing that history does not, but whose requests may continue it.

CREATE TABLE lineage (
    number  INTEGER PRIMARY KEY,
    session BLOB    NOT NULL,
    -- The beginning's last message.
    seq     INTEGER NOT NULL,
    -- Whose requests are compared with it.
    scope   INTEGER NOT NULL,
    -- 16 bytes.
    mark    BLOB    NOT NULL,
    UNIQUE (session, seq)
);

CREATE INDEX lineage_by_mark ON lineage (mark);
CREATE INDEX lineage_beginnings ON lineage (scope, mark) WHERE seq = 1;
