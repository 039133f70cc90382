//! Decisions about how history is shown.

use bethink_store::{NewDecision, StoreResult};
use bethink_transcript::SessionId;
use serde_json::{Value, json};
use sqlx::SqliteConnection;

use crate::sessions;
use crate::sql::sql;

pub(crate) const READ: &str = "
    SELECT *
    FROM decisions
    WHERE session = ?
    ORDER BY number";

const INSERT: &str = "
    INSERT INTO decisions (session, kind, data, made_after, created_at)
    SELECT ?, value ->> 0, value ->> 1, value ->> 2, value ->> 3
    FROM json_each(?)
    ORDER BY key
    RETURNING *";

pub(crate) async fn add(
    db: &mut SqliteConnection,
    id: SessionId,
    new: Vec<NewDecision>,
) -> StoreResult<()> {
    sessions::must_exist(&mut *db, id).await?;
    if new.is_empty() {
        return Ok(());
    }
    let rows =
        new.into_iter().map(|new| json!([new.kind, new.data, new.made_after, new.created_at.0]));
    let rows = Value::Array(rows.collect()).to_string();
    sql(INSERT).bind(id).bind(rows).seal(db, "decisions").await.map(drop)
}
