-- The channel on which the daemons of these tables send each other notifications. Any user of the database may listen to any
-- channel whose name is known, so the name is secret: only users who may read the tables can find it.
ALTER TABLE database_state ADD COLUMN channel UUID NOT NULL DEFAULT gen_random_uuid();

-- Returns whether this connection may change a session: it belongs to the daemon that holds the session, or to no daemon.
--
-- PostgreSQL inlines an SQL function unless it contains a subquery. Calling one that is not inlined takes longer than the rest
-- of an append, so `name_of_daemon` is called only if another daemon holds the session.
CREATE FUNCTION is_own(holder BIGINT) RETURNS BOOLEAN LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT own_daemon() IS NULL OR own_daemon() IS NOT DISTINCT FROM holder
$$;

CREATE FUNCTION name_of_daemon(daemon BIGINT) RETURNS TEXT LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce((SELECT name FROM daemons WHERE number = daemon), 'no daemon')
$$;

CREATE OR REPLACE FUNCTION other_holder(holder BIGINT) RETURNS TEXT LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN NOT is_own(holder) THEN name_of_daemon(holder) END
$$;
