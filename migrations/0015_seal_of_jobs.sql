-- A checksum of each job that has ended. A job that waits or runs changes too often to have one.

ALTER TABLE jobs ADD COLUMN seal INTEGER;
