//! Decisions about how history is shown.

use bethink_store::{NewDecision, StoreResult};
use bethink_transcript::SessionId;
use sqlx::PgConnection;

use crate::sessions;
use crate::sql::sql;

pub(crate) const READ: &str = "
    SELECT *
    FROM decisions
    WHERE session = $1
    ORDER BY number";

const INSERT: &str = "
    INSERT INTO decisions (session, kind, data, made_after, created_at)
    SELECT $1, kind, data, made_after, created_at
    FROM unnest($2, $3, $4, $5) WITH ORDINALITY AS new (kind, data, made_after, created_at, place)
    ORDER BY place";

/// Locks the session, so that the numbers of its decisions are in the order of their commits.
pub(crate) async fn add(
    db: &mut PgConnection,
    id: SessionId,
    new: Vec<NewDecision>,
) -> StoreResult<()> {
    sessions::lock(&mut *db, id).await?;
    if new.is_empty() {
        return Ok(());
    }
    sql(INSERT)
        .bind(id)
        .bind_list(new.iter().map(|new| new.kind.clone()))
        .bind_list(new.iter().map(|new| new.data.clone()))
        .bind_list(new.iter().map(|new| new.made_after))
        .bind_list(new.iter().map(|new| new.created_at))
        .run(db)
        .await
        .map(drop)
}
