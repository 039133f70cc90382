//! What was decided about how history is shown.

use bethink_store::{Decision, NewDecision, Result};
use bethink_transcript::{SessionId, UnixMicros};
use sqlx::{FromRow, SqlitePool};

use crate::convert::{seq, seq_column};
use crate::error::from_sqlx;
use crate::rows::{MOST, bind_nulls, insert_rows, size_for, sizes};
use crate::sessions;
use crate::writer::Desk;

use std::sync::LazyLock;

const READ: &str = "
    SELECT number, kind, data, made_after, created_at
    FROM decisions
    WHERE session = ?
    ORDER BY number";

static INSERT: LazyLock<Vec<String>> = LazyLock::new(|| {
    sizes()
        .map(|size| insert_rows("decisions (session, kind, data, made_after, created_at)", 5, size))
        .into()
});

#[derive(FromRow)]
struct Row {
    number: i64,
    kind: String,
    data: String,
    made_after: i64,
    created_at: i64,
}

pub(crate) async fn read(readers: &SqlitePool, id: SessionId) -> Result<Vec<Decision>> {
    let rows: Vec<Row> = sqlx::query_as(READ)
        .bind(id.0.as_bytes().to_vec())
        .fetch_all(readers)
        .await
        .map_err(from_sqlx)?;
    if rows.is_empty() {
        sessions::must_exist(readers, id).await?;
    }
    Ok(rows.into_iter().map(Row::into_decision).collect())
}

pub(crate) async fn add(desk: &mut Desk, id: SessionId, new: Vec<NewDecision>) -> Result<()> {
    sessions::must_exist(&mut desk.connection, id).await?;
    for new in new.chunks(MOST) {
        let (at, size) = size_for(new.len());
        let mut statement = sqlx::query(INSERT[at].as_str());
        for decision in new {
            statement = statement
                .bind(id.0.as_bytes().to_vec())
                .bind(decision.kind.clone())
                .bind(decision.data.clone())
                .bind(seq_column(decision.made_after))
                .bind(decision.created_at.0);
        }
        bind_nulls(statement, (size - new.len()) * 5)
            .execute(&mut desk.connection)
            .await
            .map_err(from_sqlx)?;
    }
    Ok(())
}

impl Row {
    fn into_decision(self) -> Decision {
        Decision {
            id: self.number,
            kind: self.kind,
            data: self.data,
            made_after: seq(self.made_after),
            created_at: UnixMicros(self.created_at),
        }
    }
}
