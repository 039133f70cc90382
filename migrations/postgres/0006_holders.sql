-- The channel on which the daemons of these tables send each other notifications. Any user of the database may listen to any
-- channel whose name is known, so the name is secret: only who may read the tables finds it.
ALTER TABLE database_state ADD COLUMN channel UUID NOT NULL DEFAULT gen_random_uuid();

-- Returns whether this connection may change a session: it is of the daemon that holds the session, or not of a daemon.
--
-- PostgreSQL makes a function a part of each statement that calls it, unless it contains a subquery. A call of such a
-- function takes longer than the rest of an append, so only the error has one.
CREATE FUNCTION is_own(holder BIGINT) RETURNS BOOLEAN LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT own_daemon() IS NULL OR own_daemon() IS NOT DISTINCT FROM holder
$$;

CREATE FUNCTION name_of_daemon(daemon BIGINT) RETURNS TEXT LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce((SELECT name FROM daemons WHERE number = daemon), 'no daemon')
$$;

CREATE OR REPLACE FUNCTION other_holder(holder BIGINT) RETURNS TEXT LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN NOT is_own(holder) THEN name_of_daemon(holder) END
$$;
