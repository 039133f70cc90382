-- The key of the project in which a session began, so that the sessions of a project are listed together, even those of worktrees
-- that are gone, and of clones on other machines. NULL in sessions of earlier versions, until a daemon finds it, and if
-- the directory is gone.

ALTER TABLE sessions ADD COLUMN project_key TEXT COLLATE "C";
CREATE INDEX sessions_by_project_key ON sessions (project_key) WHERE project_key IS NOT NULL;
CREATE INDEX synced_projects_by_name ON synced_projects (name);
