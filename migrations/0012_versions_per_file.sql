-- Versions are numbered per file, 1, 2, 3 and so on. `number` counts those of all files, in order of time.
--
-- The number is stored rather than counted when versions are listed, so that it stays the same when the oldest versions
-- are deleted.

ALTER TABLE memory_versions ADD COLUMN version INTEGER NOT NULL DEFAULT 0;

UPDATE memory_versions
SET version = counted.version
FROM (
    SELECT number, row_number() OVER (PARTITION BY directory, file ORDER BY number) AS version
    FROM memory_versions
) AS counted
WHERE counted.number = memory_versions.number;

-- The note of a restored version names the version that it was restored from.
UPDATE memory_versions
SET note = 'version ' || source.version
FROM memory_versions AS source
WHERE memory_versions.author = 'restore'
  AND memory_versions.note LIKE 'version %'
  AND source.number = CAST(substr(memory_versions.note, 9) AS INTEGER)
  AND source.directory = memory_versions.directory
  AND source.file = memory_versions.file;

DROP INDEX memory_versions_by_file;

CREATE UNIQUE INDEX memory_versions_by_file ON memory_versions (directory, file, version);
