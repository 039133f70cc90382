//! Which of our sessions a client means by an id of its own.

use bethink_store::{ClientSession, Result};
use bethink_transcript::SessionId;
use sqlx::SqlitePool;

use crate::convert::session_id;
use crate::error::from_sqlx;
use crate::sessions;
use crate::writer::Desk;

const READ: &str = "
    SELECT session
    FROM client_sessions
    WHERE client = ?
      AND key = ?";

const PUT: &str = "
    INSERT INTO client_sessions (client, key, session)
    VALUES (?, ?, ?)
    ON CONFLICT (client, key) DO UPDATE
    SET session = excluded.session";

pub(crate) async fn read(
    readers: &SqlitePool,
    client: String,
    key: String,
) -> Result<Option<SessionId>> {
    let row: Option<(Vec<u8>,)> = sqlx::query_as(READ)
        .bind(client)
        .bind(key)
        .fetch_optional(readers)
        .await
        .map_err(from_sqlx)?;
    row.map(|(session,)| session_id(&session)).transpose()
}

pub(crate) async fn put(desk: &mut Desk, known: ClientSession) -> Result<()> {
    sessions::must_exist(&mut desk.connection, known.session).await?;
    sqlx::query(PUT)
        .bind(known.client)
        .bind(known.key)
        .bind(known.session.0.as_bytes().to_vec())
        .execute(&mut desk.connection)
        .await
        .map(drop)
        .map_err(from_sqlx)
}
