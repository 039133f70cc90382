//! How far client transcripts have been read, and which memories conversations have received.

use bethink_store::{
    DeliveredMemories, HookStore, StoreFuture, TranscriptPlace, TranscriptPosition,
};
use bethink_transcript::SessionId;

use crate::record::Record;
use crate::sql::sql;
use crate::store::PostgresStore;

const POSITION: &str = "
    SELECT *
    FROM transcript_positions
    WHERE session = $1
      AND path = $2";

const PUT_POSITION: &str = "
    INSERT INTO transcript_positions (session, path, bytes, hash, through_seq, elsewhere)
    VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (session, path) DO UPDATE
    SET bytes       = excluded.bytes,
        hash        = excluded.hash,
        through_seq = excluded.through_seq,
        elsewhere   = excluded.elsewhere";

const HAS_TRANSCRIPT: &str = "
    SELECT EXISTS (SELECT FROM transcript_positions WHERE session = $1)";

const PLACES: &str = "
    SELECT *
    FROM transcript_places
    ORDER BY number";

const PUT_PLACE: &str = "
    INSERT INTO transcript_places (agent, path, read_at)
    VALUES ($1, $2, $3)
    ON CONFLICT (home, agent, path) DO UPDATE
    SET read_at = excluded.read_at";

const DELIVERED: &str = "
    SELECT *
    FROM delivered_memories
    WHERE client = $1
      AND key = $2";

const PUT_DELIVERED: &str = "
    INSERT INTO delivered_memories (client, key, names, bytes)
    VALUES ($1, $2, $3, $4)
    ON CONFLICT (client, key) DO UPDATE
    SET names = excluded.names,
        bytes = excluded.bytes";

const DELETE_DELIVERED: &str = "DELETE FROM delivered_memories WHERE client = $1 AND key = $2";

impl HookStore for PostgresStore {
    fn transcript_position(
        &self,
        session: SessionId,
        path: String,
    ) -> StoreFuture<'_, Option<TranscriptPosition>> {
        self.optional(sql(POSITION).bind(session).bind(path), Record::read)
    }

    fn put_transcript_position(
        &self,
        session: SessionId,
        path: String,
        position: TranscriptPosition,
    ) -> StoreFuture<'_, ()> {
        let put = sql(PUT_POSITION).bind(session).bind(path).bind_all(position);
        self.run_for(session, put)
    }

    fn has_transcript(&self, session: SessionId) -> StoreFuture<'_, bool> {
        let find = sql(HAS_TRANSCRIPT).bind(session);
        self.read(async move { find.value(&mut *self.readers.get().await?).await })
    }

    fn transcript_places(&self) -> StoreFuture<'_, Vec<TranscriptPlace>> {
        self.all(sql(PLACES), Record::read)
    }

    fn put_transcript_place(&self, place: TranscriptPlace) -> StoreFuture<'_, ()> {
        self.run(sql(PUT_PLACE).bind_all(place))
    }

    fn delivered_memories(
        &self,
        client: String,
        key: String,
    ) -> StoreFuture<'_, Option<DeliveredMemories>> {
        self.optional(sql(DELIVERED).bind(client).bind(key), Record::read)
    }

    fn put_delivered_memories(
        &self,
        client: String,
        key: String,
        delivered: DeliveredMemories,
    ) -> StoreFuture<'_, ()> {
        let put = sql(PUT_DELIVERED).bind(client).bind(key).bind_all(delivered);
        self.run(put)
    }

    fn delete_delivered_memories(&self, client: String, key: String) -> StoreFuture<'_, ()> {
        self.run(sql(DELETE_DELIVERED).bind(client).bind(key))
    }
}
