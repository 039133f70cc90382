//! Finds the session that a request continues, by the client's own id or by the marks of the conversation's prefixes.

use bethink_store::{
    ClientSession, GatewayStore, Lineage, NewSession, Relative, StoreFuture, StoreResult,
};
use bethink_transcript::{Seq, SessionId};
use serde_json::json;
use sqlx::SqliteConnection;

use crate::record::Record;
use crate::sessions;
use crate::sql::{Row, sql, unreadable};
use crate::store::SqliteStore;

/// Number of marks that are looked up at once, beginning with the longest prefix, because a request that continues a
/// session usually matches one of the longest.
const STRETCH: usize = 48;

/// Maximum number of sessions that are returned for one prefix.
const FOUND: i64 = 8;

const FIND: &str = "
    SELECT lineage.session, lineage.seq, sessions.last_seq
    FROM json_each(?1) AS asked
    JOIN lineage
      ON lineage.mark = unhex(asked.value)
    JOIN sessions
      ON sessions.id = lineage.session
    WHERE lineage.scope = ?2
    ORDER BY lineage.seq DESC, sessions.last_seq > lineage.seq, sessions.updated_at DESC
    LIMIT ?3";

const BEGINNINGS: &str = "
    SELECT scope, mark
    FROM lineage
    WHERE seq = 1";

const READ: &str = "
    SELECT scope, mark
    FROM lineage
    WHERE session = ?
    ORDER BY seq";

const CUT: &str = "
    DELETE FROM lineage
    WHERE session = ?
      AND seq > ?";

const PUT: &str = "
    INSERT INTO lineage (session, seq, scope, mark)
    SELECT ?1, ?2 + asked.key, ?3, unhex(asked.value)
    FROM json_each(?4) AS asked";

const CLIENT: &str = "
    SELECT *
    FROM client_sessions
    WHERE client = ?
      AND key = ?";

const CLIENT_OF: &str = "
    SELECT client, key, session
    FROM client_sessions
    WHERE session = ?
    ORDER BY number DESC
    LIMIT 1";

const PUT_CLIENT: &str = "
    INSERT INTO client_sessions (client, key, session)
    VALUES (?, ?, ?)
    ON CONFLICT (client, key) DO UPDATE
    SET session = excluded.session
    RETURNING *";

impl GatewayStore for SqliteStore {
    fn client_session(&self, client: String, key: String) -> StoreFuture<'_, Option<SessionId>> {
        self.optional(sql(CLIENT).bind(client).bind(key), |row| row.get("session"))
    }

    fn client_of(&self, session: SessionId) -> StoreFuture<'_, Option<ClientSession>> {
        self.optional(sql(CLIENT_OF).bind(session), Record::read)
    }

    fn put_client_session(&self, known: ClientSession) -> StoreFuture<'_, ()> {
        self.write(move |db| Box::pin(put_client(db, known)))
    }

    fn begin_session(
        &self,
        new: NewSession,
        lineage: Lineage,
        known: Option<ClientSession>,
    ) -> StoreFuture<'_, ()> {
        self.write_history(move |db| {
            Box::pin(async move {
                sessions::create(db, new, None).await?;
                put(db, lineage, Seq::ZERO).await?;
                match known {
                    Some(known) => put_client(db, known).await,
                    None => Ok(()),
                }
            })
        })
    }

    fn put_lineage(&self, lineage: Lineage, after: Seq) -> StoreFuture<'_, ()> {
        self.write(move |db| Box::pin(put(db, lineage, after)))
    }

    fn lineage(&self, id: SessionId) -> StoreFuture<'_, Option<Lineage>> {
        self.read(async move {
            let rows = sql(READ).bind(id).all(&*self.readers.get().await, beginning).await?;
            let Some((scope, _)) = rows.first().copied() else { return Ok(None) };
            let marks = rows.into_iter().map(|(_, mark)| mark).collect();
            Ok(Some(Lineage { session: id, scope, marks }))
        })
    }

    fn relatives(&self, scope: u64, marks: Vec<u128>) -> StoreFuture<'_, Vec<Relative>> {
        self.read(async move {
            for stretch in marks.rchunks(STRETCH) {
                let find = sql(FIND).bind(list(stretch)).bind(scope.cast_signed()).bind(FOUND);
                let mut found = find.all(&*self.readers.get().await, Relative::read).await?;
                if let Some(longest) = found.first().map(|relative| relative.through) {
                    found.retain(|relative| relative.through == longest);
                    return Ok(found);
                }
            }
            Ok(Vec::new())
        })
    }

    fn beginnings(&self) -> StoreFuture<'_, Vec<(u64, u128)>> {
        self.all(sql(BEGINNINGS), beginning)
    }
}

async fn put_client(db: &mut SqliteConnection, known: ClientSession) -> StoreResult<()> {
    sessions::must_exist(&mut *db, known.session).await?;
    sql(PUT_CLIENT).bind_all(known).seal(db, "client_sessions").await.map(drop)
}

async fn put(db: &mut SqliteConnection, lineage: Lineage, after: Seq) -> StoreResult<()> {
    let Lineage { session, scope, marks } = lineage;
    sessions::must_exist(&mut *db, session).await?;
    sql(CUT).bind(session).bind(after).run(&mut *db).await?;
    let put = sql(PUT).bind(session).bind(after.next()).bind(scope.cast_signed());
    put.bind(list(&marks)).run(db).await.map(drop)
}

/// Reads a scope and a mark.
fn beginning(row: &Row) -> StoreResult<(u64, u128)> {
    let mark = <[u8; 16]>::try_from(row.get::<Vec<u8>>("mark")?);
    let mark = mark.map_err(|_| {
        unreadable("a `mark` in the `lineage` table is not 16 bytes long".to_owned())
    })?;
    Ok((row.get::<i64>("scope")?.cast_unsigned(), u128::from_be_bytes(mark)))
}

/// Returns marks as a JSON array of hexadecimal strings.
fn list(marks: &[u128]) -> String {
    json!(marks.iter().map(|mark| format!("{mark:032x}")).collect::<Vec<_>>()).to_string()
}
