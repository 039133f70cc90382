//! Decisions about how history is shown.

use bethink_store::{NewDecision, StoreError, StoreResult};
use bethink_transcript::SessionId;
use sqlx::PgConnection;

use crate::sessions;
use crate::sql::sql;

pub(crate) const READ: &str = "
    SELECT *
    FROM decisions
    WHERE session = $1
    ORDER BY number";

/// Does nothing if the session does not exist or another daemon has it. The row is locked first, so that the numbers of a
/// session's decisions are in the order of their commits.
const ADD: &str = "
    WITH own AS (
        SELECT id
        FROM sessions
        WHERE id = $1
          AND is_own(holder)
        FOR NO KEY UPDATE
    )
    INSERT INTO decisions (session, kind, data, made_after, created_at)
    SELECT own.id, kind, data, made_after, new.created_at
    FROM own, unnest($2, $3, $4, $5) WITH ORDINALITY AS new (kind, data, made_after, created_at, place)
    ORDER BY place";

/// One statement, unless it changes nothing.
pub(crate) async fn add(
    db: &mut PgConnection,
    id: SessionId,
    new: Vec<NewDecision>,
) -> StoreResult<()> {
    let count = new.len() as u64;
    let add = || {
        sql(ADD)
            .bind(id)
            .bind_list(new.iter().map(|new| new.kind.clone()))
            .bind_list(new.iter().map(|new| new.data.clone()))
            .bind_list(new.iter().map(|new| new.made_after))
            .bind_list(new.iter().map(|new| new.created_at))
    };
    if count > 0 && add().run(&mut *db).await? == count {
        return Ok(());
    }
    // Finds the reason.
    sessions::lock(&mut *db, id).await?;
    // This daemon may have got the session in between.
    match add().run(db).await? == count {
        true => Ok(()),
        false => Err(StoreError::Moved { session: id, holder: "another daemon".to_owned() }),
    }
}
