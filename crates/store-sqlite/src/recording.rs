//! Pauses, and conversations that are not recorded.

use bethink_store::{PauseRecord, RecordingStore, StoreFuture};
use bethink_store_format::read_mark;
use bethink_transcript::UnixMicros;

use crate::record::Record;
use crate::sql::sql;
use crate::store::SqliteStore;

const PAUSES: &str = "
    SELECT *
    FROM pauses
    ORDER BY since";

const PUT_PAUSE: &str = "
    INSERT INTO pauses (since, until)
    VALUES (?, ?)
    ON CONFLICT (since) DO UPDATE
    SET until = excluded.until
    RETURNING *";

const MARKS: &str = "
    SELECT *
    FROM unrecorded_marks
    ORDER BY number";

const ADD_MARK: &str = "
    INSERT INTO unrecorded_marks (mark, added_at)
    VALUES (?, ?)
    ON CONFLICT DO NOTHING
    RETURNING *";

impl RecordingStore for SqliteStore {
    fn pauses(&self) -> StoreFuture<'_, Vec<PauseRecord>> {
        self.all(sql(PAUSES), Record::read)
    }

    fn put_pause(&self, pause: PauseRecord) -> StoreFuture<'_, ()> {
        self.seal("pauses", sql(PUT_PAUSE).bind_all(pause))
    }

    fn unrecorded_marks(&self) -> StoreFuture<'_, Vec<u128>> {
        self.all(sql(MARKS), |row| read_mark(&row.get::<String>("mark")?))
    }

    fn add_unrecorded_mark(&self, mark: u128, at: UnixMicros) -> StoreFuture<'_, ()> {
        self.seal("unrecorded_marks", sql(ADD_MARK).bind(format!("{mark:032x}")).bind(at))
    }
}
