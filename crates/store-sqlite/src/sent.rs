//! The last request of each session: one row for its frame, one for its breakpoints.

use bethink_store::{SentRequestStore, StoreFuture, StoredRequest};
use bethink_transcript::{SessionId, UnixMicros};

use crate::sql::sql;
use crate::store::SqliteStore;

const READ_FRAME: &str = "
    SELECT *
    FROM sent_requests
    WHERE session = ?";

const READ_MARKS: &str = "
    SELECT *
    FROM sent_marks
    WHERE session = ?";

const PUT_FRAME: &str = "
    INSERT INTO sent_requests (session, frame, updated_at)
    VALUES (?, ?, ?)
    ON CONFLICT (session) DO UPDATE
    SET frame      = excluded.frame,
        updated_at = excluded.updated_at
    RETURNING *";

const PUT_MARKS: &str = "
    INSERT INTO sent_marks (session, marks, updated_at)
    VALUES (?, ?, ?)
    ON CONFLICT (session) DO UPDATE
    SET marks      = excluded.marks,
        updated_at = excluded.updated_at
    RETURNING *";

impl SentRequestStore for SqliteStore {
    fn sent_request(&self, id: SessionId) -> StoreFuture<'_, Option<StoredRequest>> {
        Box::pin(async move {
            let frame = self.all_of(id, sql(READ_FRAME).bind(id), |row| row.get("frame"));
            let Some(frame) = frame.await?.pop() else { return Ok(None) };
            let marks = self.all(sql(READ_MARKS).bind(id), |row| row.get("marks")).await?.pop();
            Ok(Some(StoredRequest { frame, marks }))
        })
    }

    fn put_sent_frame(&self, id: SessionId, frame: String, at: UnixMicros) -> StoreFuture<'_, ()> {
        self.seal_for(id, "sent_requests", sql(PUT_FRAME).bind(id).bind(frame).bind(at))
    }

    fn put_sent_marks(&self, id: SessionId, marks: String, at: UnixMicros) -> StoreFuture<'_, ()> {
        self.seal_for(id, "sent_marks", sql(PUT_MARKS).bind(id).bind(marks).bind(at))
    }
}
