-- What topics mean, for recall: made in the background, and made again if a row is missing or damaged.

CREATE TABLE topic_vectors (
    number  INTEGER PRIMARY KEY,
    project TEXT    NOT NULL,
    -- Scope and name, such as private/fog.
    topic   TEXT    NOT NULL,
    -- Hash of the topic's text. Vectors of another text are not used.
    hash    TEXT    NOT NULL,
    -- Which encoder made them. Vectors of different encoders cannot be compared.
    encoder TEXT    NOT NULL,
    vectors BLOB    NOT NULL,
    seal    INTEGER,
    UNIQUE (project, topic)
);
