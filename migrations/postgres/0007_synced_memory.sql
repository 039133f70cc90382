-- Memory files that are synced between a person's homes.

CREATE TABLE synced_directories (
    directory TEXT   COLLATE "C" PRIMARY KEY,
    -- Distinguishes the directory from one of the same name in another database.
    id        UUID   NOT NULL DEFAULT gen_random_uuid(),
    -- Grows with each change, so that a machine notices that the database is a back-up that lacks the newest changes.
    revision  BIGINT NOT NULL DEFAULT 1
);

CREATE TABLE synced_files (
    directory TEXT  COLLATE "C" NOT NULL,
    file      TEXT  COLLATE "C" NOT NULL,
    hash      TEXT  NOT NULL,
    content   BYTEA NOT NULL,
    PRIMARY KEY (directory, file)
);

-- The names of projects that are clones of the same repository. A session's project may be on another machine.
CREATE TABLE synced_projects (
    project TEXT COLLATE "C" PRIMARY KEY,
    name    TEXT NOT NULL
);
