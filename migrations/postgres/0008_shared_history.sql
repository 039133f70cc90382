-- Which sessions this person shares with the team. The copies are in tables of the team: see `migrations/team`.

CREATE TABLE shared_projects (
    project_dir TEXT   COLLATE "C" PRIMARY KEY,
    -- Name of the team project.
    project     TEXT   NOT NULL,
    -- Sessions that began earlier are not shared.
    since       BIGINT NOT NULL
);

-- Sessions that the person explicitly shares or keeps private.
CREATE TABLE session_sharing (
    session   UUID    PRIMARY KEY,
    is_shared BOOLEAN NOT NULL
);

-- Returns the session that decides whether a session is shared. A fork or a child is shared if its parent is, unless the person chose
-- otherwise for it: the nearest session with a choice decides, starting with the session itself; without one, the root session does.
CREATE FUNCTION sharing_session(wanted UUID) RETURNS UUID LANGUAGE sql STABLE AS $$
    WITH RECURSIVE line AS (
        SELECT id, parent, 0 AS depth
        FROM sessions
        WHERE id = wanted
        UNION ALL
        SELECT ancestor.id, ancestor.parent, depth + 1
        FROM line
        JOIN sessions AS ancestor
          ON ancestor.id = line.parent
        WHERE depth < 1000
          AND NOT EXISTS (SELECT FROM session_sharing WHERE session = line.id)
    )
    SELECT id
    FROM line
    ORDER BY depth DESC
    LIMIT 1
$$;

-- What was forked from a session that is gone is shared only if the person chose so.
CREATE VIEW shared_sessions AS
SELECT sessions.id AS session,
       sessions.project_dir,
       project,
       sessions.title,
       sessions.created_at,
       sessions.last_seq
FROM sessions
JOIN shared_projects USING (project_dir)
JOIN sessions AS deciding
  ON deciding.id = CASE WHEN sessions.parent IS NULL THEN sessions.id ELSE sharing_session(sessions.id) END
LEFT JOIN session_sharing
  ON session_sharing.session = deciding.id
WHERE coalesce(is_shared, deciding.parent IS NULL AND deciding.created_at >= since);
