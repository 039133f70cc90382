-- Several daemons may use the database. A session belongs to one of them at a time, and what is about the files of a home
-- belongs to that home.
--
-- A daemon sets `bethink.daemon` on each of its connections, a number that no other daemon has, and `bethink.home`.

DROP FUNCTION check_fence;
DROP FUNCTION take_fence;

ALTER TABLE database_state
    DROP COLUMN fence,
    DROP COLUMN holder;

-- While a daemon runs, it holds an advisory lock whose key is its number.
CREATE TABLE daemons (
    number BIGINT PRIMARY KEY,
    home   UUID   NOT NULL,
    -- For the error messages of other daemons.
    name   TEXT   NOT NULL
);

CREATE FUNCTION own_daemon() RETURNS BIGINT LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT nullif(current_setting('bethink.daemon', TRUE), '')::BIGINT
$$;

CREATE FUNCTION own_home() RETURNS UUID LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce(
        nullif(current_setting('bethink.home', TRUE), ''),
        '00000000-0000-0000-0000-000000000000'
    )::UUID
$$;

-- The number of the daemon that a session belongs to. No index has it, so that changing it changes no index.
ALTER TABLE sessions ADD COLUMN holder BIGINT;
ALTER TABLE sessions ALTER COLUMN holder SET DEFAULT own_daemon();

-- Returns the name of the daemon that holds a session; NULL if it is this one, or if this connection is not a daemon's.
CREATE FUNCTION other_holder(holder BIGINT) RETURNS TEXT LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN own_daemon() IS NULL OR holder = own_daemon() THEN NULL
        ELSE coalesce((SELECT daemons.name FROM daemons WHERE daemons.number = holder), 'no daemon')
    END
$$;

-- Each of these tables becomes a view of the rows of one home. Existing rows belong to the home that applies this
-- migration, because until now one daemon used the database.
DO $$
DECLARE
    item TEXT;
BEGIN
    FOREACH item IN ARRAY ARRAY[
        'candidate_overflow', 'candidates', 'import_approvals', 'jobs', 'last_dreams', 'lock_names', 'memory_versions',
        'model_calls', 'pauses', 'proposals', 'refused_statements', 'secret_allowances', 'team_bases', 'team_places',
        'topic_vectors', 'transcript_places'
    ]
    LOOP
        EXECUTE format('ALTER TABLE %I RENAME TO %I', item, item || '_of_homes');
        EXECUTE format('ALTER TABLE %I ADD COLUMN home UUID NOT NULL DEFAULT own_home()', item || '_of_homes');
        EXECUTE format('CREATE VIEW %I AS SELECT * FROM %I WHERE home = own_home()', item, item || '_of_homes');
    END LOOP;
END
$$;

ALTER TABLE candidate_overflow_of_homes
    DROP CONSTRAINT candidate_overflow_project_dir_key,
    ADD UNIQUE (home, project_dir);

ALTER TABLE import_approvals_of_homes
    DROP CONSTRAINT import_approvals_project_path_key,
    ADD UNIQUE (home, project, path);

ALTER TABLE last_dreams_of_homes
    DROP CONSTRAINT last_dreams_project_key,
    ADD UNIQUE (home, project);

ALTER TABLE lock_names_of_homes
    DROP CONSTRAINT lock_names_pkey,
    ADD PRIMARY KEY (home, number);

ALTER TABLE memory_versions_of_homes
    DROP CONSTRAINT memory_versions_directory_file_version_key,
    ADD UNIQUE (home, directory, file, version);

ALTER TABLE pauses_of_homes
    DROP CONSTRAINT pauses_since_key,
    ADD UNIQUE (home, since);

ALTER TABLE refused_statements_of_homes
    DROP CONSTRAINT refused_statements_project_words_hash_negative_key,
    ADD UNIQUE (home, project, words_hash, negative);

ALTER TABLE secret_allowances_of_homes
    DROP CONSTRAINT secret_allowances_directory_rule_line_key,
    ADD UNIQUE (home, directory, rule, line);

ALTER TABLE team_bases_of_homes
    DROP CONSTRAINT team_bases_project_file_key,
    ADD UNIQUE (home, project, file);

ALTER TABLE team_places_of_homes
    DROP CONSTRAINT team_places_project_key,
    ADD UNIQUE (home, project);

ALTER TABLE topic_vectors_of_homes
    DROP CONSTRAINT topic_vectors_project_topic_key,
    ADD UNIQUE (home, project, topic);

ALTER TABLE transcript_places_of_homes
    DROP CONSTRAINT transcript_places_agent_path_key,
    ADD UNIQUE (home, agent, path);

ALTER TABLE candidates_of_homes
    DROP CONSTRAINT candidates_id_key,
    ADD UNIQUE (home, id);

-- The home that wrote the notes last: `replaced` is about the file there.
ALTER TABLE notes ADD COLUMN home UUID NOT NULL DEFAULT own_home();

-- The hash of the notes that each home wrote into its file.
CREATE TABLE notes_files (
    session UUID NOT NULL,
    home    UUID NOT NULL DEFAULT own_home(),
    hash    TEXT NOT NULL,
    PRIMARY KEY (home, session)
);

DROP INDEX jobs_unfinished;

CREATE INDEX jobs_unfinished ON jobs_of_homes (home, background, created_at, number) WHERE state < 2;
