-- Checksums of more rows, and of the search index. From now on, a job has one from its beginning.
--
-- The table `lineage` needs none: a mark is a hash of messages that the client sends again with each request, so an altered
-- row never matches a wrong conversation. At worst, a conversation continues in a fork.

ALTER TABLE model_calls      ADD COLUMN seal INTEGER;
ALTER TABLE extraction_marks ADD COLUMN seal INTEGER;
ALTER TABLE last_dreams      ADD COLUMN seal INTEGER;
ALTER TABLE index_pages      ADD COLUMN seal INTEGER;
ALTER TABLE index_segments   ADD COLUMN seal INTEGER;
ALTER TABLE index_sessions   ADD COLUMN seal INTEGER;
