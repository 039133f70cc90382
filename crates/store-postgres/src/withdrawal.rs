//! Removes copies of this person's sessions from the team's tables, which need not exist.

use bethink_store::StoreResult;
use bethink_transcript::SessionId;
use sqlx::PgConnection;

use crate::sql::{Row, sql};

const PERSON: &str = "
    SELECT session_user::TEXT
    WHERE to_regclass('bethink_team.version') IS NOT NULL";

const WITHDRAW: &str = "SELECT bethink_team.withdraw($1)";

/// Returns the login, by which the team's tables know this person; `None` if there are no such tables.
pub(crate) async fn person(db: &mut PgConnection) -> StoreResult<Option<String>> {
    sql(PERSON).optional(db, |row: &Row| row.get(0)).await
}

/// Removes copies of this person. Returns their number.
pub(crate) async fn withdraw(db: &mut PgConnection, sessions: Vec<SessionId>) -> StoreResult<u64> {
    sql(WITHDRAW).bind_list(sessions).value(db).await
}

/// Removes the copy of a session that is deleted, if there is one.
pub(crate) async fn forget(db: &mut PgConnection, session: SessionId) -> StoreResult<()> {
    match person(&mut *db).await? {
        Some(_) => withdraw(db, vec![session]).await.map(drop),
        None => Ok(()),
    }
}
