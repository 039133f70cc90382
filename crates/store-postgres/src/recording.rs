//! Pauses, and conversations that are not recorded.

use bethink_store::{PauseRecord, RecordingStore, StoreFuture};
use bethink_transcript::UnixMicros;

use crate::record::Record;
use crate::sql::{sql, unreadable};
use crate::store::PostgresStore;

const PAUSES: &str = "
    SELECT *
    FROM pauses
    ORDER BY since";

const PUT_PAUSE: &str = "
    INSERT INTO pauses (since, until)
    VALUES ($1, $2)
    ON CONFLICT (home, since) DO UPDATE
    SET until = excluded.until";

const MARKS: &str = "
    SELECT mark
    FROM unrecorded_marks
    ORDER BY number";

const ADD_MARK: &str = "
    INSERT INTO unrecorded_marks (mark, added_at)
    VALUES ($1, $2)
    ON CONFLICT DO NOTHING";

impl RecordingStore for PostgresStore {
    fn pauses(&self) -> StoreFuture<'_, Vec<PauseRecord>> {
        self.all(sql(PAUSES), Record::read)
    }

    fn put_pause(&self, pause: PauseRecord) -> StoreFuture<'_, ()> {
        self.run(sql(PUT_PAUSE).bind_all(pause))
    }

    fn unrecorded_marks(&self) -> StoreFuture<'_, Vec<u128>> {
        self.all(sql(MARKS), |row| {
            let mark: String = row.get("mark")?;
            u128::from_str_radix(&mark, 16).map_err(|_| {
                unreadable(
                    "a `mark` in the `unrecorded_marks` table does not consist of 32 hexadecimal digits"
                        .to_owned(),
                )
            })
        })
    }

    fn add_unrecorded_mark(&self, mark: u128, at: UnixMicros) -> StoreFuture<'_, ()> {
        self.run(sql(ADD_MARK).bind(format!("{mark:032x}")).bind(at))
    }
}
