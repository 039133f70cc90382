-- Where the clones of a repository are on all machines, so that their sessions are listed together.

ALTER TABLE synced_projects ADD COLUMN root TEXT;
