-- The index of history, as postings of our own: a search ranks with neighbours, stretches and marks,
-- for which it must see every occurrence, and the table of FTS5 shows only its own score. What was
-- indexed is indexed again from history, in the background or by the first search.

DROP TABLE message_terms;

UPDATE sessions
SET indexed_seq = 0;

-- A session by the number under which postings know it. Never handed out twice: postings of a session
-- that is gone, or was indexed anew, stay behind until their segment is merged.
CREATE TABLE index_sessions (
    number   INTEGER PRIMARY KEY AUTOINCREMENT,
    session  BLOB    NOT NULL UNIQUE,
    -- Messages indexed, and their terms together.
    messages INTEGER NOT NULL DEFAULT 0,
    terms    INTEGER NOT NULL DEFAULT 0
);

-- Postings are written a segment at a time and never changed; small segments are merged into larger
-- ones, so that a message is written again a few times at most, however long the history.
CREATE TABLE index_segments (
    number        INTEGER PRIMARY KEY AUTOINCREMENT,
    -- 0 being written, 1 searched, 2 to be removed.
    state         INTEGER NOT NULL,
    pages         INTEGER NOT NULL,
    -- Holds postings of a session that is gone.
    stale         INTEGER NOT NULL DEFAULT 0,
    first_session INTEGER NOT NULL,
    last_session  INTEGER NOT NULL
);

-- Terms in order, each with its postings; a term with many of them goes on in the next pages.
CREATE TABLE index_pages (
    number  INTEGER PRIMARY KEY,
    segment INTEGER NOT NULL,
    -- Of the first posting: term, a zero byte, session and place, highest byte first.
    first   BLOB    NOT NULL,
    body    BLOB    NOT NULL
);

CREATE INDEX index_pages_by_first ON index_pages (segment, first);
