//! Decisions about how history is shown.

use bethink_store::{NewDecision, StoreResult};
use bethink_transcript::SessionId;
use serde_json::{Value, json};
use sqlx::SqliteConnection;

use crate::seal::{SealedValue, seal_of};
use crate::sessions;
use crate::sql::{Column, sql};

pub(crate) const READ: &str = "
    SELECT *
    FROM decisions
    WHERE session = ?
    ORDER BY number";

/// Changes nothing if the session does not exist.
const INSERT: &str = "
    INSERT INTO decisions (session, kind, data, made_after, created_at, seal)
    SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4
    FROM json_each(?2)
    WHERE EXISTS (SELECT 1 FROM sessions WHERE id = ?1)
    ORDER BY key";

pub(crate) async fn add(
    db: &mut SqliteConnection,
    id: SessionId,
    new: Vec<NewDecision>,
) -> StoreResult<()> {
    let rows = Value::Array(new.into_iter().map(|new| new_row(id, &new)).collect()).to_string();
    if sql(INSERT).bind(id).bind(rows).run(&mut *db).await? == 0 {
        sessions::must_exist(db, id).await?;
    }
    Ok(())
}

fn new_row(session: SessionId, new: &NewDecision) -> Value {
    let NewDecision { kind, data, made_after, created_at } = new;
    let text = |text: &str| SealedValue::Text(text.as_bytes().to_vec());
    let seal = seal_of(vec![
        ("session", SealedValue::Blob(session.store())),
        ("kind", text(kind)),
        ("data", text(data)),
        ("made_after", SealedValue::Integer(made_after.store())),
        ("created_at", SealedValue::Integer(created_at.store())),
    ]);
    json!([kind, data, made_after, created_at.0, seal])
}
