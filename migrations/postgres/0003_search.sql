-- The index of history, in the format of SQLite's store.
--
-- A segment is written in one transaction and then never changed, except for its mark, so it needs no state.

-- A session by the number under which postings know it, which is never used again.
CREATE TABLE index_sessions (
    number   BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session  UUID   NOT NULL UNIQUE,
    -- Number of indexed messages, and of the terms in them.
    messages BIGINT NOT NULL DEFAULT 0,
    terms    BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE index_segments (
    number        BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    pages         BIGINT  NOT NULL,
    -- Has postings of a deleted session.
    stale         BOOLEAN NOT NULL DEFAULT FALSE,
    first_session BIGINT  NOT NULL,
    last_session  BIGINT  NOT NULL
);

-- Terms in order, each with its postings; a term with many of them continues in the next pages.
CREATE TABLE index_pages (
    number  BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    segment BIGINT NOT NULL REFERENCES index_segments (number) ON DELETE CASCADE,
    -- Of the first posting: term, a zero byte, session and seq, highest byte first.
    first   BYTEA  NOT NULL,
    body    BYTEA  NOT NULL
);

CREATE INDEX index_pages_by_first ON index_pages (segment, first);

-- Postings are compact already.
ALTER TABLE index_pages ALTER COLUMN body SET STORAGE EXTERNAL;
