//! Finds the session that a request continues, by the client's own id or by the marks of the conversation's prefixes.

use bethink_store::{
    ClientSession, GatewayStore, Lineage, NewSession, Relative, StoreFuture, StoreResult,
};
use bethink_transcript::{Seq, SessionId};
use sqlx::PgConnection;

use crate::record::Record;
use crate::sessions;
use crate::sql::{Row, sql, unreadable};
use crate::store::PostgresStore;

/// Number of marks that are looked up at once, beginning with the longest prefix, because a request that continues a
/// session usually matches one of the longest.
const STRETCH: usize = 48;

/// Maximum number of sessions that are returned for one prefix.
const FOUND: i64 = 8;

const FIND: &str = "
    SELECT lineage.session, lineage.seq, sessions.last_seq
    FROM lineage
    JOIN sessions
      ON sessions.id = lineage.session
    WHERE lineage.mark = ANY($1)
      AND lineage.scope = $2
    ORDER BY lineage.seq DESC, sessions.last_seq > lineage.seq, sessions.updated_at DESC
    LIMIT $3";

const BEGINNINGS: &str = "
    SELECT scope, mark
    FROM lineage
    WHERE seq = 1";

const READ: &str = "
    SELECT scope, mark
    FROM lineage
    WHERE session = $1
    ORDER BY seq";

const CUT: &str = "
    DELETE FROM lineage
    WHERE session = $1
      AND seq > $2";

const PUT: &str = "
    INSERT INTO lineage (session, seq, scope, mark)
    SELECT $1, $2 + asked.place, $3, asked.mark
    FROM unnest($4) WITH ORDINALITY AS asked (mark, place)";

const CLIENT: &str = "
    SELECT *
    FROM client_sessions
    WHERE client = $1
      AND key = $2";

const CLIENT_OF: &str = "
    SELECT client, key, session
    FROM client_sessions
    WHERE session = $1
    ORDER BY number DESC
    LIMIT 1";

const PUT_CLIENT: &str = "
    INSERT INTO client_sessions (client, key, session)
    VALUES ($1, $2, $3)
    ON CONFLICT (client, key) DO UPDATE
    SET session = excluded.session";

impl GatewayStore for PostgresStore {
    fn client_session(&self, client: String, key: String) -> StoreFuture<'_, Option<SessionId>> {
        self.optional(sql(CLIENT).bind(client).bind(key), |row| row.get("session"))
    }

    fn client_of(&self, session: SessionId) -> StoreFuture<'_, Option<ClientSession>> {
        self.optional(sql(CLIENT_OF).bind(session), Record::read)
    }

    fn put_client_session(&self, known: ClientSession) -> StoreFuture<'_, ()> {
        self.run_for(known.session, sql(PUT_CLIENT).bind_all(known))
    }

    fn begin_session(
        &self,
        new: NewSession,
        lineage: Lineage,
        known: Option<ClientSession>,
    ) -> StoreFuture<'_, ()> {
        self.write(move |db| {
            Box::pin(async move {
                sessions::create(db, new, None).await?;
                put(db, lineage, Seq::ZERO).await?;
                let Some(known) = known else { return Ok(()) };
                sessions::hold(&mut *db, known.session).await?;
                sql(PUT_CLIENT).bind_all(known).run(db).await.map(drop)
            })
        })
    }

    fn put_lineage(&self, lineage: Lineage, after: Seq) -> StoreFuture<'_, ()> {
        self.write(move |db| Box::pin(put(db, lineage, after)))
    }

    fn lineage(&self, id: SessionId) -> StoreFuture<'_, Option<Lineage>> {
        Box::pin(async move {
            let rows = self.all(sql(READ).bind(id), beginning).await?;
            let Some((scope, _)) = rows.first().copied() else { return Ok(None) };
            let marks = rows.into_iter().map(|(_, mark)| mark).collect();
            Ok(Some(Lineage { session: id, scope, marks }))
        })
    }

    fn relatives(&self, scope: u64, marks: Vec<u128>) -> StoreFuture<'_, Vec<Relative>> {
        Box::pin(async move {
            for stretch in marks.rchunks(STRETCH) {
                let find =
                    sql(FIND).bind_list(bytes(stretch)).bind(scope.cast_signed()).bind(FOUND);
                let mut found = self.all(find, Relative::read).await?;
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

async fn put(db: &mut PgConnection, lineage: Lineage, after: Seq) -> StoreResult<()> {
    let Lineage { session, scope, marks } = lineage;
    sessions::lock(&mut *db, session).await?;
    sql(CUT).bind(session).bind(after).run(&mut *db).await?;
    let put = sql(PUT).bind(session).bind(after).bind(scope.cast_signed());
    put.bind_list(bytes(&marks)).run(db).await.map(drop)
}

/// Reads a scope and a mark.
fn beginning(row: &Row) -> StoreResult<(u64, u128)> {
    let mark = <[u8; 16]>::try_from(row.get::<Vec<u8>>("mark")?);
    let mark = mark.map_err(|_| {
        unreadable("a `mark` in the `lineage` table is not 16 bytes long".to_owned())
    })?;
    Ok((row.get::<i64>("scope")?.cast_unsigned(), u128::from_be_bytes(mark)))
}

fn bytes(marks: &[u128]) -> impl Iterator<Item = Vec<u8>> {
    marks.iter().map(|mark| mark.to_be_bytes().to_vec())
}
