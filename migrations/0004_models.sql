-- Calls of models that the daemon made: what each cost, and whether it was answered. Rows are only added.
-- They outlive their session: what was spent stays spent.

CREATE TABLE model_calls (
    number      INTEGER PRIMARY KEY,
    id          BLOB    NOT NULL UNIQUE,
    session     BLOB,
    purpose     TEXT    NOT NULL,
    provider    TEXT    NOT NULL,
    model       TEXT    NOT NULL,
    started_at  INTEGER NOT NULL,
    millis      INTEGER NOT NULL,
    input       INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    -- Millionths of a US dollar; none where the model has no known price.
    cost        INTEGER,
    -- "ok", or the class of the error.
    outcome     TEXT    NOT NULL
);

CREATE INDEX model_calls_by_time    ON model_calls (started_at);
CREATE INDEX model_calls_by_session ON model_calls (session, started_at) WHERE session IS NOT NULL;
