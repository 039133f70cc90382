-- The tables for history that people share with their team, in the schema `bethink_team`.
--
-- An administrator runs this file as a superuser, in the database that the team's daemons use, and again after an update of
-- bethink that needs newer tables. Running it again changes nothing.
--
-- Everybody who may connect to the database may use the schema, but row level security shows a row only to the members of its
-- project. A person is identified by the login. The owner of the tables cannot log in.
--
-- Contributors can also write rows with programs other than bethink. So constraints limit the size and the values of each row, and
-- nobody gets UPDATE or DELETE on a whole table, which would allow LOCK TABLE to block others.

BEGIN;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'bethink_team') THEN
        CREATE ROLE bethink_team NOLOGIN;
    END IF;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'bethink_team' AND rolcanlogin) THEN
        RAISE EXCEPTION 'the role bethink_team can log in, but it must not: its rights are those of the tables'' owner';
    END IF;
    IF EXISTS (
        SELECT
        FROM pg_namespace
        WHERE nspname = 'bethink_team'
          AND nspowner <> 'bethink_team'::regrole
    ) THEN
        RAISE EXCEPTION 'the schema bethink_team belongs to another role; rename or drop it';
    END IF;
END
$$;

CREATE SCHEMA IF NOT EXISTS bethink_team AUTHORIZATION bethink_team;

SET LOCAL ROLE bethink_team;
SET LOCAL search_path = bethink_team, pg_catalog, pg_temp;

-- The version of these tables.
CREATE TABLE IF NOT EXISTS version (
    only_row BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (only_row),
    version  BIGINT  NOT NULL
);

INSERT INTO version (version)
VALUES (1)
ON CONFLICT (only_row) DO UPDATE
SET version = greatest(version.version, excluded.version);

CREATE TABLE IF NOT EXISTS projects (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name   TEXT   COLLATE "C" NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 500)
);

-- The members of a project. A reader only reads, a contributor also shares sessions, and an admin also chooses the members, and
-- may remove any shared session.
CREATE TABLE IF NOT EXISTS members (
    project BIGINT NOT NULL REFERENCES projects ON DELETE CASCADE,
    -- The login.
    person  TEXT   COLLATE "C" NOT NULL,
    role    TEXT   NOT NULL CHECK (role IN ('reader', 'contributor', 'admin')),
    PRIMARY KEY (project, person)
);

CREATE INDEX IF NOT EXISTS members_by_person ON members (person);

-- Copies of sessions. Their ids are those of the original ones.
CREATE TABLE IF NOT EXISTS sessions (
    id         UUID   PRIMARY KEY,
    project    BIGINT NOT NULL REFERENCES projects ON DELETE CASCADE,
    person     TEXT   COLLATE "C" NOT NULL DEFAULT session_user,
    title      TEXT   CHECK (length(title) <= 10000),
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    -- The last message that was copied.
    last_seq   BIGINT NOT NULL CHECK (last_seq BETWEEN 0 AND 5000000),
    -- Number of indexed messages, and of the terms in them.
    messages   BIGINT NOT NULL CHECK (messages BETWEEN 0 AND last_seq),
    terms      BIGINT NOT NULL CHECK (terms BETWEEN 0 AND 1000000000000),
    -- Number of messages from which secrets were removed.
    redacted   BIGINT NOT NULL CHECK (redacted BETWEEN 0 AND last_seq),
    -- An admin has removed the messages. The row stays, so that they are not copied again.
    is_removed BOOLEAN NOT NULL DEFAULT FALSE,
    UNIQUE (id, project, person)
);

CREATE INDEX IF NOT EXISTS sessions_by_project ON sessions (project);

CREATE TABLE IF NOT EXISTS messages (
    session    UUID   NOT NULL,
    seq        BIGINT NOT NULL CHECK (seq BETWEEN 1 AND 5000000),
    project    BIGINT NOT NULL,
    person     TEXT   COLLATE "C" NOT NULL DEFAULT session_user,
    message_id TEXT   NOT NULL CHECK (length(message_id) BETWEEN 1 AND 1000),
    -- 0 user, 1 assistant.
    role       BIGINT NOT NULL CHECK (role IN (0, 1)),
    created_at BIGINT NOT NULL,
    raw        BYTEA  NOT NULL CHECK (octet_length(raw) <= 100000000),
    PRIMARY KEY (session, seq),
    FOREIGN KEY (session, project, person) REFERENCES sessions (id, project, person) ON DELETE CASCADE
);

-- The index: where a term occurs in a session. Row level security uses an index only for comparisons that reveal nothing about
-- hidden rows. Comparisons of text qualify; those of arrays and `tsvector` do not.
CREATE TABLE IF NOT EXISTS postings (
    project  BIGINT NOT NULL,
    term     TEXT   COLLATE "C" NOT NULL CHECK (octet_length(term) BETWEEN 1 AND 220),
    session  UUID   NOT NULL,
    person   TEXT   COLLATE "C" NOT NULL DEFAULT session_user,
    -- Six bytes for each message: seq, counts, length.
    places   BYTEA  NOT NULL CHECK (octet_length(places) <= 30000000 AND octet_length(places) % 6 = 0),
    PRIMARY KEY (project, term, session),
    FOREIGN KEY (session, project, person) REFERENCES sessions (id, project, person) ON DELETE CASCADE
);

CREATE INDEX IF NOT EXISTS postings_by_session ON postings (session);

-- Returns the projects in which the login has one of these roles. Runs as the owner, for whom there is no row level security.
CREATE OR REPLACE FUNCTION own_projects(roles TEXT[]) RETURNS BIGINT[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = bethink_team, pg_catalog, pg_temp AS $$
    SELECT coalesce(array_agg(project), '{}')
    FROM members
    WHERE person = session_user
      AND role = ANY (roles)
$$;

-- Returns the number of a project in which the login may share sessions. A new project is created, with the login as its
-- admin.
CREATE OR REPLACE FUNCTION open_project(wanted TEXT) RETURNS BIGINT
LANGUAGE plpgsql SECURITY DEFINER SET search_path = bethink_team, pg_catalog, pg_temp AS $$
DECLARE
    opened BIGINT;
BEGIN
    INSERT INTO projects (name)
    VALUES (wanted)
    ON CONFLICT (name) DO NOTHING
    RETURNING number INTO opened;
    IF opened IS NOT NULL THEN
        INSERT INTO members (project, person, role) VALUES (opened, session_user, 'admin');
        RETURN opened;
    END IF;
    SELECT number INTO opened
    FROM projects
    WHERE name = wanted
      AND number = ANY (own_projects('{contributor,admin}'));
    IF opened IS NULL THEN
        RAISE EXCEPTION USING
            ERRCODE = 'BT010',
            MESSAGE = format(
                'could not share sessions in the team project %2$s: %1$s is not a contributor or an admin of it; ask an admin to run `bethink team history add-member %1$s --role contributor --team-project %2$s`',
                session_user, wanted
            );
    END IF;
    RETURN opened;
END
$$;

-- Sets the role of a login in a project, or removes the login from the project if the role is NULL. Admins cannot change their own role, so that each
-- project has an admin.
CREATE OR REPLACE FUNCTION set_role(name_of_project TEXT, changed TEXT, new_role TEXT) RETURNS VOID
LANGUAGE plpgsql SECURITY DEFINER SET search_path = bethink_team, pg_catalog, pg_temp AS $$
DECLARE
    opened BIGINT;
    wrong TEXT;
BEGIN
    -- Locked, because two admins could remove each other at the same time.
    SELECT number INTO opened
    FROM projects
    WHERE name = name_of_project
      AND number = ANY (own_projects('{admin}'))
    FOR NO KEY UPDATE;
    CASE
        WHEN opened IS NULL OR opened <> ALL (own_projects('{admin}')) THEN
            wrong := format('there is no team project %s, or you are not an admin of it; ask an admin to do this', name_of_project);
        WHEN changed = session_user THEN
            wrong := 'you cannot change your own role or remove yourself from the project; ask another admin';
        WHEN new_role IS NULL THEN
            DELETE FROM members WHERE project = opened AND person = changed;
            IF NOT FOUND THEN
                wrong := format('%s is not a member of %s', changed, name_of_project);
            END IF;
        WHEN NOT EXISTS (SELECT FROM pg_roles WHERE rolname = changed AND rolcanlogin) THEN
            wrong := format('the database has no login %s; check the name, or ask the administrator of the database to create it', changed);
        ELSE
            INSERT INTO members (project, person, role)
            VALUES (opened, changed, new_role)
            ON CONFLICT (project, person) DO UPDATE
            SET role = excluded.role;
    END CASE;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'BT010', MESSAGE = wrong;
    END IF;
END
$$;

-- Removes the login's own copies, even if it is no longer a member. Returns their number.
CREATE OR REPLACE FUNCTION withdraw(withdrawn UUID[]) RETURNS BIGINT
LANGUAGE sql SECURITY DEFINER SET search_path = bethink_team, pg_catalog, pg_temp AS $$
    WITH deleted AS (
        DELETE FROM sessions
        WHERE id = ANY (withdrawn)
          AND person = session_user
          AND NOT is_removed
        RETURNING id
    )
    SELECT count(*) FROM deleted
$$;

-- Removes the messages of a copy, if the login is an admin of its project. Returns whether it did.
CREATE OR REPLACE FUNCTION remove_session(removed UUID) RETURNS BOOLEAN
LANGUAGE plpgsql SECURITY DEFINER SET search_path = bethink_team, pg_catalog, pg_temp AS $$
BEGIN
    UPDATE sessions
    SET is_removed = TRUE,
        title      = NULL
    WHERE id = removed
      AND project = ANY (own_projects('{admin}'));
    IF NOT FOUND THEN
        RETURN FALSE;
    END IF;
    DELETE FROM messages WHERE session = removed;
    DELETE FROM postings WHERE session = removed;
    RETURN TRUE;
END
$$;

DO $$
DECLARE
    item     TEXT;
    readable TEXT := 'ANY ((SELECT bethink_team.own_projects(''{reader,contributor,admin}''))::BIGINT[])';
    writable TEXT := 'ANY ((SELECT bethink_team.own_projects(''{contributor,admin}''))::BIGINT[])';
BEGIN
    FOREACH item IN ARRAY ARRAY['projects', 'members', 'sessions', 'messages', 'postings']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', item);
        EXECUTE format('DROP POLICY IF EXISTS read ON %I', item);
        EXECUTE format(
            'CREATE POLICY read ON %I FOR SELECT USING (%I = %s)',
            item, CASE item WHEN 'projects' THEN 'number' ELSE 'project' END, readable
        );
        EXECUTE format('GRANT SELECT ON %I TO PUBLIC', item);
    END LOOP;

    FOREACH item IN ARRAY ARRAY['sessions', 'messages', 'postings']
    LOOP
        EXECUTE format('DROP POLICY IF EXISTS add ON %I', item);
        EXECUTE format(
            'CREATE POLICY add ON %I FOR INSERT WITH CHECK (person = session_user AND project = %s %s)',
            item, writable, CASE item WHEN 'sessions' THEN 'AND NOT is_removed' END
        );
        EXECUTE format('GRANT INSERT ON %I TO PUBLIC', item);
    END LOOP;

    DROP POLICY IF EXISTS change ON sessions;
    EXECUTE format(
        'CREATE POLICY change ON sessions FOR UPDATE USING (person = session_user AND NOT is_removed AND project = %s)',
        writable
    );
    GRANT UPDATE (title, updated_at, last_seq, messages, terms, redacted) ON sessions TO PUBLIC;

    DROP POLICY IF EXISTS change ON postings;
    EXECUTE format(
        'CREATE POLICY change ON postings FOR UPDATE USING (person = session_user AND project = %s)',
        writable
    );
    GRANT UPDATE (places) ON postings TO PUBLIC;
END
$$;

GRANT USAGE ON SCHEMA bethink_team TO PUBLIC;
GRANT SELECT ON version TO PUBLIC;

COMMIT;
