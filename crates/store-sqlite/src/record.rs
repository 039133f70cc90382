//! Maps the fields of records to the columns in which they are stored.

use bethink_store::{
    ClientSession, CompactionRecord, DecisionRecord, DeliveredMemories, LastDream,
    NewMemoryVersion, NotesRecord, PauseRecord, PlannedWrite, Progress, RefusedStatement,
    SecretAllowance, SessionRecord, StoreResult, StoredCandidate, StoredReceipt, TeamBase,
    TopicVectors, TranscriptPlace, TranscriptPosition, UsageSum, VersionRecord,
};
use serde_json::json;

use crate::sql::{Row, Statement};

/// A record with a column for each field.
pub(crate) trait Record: Sized {
    fn read(row: &Row) -> StoreResult<Self>;

    /// Binds the fields, in the order of the table below.
    fn bind(self, statement: Statement) -> Statement;
}

/// A field is stored in the column of its name, or in the column that follows `of`. A field with `json` is stored as JSON; the
/// text that follows names it in the error if it cannot be read.
macro_rules! records {
    ($($record:ident { $($field:ident $($how:ident $text:literal)?),* $(,)? })*) => {$(
        impl Record for $record {
            fn read(row: &Row) -> StoreResult<Self> {
                Ok(Self { $($field: field!(row, $field $($how $text)?)),* })
            }

            fn bind(self, statement: Statement) -> Statement {
                statement$(.bind(value!(self.$field $($how)?)))*
            }
        }
    )*};
}

macro_rules! field {
    ($row:ident, $field:ident json $what:literal) => {
        $row.json(stringify!($field), $what)?
    };
    ($row:ident, $field:ident of $column:literal) => {
        $row.get($column)?
    };
    ($row:ident, $field:ident) => {
        $row.get(stringify!($field))?
    };
}

macro_rules! value {
    ($record:ident.$field:ident json) => {
        json!($record.$field).to_string()
    };
    ($record:ident.$field:ident $(of)?) => {
        $record.$field
    };
}

records! {
    ClientSession { client, key, session }
    CompactionRecord {
        id, session, trigger, level, first_seq, last_seq, kept_from, made_after, tokens_before,
        tokens_after, summary, summary_tokens, fidelity, detail, created_at, undone_at,
    }
    DecisionRecord { id of "number", kind, data, made_after, created_at }
    DeliveredMemories { names json "names of delivered memories", bytes }
    LastDream { at, id of "dream" }
    NewMemoryVersion { directory, file, hash, content, author, session, note, at }
    NotesRecord {
        session, text, replaced, written, through of "through_seq", tokens, strategy, updated_at,
    }
    PauseRecord { since, until }
    PlannedWrite { name, over of "replaces", text, sentence, seq }
    Progress { done, total, unit, watermark }
    RefusedStatement { words json "words of a refused statement", negative }
    SecretAllowance { file, rule, line, by of "allowed_by", at of "allowed_at" }
    SessionRecord {
        id, project_dir, title, titled, tags json "tags of a session", parent, forked_at, model,
        state, content_hash, last_seq, created_at, updated_at,
    }
    StoredCandidate {
        id, project_dir, session, seq, message, sentence, context, kind, rule, score, said_at,
        found_at, state, decided_at, decided_by, topic, offers json "offers of a candidate",
    }
    StoredReceipt { fingerprint, answer }
    TeamBase { file, blob }
    TopicVectors { topic, hash, vectors }
    TranscriptPlace { agent, path, read_at }
    TranscriptPosition { bytes, hash, through of "through_seq", elsewhere }
    UsageSum {
        session of "owner", purpose, model, calls, failed, input, output, cache_read, cache_write,
        cost, unpriced, last_at,
    }
    VersionRecord {
        number of "version", directory, file, hash, bytes, author, session, note, at,
    }
}
