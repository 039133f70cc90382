-- The daemon that writes to the database, and when the rows were last checked.
--
-- A daemon holds an advisory lock as long as it runs. The lock alone is not enough: a daemon that was cut off from the
-- server may lose it before it notices. So each daemon that takes the lock increases `fence`, and each transaction that writes
-- checks that the number is still its own.
CREATE TABLE database_state (
    only_row   BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (only_row),
    fence      BIGINT  NOT NULL DEFAULT 0,
    -- The daemon that has this number, for the error message of another one.
    holder     TEXT    NOT NULL DEFAULT '',
    checked_at BIGINT,
    -- Increased to test whether the database can be written to.
    probes     BIGINT  NOT NULL DEFAULT 0
);

INSERT INTO database_state DEFAULT VALUES;

-- Fails if another daemon has taken the database. Keeps others from taking it until the end of the transaction.
CREATE FUNCTION check_fence(lock_key BIGINT, own BIGINT) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(lock_key);
    -- A statement of its own, so that it sees what was committed while this one waited for the lock.
    IF own IS DISTINCT FROM (SELECT fence FROM database_state) THEN
        RAISE EXCEPTION USING
            ERRCODE = 'BT001',
            MESSAGE = (SELECT holder FROM database_state);
    END IF;
END
$$;

-- Takes the database for a daemon, after the transactions of an earlier one have ended. Returns the daemon's number. It
-- grows by a random amount: after a failover to a server that lacks the newest commits, no two daemons have the same one.
CREATE FUNCTION take_fence(lock_key BIGINT, name TEXT) RETURNS BIGINT LANGUAGE plpgsql AS $$
DECLARE
    taken BIGINT;
BEGIN
    PERFORM pg_advisory_xact_lock(lock_key);
    UPDATE database_state
    SET fence  = fence + 1 + floor(random() * 4294967296)::BIGINT,
        holder = name
    RETURNING fence INTO taken;
    RETURN taken;
END
$$;
