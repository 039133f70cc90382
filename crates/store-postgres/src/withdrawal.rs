//! Removes copies of this person's sessions from the team's tables, which need not exist.

use bethink_store::{StoreError, StoreResult, TeamTables};
use bethink_transcript::SessionId;
use sqlx::PgConnection;

use crate::sql::{Row, sql};

/// The tables must belong to the role of this name, which nobody can log in as: whoever owns them decides what our statements
/// run.
const PERSON: &str = "
    SELECT session_user::TEXT
    FROM pg_namespace
    JOIN pg_roles
      ON pg_roles.oid = nspowner
    WHERE nspname = 'bethink_team'
      AND rolname = 'bethink_team'
      AND NOT rolcanlogin
      AND has_schema_privilege(pg_namespace.oid, 'USAGE')";

const WITHDRAW: &str = "SELECT bethink_team.withdraw($1)";

/// Returns the login, by which the team's tables know this person; `None` if there are no such tables.
pub(crate) async fn person(db: &mut PgConnection) -> StoreResult<Option<String>> {
    sql(PERSON).optional(db, |row: &Row| row.get(0)).await
}

/// Removes copies of this person. Returns their number.
pub(crate) async fn withdraw(db: &mut PgConnection, sessions: Vec<SessionId>) -> StoreResult<u64> {
    sql(WITHDRAW).bind_list(sessions).value(db).await.map_err(of_team)
}

/// Removes the copy of a session that is deleted, if there is one.
pub(crate) async fn forget(db: &mut PgConnection, session: SessionId) -> StoreResult<()> {
    match person(&mut *db).await? {
        Some(_) => withdraw(db, vec![session]).await.map(drop),
        None => Ok(()),
    }
}

/// Says what is wrong with the team's tables, or what others do there, which is no fault of the database.
pub(crate) fn of_team(error: StoreError) -> StoreError {
    let why = match error {
        StoreError::Denied(_) => {
            "could not use the team's tables: permission denied; perhaps you are no longer a contributor to the team project (ask an admin of it), or another person already shares a session with the same id"
                .to_owned()
        }
        StoreError::Damaged(_) => TeamTables::Missing.to_string(),
        StoreError::Contended(why) => format!("the team's tables could not be used in time ({why}); try again"),
        other => return other,
    };
    StoreError::Conflict(why)
}
