-- Which sessions this person shares with the team. The copies are in tables of the team: see `migrations/team`.

CREATE TABLE shared_projects (
    project_dir TEXT   COLLATE "C" PRIMARY KEY,
    -- Name of the team's project.
    project     TEXT   NOT NULL,
    -- Sessions that began earlier are not shared.
    since       BIGINT NOT NULL
);

-- The sessions for which the person chose.
CREATE TABLE session_sharing (
    session   UUID    PRIMARY KEY,
    is_shared BOOLEAN NOT NULL
);

CREATE VIEW shared_sessions AS
SELECT sessions.id AS session,
       sessions.project_dir,
       project,
       title,
       created_at,
       last_seq
FROM sessions
JOIN shared_projects USING (project_dir)
LEFT JOIN session_sharing
  ON session_sharing.session = sessions.id
WHERE coalesce(is_shared, created_at >= since);
