//! Maps the fields of records to the columns in which they are stored.

use bethink_store::StoreResult;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::columns::unreadable;

/// Defines the trait `Record` in the calling module, and implements it for the port's records. The module has the types
/// `Row` and `Statement`.
///
/// A field is stored in the column of its name, or in the column that follows `of`. A field with `json` is stored as
/// JSON; the text that follows names it in the error if it cannot be read.
#[macro_export]
macro_rules! records {
    () => {
        /// A record with a column for each field.
        pub(crate) trait Record: Sized {
            fn read(row: &Row) -> ::bethink_store::StoreResult<Self>;

            /// Binds the fields, in the order of the table in `bethink_store_format`.
            fn bind(self, statement: Statement) -> Statement;
        }

        $crate::records! { @each
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
            Relative { session, through of "seq", last_seq }
            SecretAllowance { file, rule, line, by of "allowed_by", at of "allowed_at" }
            SessionRecord {
                id, project_dir, project of "project_key", title, titled, tags json "tags of a session", parent, forked_at, model,
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
    };
    (@field $row:ident, $field:ident json $what:literal) => {
        $row.json(stringify!($field), $what)?
    };
    (@field $row:ident, $field:ident of $column:literal) => {
        $row.get($column)?
    };
    (@field $row:ident, $field:ident) => {
        $row.get(stringify!($field))?
    };
    (@value $record:ident.$field:ident json) => {
        $crate::write_json(&$record.$field)
    };
    (@value $record:ident.$field:ident $(of)?) => {
        $record.$field
    };
    (@each $($record:ident { $($field:ident $($how:ident $text:literal)?),* $(,)? })*) => {$(
        impl Record for ::bethink_store::$record {
            fn read(row: &Row) -> ::bethink_store::StoreResult<Self> {
                Ok(Self { $($field: $crate::records!(@field row, $field $($how $text)?)),* })
            }

            fn bind(self, statement: Statement) -> Statement {
                statement$(.bind($crate::records!(@value self.$field $($how)?)))*
            }
        }
    )*};
}

/// Reads a value that is stored as JSON; `what` names it in the error if it is invalid.
pub fn read_json<T: DeserializeOwned>(text: &str, what: &str) -> StoreResult<T> {
    serde_json::from_str(text).map_err(|error| unreadable(format!("{what}: {error}")))
}

pub fn write_json(value: &impl Serialize) -> String {
    serde_json::json!(value).to_string()
}
