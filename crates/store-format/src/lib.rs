//! What stores share, whatever database they use: how an append is planned, the checksums of history, the postings of the
//! search index, which columns hold the fields of the port's types, and the form in which rows are copied.
//!
//! Has no access to a database. Each store has its own statements, and its own way to make transactions durable.
//!
//! Reading order: `plan`, `checksum`; `batch`, `postings`, `segments` and `lists` for the index; `columns`,
//! `records` and `cursor` for rows; `rows` for copies.

mod batch;
mod checksum;
mod columns;
mod cursor;
mod lists;
mod plan;
mod postings;
mod receipts;
mod records;
mod rows;
mod segments;

pub use batch::SortedBatch;
pub use checksum::{checksum, facts, is_whole, record_checksum};
pub use columns::{
    CANDIDATE_STATES, JOB_STATES, PROPOSAL_STATES, ROLES, at, integer, not_found, number_in,
    read_mark, read_message_id, unreadable, unsigned, word,
};
pub use cursor::{page_of, read_cursor};
pub use lists::{
    FoundPage, FoundTerms, KeyRange, ListedSession, SearchedSessions, key_ranges, sorted_postings,
};
pub use plan::{AppendPlan, NewReceipt, PlannedMessage, stored_already};
pub use postings::{POSTINGS_OF_PAGE, PostingPage, merge};
pub use receipts::{oldest_kept, reused};
pub use records::{read_json, write_json};
pub use rows::{
    BATCH_BYTES, BATCH_ROWS, ColumnKind, ColumnValue, CopiedColumn, CopiedRow, CopiedTable,
    RowStatements, RowStore, StoreCheck, TableDigest, TableSum, corrupted_row, next_rows,
};
pub use segments::{IndexSegment, due};
