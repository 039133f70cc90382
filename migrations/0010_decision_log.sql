-- One log of decisions: compactions and their undoing are entries like all others. `compactions` stays as the read
-- model that lists are made from; prompts are made from the log.

INSERT INTO decisions (session, kind, data, made_after, created_at)
SELECT
    session,
    'compacted',
    CASE
        -- What can't be read as JSON stays as it is, and is an error that names the entry when the session is loaded.
        WHEN NOT json_valid(detail) THEN detail
        ELSE json_object(
            'kind', 'compacted',
            'boundary', json_object(
                'id', lower(
                    substr(hex(id), 1, 8) || '-' || substr(hex(id), 9, 4) || '-' || substr(hex(id), 13, 4) || '-'
                    || substr(hex(id), 17, 4) || '-' || substr(hex(id), 21, 12)
                ),
                'kept_from', kept_from,
                'made_after', made_after,
                'marker', coalesce(
                    nullif(json_extract(detail, '$.marker'), ''),
                    'This session goes on from an earlier part, messages 1 to ' || last_seq
                    || ', that was summarised where it was recorded. The summary follows.'
                ),
                'summary', summary,
                -- Counted when it is read.
                'tokens', 0,
                'restored', json(coalesce(json_extract(detail, '$.restored'), '[]')),
                'clipped', json(coalesce(json_extract(detail, '$.clipped'), '[]'))
            ),
            'todos', json(coalesce(json_extract(detail, '$.todos'), '[]')),
            'unseen', coalesce(json_extract(detail, '$.unseen'), 0)
        )
    END,
    made_after,
    created_at
FROM compactions
ORDER BY number;

INSERT INTO decisions (session, kind, data, made_after, created_at)
SELECT
    session,
    'undone',
    json_object(
        'kind', 'undone',
        'compaction', lower(
            substr(hex(id), 1, 8) || '-' || substr(hex(id), 9, 4) || '-' || substr(hex(id), 13, 4) || '-'
            || substr(hex(id), 17, 4) || '-' || substr(hex(id), 21, 12)
        )
    ),
    made_after,
    undone_at
FROM compactions
WHERE undone_at IS NOT NULL
ORDER BY number;
