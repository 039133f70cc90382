-- Checksums of rows that a person or a model reads. A row without one was written by an earlier version; it gets one when
-- it is written next.
--
-- A checksum covers every column that is not NULL, by its name. So a later migration may add a column that is NULL in all
-- rows; one that changes rows must set their seal to NULL.

ALTER TABLE sessions               ADD COLUMN seal INTEGER;
ALTER TABLE decisions              ADD COLUMN seal INTEGER;
ALTER TABLE compactions            ADD COLUMN seal INTEGER;
ALTER TABLE collapses              ADD COLUMN seal INTEGER;
ALTER TABLE notes                  ADD COLUMN seal INTEGER;
ALTER TABLE receipts               ADD COLUMN seal INTEGER;
ALTER TABLE client_sessions        ADD COLUMN seal INTEGER;
ALTER TABLE memory_versions        ADD COLUMN seal INTEGER;
ALTER TABLE proposals              ADD COLUMN seal INTEGER;
ALTER TABLE team_bases             ADD COLUMN seal INTEGER;
ALTER TABLE team_places            ADD COLUMN seal INTEGER;
ALTER TABLE import_approvals       ADD COLUMN seal INTEGER;
ALTER TABLE refused_statements     ADD COLUMN seal INTEGER;
ALTER TABLE extraction_plans       ADD COLUMN seal INTEGER;
ALTER TABLE extraction_plan_writes ADD COLUMN seal INTEGER;
ALTER TABLE transcript_positions   ADD COLUMN seal INTEGER;
ALTER TABLE delivered_memories     ADD COLUMN seal INTEGER;
