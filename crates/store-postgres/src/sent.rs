//! The last request of each session: one row for its frame, one for its breakpoints.

use bethink_store::{SentRequestStore, StoreFuture, StoredRequest};
use bethink_transcript::{SessionId, UnixMicros};

use crate::sql::sql;
use crate::store::PostgresStore;

const READ: &str = "
    SELECT frame, marks
    FROM sent_requests
    LEFT JOIN sent_marks USING (session)
    WHERE session = $1";

const PUT_FRAME: &str = "
    INSERT INTO sent_requests (session, frame, updated_at)
    VALUES ($1, $2, $3)
    ON CONFLICT (session) DO UPDATE
    SET frame      = excluded.frame,
        updated_at = excluded.updated_at";

const PUT_MARKS: &str = "
    INSERT INTO sent_marks (session, marks, updated_at)
    VALUES ($1, $2, $3)
    ON CONFLICT (session) DO UPDATE
    SET marks      = excluded.marks,
        updated_at = excluded.updated_at";

impl SentRequestStore for PostgresStore {
    fn sent_request(&self, id: SessionId) -> StoreFuture<'_, Option<StoredRequest>> {
        Box::pin(async move {
            let read = self.all_of(id, sql(READ).bind(id), |row| {
                Ok(StoredRequest { frame: row.get("frame")?, marks: row.get("marks")? })
            });
            Ok(read.await?.pop())
        })
    }

    fn put_sent_frame(&self, id: SessionId, frame: String, at: UnixMicros) -> StoreFuture<'_, ()> {
        self.run_for(id, sql(PUT_FRAME).bind(id).bind(frame).bind(at))
    }

    fn put_sent_marks(&self, id: SessionId, marks: String, at: UnixMicros) -> StoreFuture<'_, ()> {
        self.run_for(id, sql(PUT_MARKS).bind(id).bind(marks).bind(at))
    }
}
