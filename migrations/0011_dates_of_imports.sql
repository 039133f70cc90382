-- An imported session is as old as what was said in it: earlier versions gave it the time of its import.

UPDATE sessions
SET created_at = min(sessions.created_at, first.created_at),
    updated_at = CASE WHEN last.recorded THEN last.created_at ELSE sessions.updated_at END
FROM messages AS first, messages AS last
WHERE first.session = sessions.id AND first.seq = 1 AND first.recorded AND first.created_at > 0
  AND last.session = sessions.id AND last.seq = sessions.last_seq AND last.created_at > 0;
