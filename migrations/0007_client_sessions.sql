-- Clients that know nothing of bethink have session ids of their own: which of ours they mean.

CREATE TABLE client_sessions (
    number  INTEGER PRIMARY KEY,
    -- The client, such as 'claude-code', and its own id of the session.
    client  TEXT    NOT NULL,
    key     TEXT    NOT NULL,
    session BLOB    NOT NULL,
    UNIQUE (client, key)
);

CREATE INDEX client_sessions_by_session ON client_sessions (session);
