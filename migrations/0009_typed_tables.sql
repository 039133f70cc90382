-- A table for each kind of row that `kept` held as JSON. Its rows move to their table. What can't be read as its
-- kind requires stays behind in `unreadable_kept`, so that nothing is lost.

-- Topics that an agent, an extraction or a consolidation proposes for a team's memory.
CREATE TABLE proposals (
    number          INTEGER PRIMARY KEY,
    -- A UUIDv7: in order of time.
    id              BLOB    NOT NULL UNIQUE,
    project_dir     TEXT    NOT NULL,
    name            TEXT    NOT NULL,
    text            TEXT    NOT NULL,
    -- Hash of the topic that it would replace.
    replaces        TEXT,
    proposed_by     TEXT    NOT NULL,
    -- Where it was learnt: all of them or none. The messages are a JSON array of strings.
    source_session  TEXT,
    source_messages TEXT,
    source_strategy TEXT,
    source_time     TEXT,
    -- 0 open, 1 approved, 2 rejected.
    state           INTEGER NOT NULL,
    proposed_at     INTEGER NOT NULL,
    decided_at      INTEGER
);

CREATE INDEX proposals_by_project ON proposals (project_dir, state, id);

-- What a team file here was last made from, where the commit that was last synced doesn't tell.
CREATE TABLE team_bases (
    number  INTEGER PRIMARY KEY,
    project TEXT    NOT NULL,
    file    TEXT    NOT NULL,
    -- Object id; NULL where there was no file.
    blob    TEXT,
    UNIQUE (project, file)
);

-- Directories that people chose for a project's team memory.
CREATE TABLE team_places (
    number  INTEGER PRIMARY KEY,
    project TEXT    NOT NULL UNIQUE,
    dir     TEXT    NOT NULL
);

-- Files that a person allowed a project's instructions to import, by their real paths.
CREATE TABLE import_approvals (
    number      INTEGER PRIMARY KEY,
    project     TEXT    NOT NULL,
    path        TEXT    NOT NULL,
    approved_at INTEGER NOT NULL,
    UNIQUE (project, path)
);

-- Statements that are not learnt again, by what they mean.
CREATE TABLE refused_statements (
    number     INTEGER PRIMARY KEY,
    project    TEXT    NOT NULL,
    -- JSON array of word stems, sorted.
    words      TEXT    NOT NULL,
    negative   INTEGER NOT NULL,
    refused_at INTEGER NOT NULL,
    UNIQUE (project, words, negative)
);

-- How far memories were extracted from a session.
CREATE TABLE extraction_marks (
    number      INTEGER PRIMARY KEY,
    session     BLOB    NOT NULL UNIQUE,
    through_seq INTEGER NOT NULL
);

-- What an extraction is about to write, kept until all of it is written.
CREATE TABLE extraction_plans (
    number      INTEGER PRIMARY KEY,
    session     BLOB    NOT NULL UNIQUE,
    strategy    TEXT    NOT NULL,
    -- The session's mark when the plan is carried out.
    through_seq INTEGER NOT NULL
);

CREATE TABLE extraction_plan_writes (
    number   INTEGER PRIMARY KEY,
    session  BLOB    NOT NULL,
    -- It is proposed to the team rather than written.
    proposed INTEGER NOT NULL,
    name     TEXT    NOT NULL,
    -- Hash of the topic that it replaces; NULL where there must be none.
    replaces TEXT,
    text     TEXT    NOT NULL,
    sentence TEXT,
    seq      INTEGER
);

CREATE INDEX extraction_plan_writes_by_session ON extraction_plan_writes (session, number);

-- The last consolidation of each project's memory.
CREATE TABLE last_dreams (
    number  INTEGER PRIMARY KEY,
    project TEXT    NOT NULL UNIQUE,
    at      INTEGER,
    dream   TEXT
);

-- The name under which this home's daemon locks memory directories that others may share: one row.
CREATE TABLE lock_names (
    number INTEGER PRIMARY KEY CHECK (number = 1),
    name   TEXT    NOT NULL
);

-- How far transcripts of clients were read.
CREATE TABLE transcript_positions (
    number      INTEGER PRIMARY KEY,
    session     BLOB    NOT NULL,
    path        TEXT    NOT NULL,
    bytes       INTEGER NOT NULL,
    -- Of all bytes before.
    hash        TEXT    NOT NULL,
    through_seq INTEGER NOT NULL,
    elsewhere   INTEGER NOT NULL,
    UNIQUE (session, path)
);

-- Memories that a client's conversation was given, so that none is given twice.
CREATE TABLE delivered_memories (
    number INTEGER PRIMARY KEY,
    client TEXT    NOT NULL,
    key    TEXT    NOT NULL,
    -- JSON array of strings.
    names  TEXT    NOT NULL,
    bytes  INTEGER NOT NULL,
    UNIQUE (client, key)
);

-- Renamed rather than dropped: a new database then has no free page amid its schema, see the recovery of a lost first page.
ALTER TABLE kept RENAME TO unreadable_kept;

-- These hold plain text, or nothing but their key.
INSERT OR IGNORE INTO team_bases (number, project, file, blob)
SELECT number, owner, key, nullif(value, '')
FROM unreadable_kept
WHERE space = 'team_base';

INSERT OR IGNORE INTO import_approvals (number, project, path, approved_at)
SELECT number, owner, key, at
FROM unreadable_kept
WHERE space = 'import_approval';

INSERT INTO lock_names (number, name)
SELECT 1, value
FROM unreadable_kept
WHERE space = 'dream'
  AND owner = ''
  AND key = 'dreamer';

-- The others are JSON. A value that is none is NULL here, and a row without what its kind requires violates a constraint
-- or fails a condition below: either way it is left out.
CREATE VIEW readable_kept AS
SELECT number,
       space,
       owner,
       key,
       iif(json_valid(value), value, NULL) AS value,
       at,
       iif(length(unhex(replace(owner, '-', ''))) = 16, unhex(replace(owner, '-', '')), NULL) AS session
FROM unreadable_kept;

INSERT OR IGNORE INTO proposals (
    number, id, project_dir, name, text, replaces, proposed_by, source_session, source_messages, source_strategy,
    source_time, state, proposed_at, decided_at
)
SELECT number,
       iif(length(unhex(replace(key, '-', ''))) = 16, unhex(replace(key, '-', '')), NULL),
       value ->> '$.project_dir',
       value ->> '$.name',
       value ->> '$.text',
       value ->> '$.replaces',
       value ->> '$.by',
       value ->> '$.source.session',
       value ->> '$.source.messages',
       value ->> '$.source.strategy',
       value ->> '$.source.time',
       CASE value ->> '$.state' WHEN 'open' THEN 0 WHEN 'approved' THEN 1 WHEN 'rejected' THEN 2 END,
       coalesce(
           unixepoch(substr(value ->> '$.proposed_at', 1, 19)) * 1000000
               + CAST(substr(rtrim(substr(value ->> '$.proposed_at', 21), 'Z') || '000000', 1, 6) AS INTEGER),
           at
       ),
       unixepoch(substr(value ->> '$.decided_at', 1, 19)) * 1000000
           + CAST(substr(rtrim(substr(value ->> '$.decided_at', 21), 'Z') || '000000', 1, 6) AS INTEGER)
FROM readable_kept
WHERE space = 'proposal'
  AND (
      coalesce(json_type(value, '$.source'), 'null') = 'null'
      OR (
          json_type(value, '$.source.session') = 'text'
          AND json_type(value, '$.source.messages') = 'array'
          AND NOT EXISTS (SELECT 1 FROM json_each(readable_kept.value, '$.source.messages') AS one WHERE one.type <> 'text')
          AND json_type(value, '$.source.strategy') = 'text'
          AND json_type(value, '$.source.time') = 'text'
      )
  );

INSERT OR IGNORE INTO team_places (number, project, dir)
SELECT number, owner, value ->> '$'
FROM readable_kept
WHERE space = 'team_place'
  AND key = 'dir'
  AND json_type(value) = 'text';

INSERT OR IGNORE INTO refused_statements (number, project, words, negative, refused_at)
SELECT number, owner, value ->> '$.words', value ->> '$.negative', at
FROM readable_kept
WHERE space = 'refused_memory'
  AND json_type(value, '$.words') = 'array'
  AND NOT EXISTS (SELECT 1 FROM json_each(readable_kept.value, '$.words') AS one WHERE one.type <> 'text')
  AND json_type(value, '$.negative') IN ('true', 'false');

INSERT OR IGNORE INTO extraction_marks (number, session, through_seq)
SELECT number, session, value ->> '$'
FROM readable_kept
WHERE space = 'extraction_mark'
  AND key = 'through'
  AND json_type(value) = 'integer';

INSERT OR IGNORE INTO extraction_plans (number, session, strategy, through_seq)
SELECT number, session, value ->> '$.strategy', value ->> '$.through'
FROM readable_kept
WHERE space = 'extraction_plan'
  AND key = 'plan'
  AND json_type(value, '$.through') = 'integer'
  AND json_type(value, '$.writes') = 'array'
  AND coalesce(json_type(value, '$.proposals'), 'array') = 'array'
  AND NOT EXISTS (
      SELECT 1
      FROM (
          SELECT fullkey AS place FROM json_each(readable_kept.value, '$.writes')
          UNION ALL
          SELECT fullkey AS place FROM json_each(readable_kept.value, '$.proposals')
      )
      WHERE json_type(readable_kept.value, place || '.name') IS NOT 'text'
         OR json_type(readable_kept.value, place || '.text') IS NOT 'text'
         OR coalesce(json_type(readable_kept.value, place || '.seq'), 'null') NOT IN ('integer', 'null')
  );

INSERT INTO extraction_plan_writes (session, proposed, name, replaces, text, sentence, seq)
SELECT plan.session,
       kind.column1,
       one.value ->> '$.name',
       one.value ->> '$.over',
       one.value ->> '$.text',
       one.value ->> '$.sentence',
       one.value ->> '$.seq'
FROM extraction_plans AS plan
JOIN unreadable_kept AS kept USING (number)
CROSS JOIN (VALUES (0, '$.writes'), (1, '$.proposals')) AS kind
CROSS JOIN json_each(kept.value, kind.column2) AS one
ORDER BY plan.number, kind.column1, one.key;

INSERT OR IGNORE INTO last_dreams (number, project, at, dream)
SELECT number, owner, value ->> '$.last', value ->> '$.id'
FROM readable_kept
WHERE space = 'dream'
  AND key = 'state'
  AND json_type(value) = 'object'
  AND coalesce(json_type(value, '$.last'), 'null') IN ('integer', 'null');

INSERT OR IGNORE INTO transcript_positions (number, session, path, bytes, hash, through_seq, elsewhere)
SELECT number,
       session,
       key,
       value ->> '$.bytes',
       value ->> '$.hash',
       value ->> '$.through',
       coalesce(value ->> '$.elsewhere', 0)
FROM readable_kept
WHERE space = 'hook_transcript'
  AND json_type(value, '$.bytes') = 'integer'
  AND json_type(value, '$.through') = 'integer'
  AND coalesce(json_type(value, '$.elsewhere'), 'false') IN ('true', 'false');

INSERT OR IGNORE INTO delivered_memories (number, client, key, names, bytes)
SELECT number,
       substr(owner, 1, instr(owner, '/') - 1),
       substr(owner, instr(owner, '/') + 1),
       value ->> '$.names',
       value ->> '$.bytes'
FROM readable_kept
WHERE space = 'hook_told'
  AND key = 'told'
  AND instr(owner, '/') > 1
  AND json_type(value, '$.bytes') = 'integer'
  AND json_type(value, '$.names') = 'array'
  AND NOT EXISTS (SELECT 1 FROM json_each(readable_kept.value, '$.names') AS one WHERE one.type <> 'text');

DROP VIEW readable_kept;

-- A row that moved has kept its number.
DELETE FROM unreadable_kept
WHERE (space = 'proposal' AND number IN (SELECT number FROM proposals))
   OR (space = 'team_base' AND number IN (SELECT number FROM team_bases))
   OR (space = 'team_place' AND number IN (SELECT number FROM team_places))
   OR (space = 'import_approval' AND number IN (SELECT number FROM import_approvals))
   OR (space = 'refused_memory' AND number IN (SELECT number FROM refused_statements))
   OR (space = 'extraction_mark' AND number IN (SELECT number FROM extraction_marks))
   OR (space = 'extraction_plan' AND number IN (SELECT number FROM extraction_plans))
   OR (space = 'dream' AND key = 'state' AND number IN (SELECT number FROM last_dreams))
   OR (space = 'dream' AND key = 'dreamer' AND owner = '')
   OR (space = 'hook_transcript' AND number IN (SELECT number FROM transcript_positions))
   OR (space = 'hook_told' AND number IN (SELECT number FROM delivered_memories));
