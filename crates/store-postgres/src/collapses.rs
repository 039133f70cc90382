//! Staged and committed spans of sessions, with the texts that replace them.

use bethink_store::{CollapseRecord, NewDecision, StoreError, StoreResult};
use bethink_transcript::SessionId;
use sqlx::PgConnection;

use crate::decisions;
use crate::sql::{Row, sql};

pub(crate) const READ: &str = "
    SELECT *
    FROM collapses
    WHERE session = $1
    ORDER BY first_seq";

const DROP_STAGED: &str = "
    DELETE FROM collapses
    WHERE session = $1
      AND id <> $2
      AND first_seq <= $3
      AND last_seq >= $4
      AND committed_at IS NULL";

const IN_THE_WAY: &str = "
    SELECT count(*)
    FROM collapses
    WHERE session = $1
      AND id <> $2
      AND first_seq <= $3
      AND last_seq >= $4";

const PUT: &str = "
    INSERT INTO collapses (
        session, id, first_seq, last_seq, text, tokens_before, tokens, strategy, staged_after,
        staged_at, committed_after, committed_at
    )
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
    ON CONFLICT (session, id) DO UPDATE
    SET committed_after = coalesce(collapses.committed_after, excluded.committed_after),
        committed_at    = coalesce(collapses.committed_at, excluded.committed_at)";

/// Adding the decisions locks the session, so that no other transaction adds an overlapping span.
pub(crate) async fn put(
    db: &mut PgConnection,
    session: SessionId,
    spans: Vec<CollapseRecord>,
    with: Vec<NewDecision>,
) -> StoreResult<()> {
    decisions::add(db, session, with).await?;
    for span in spans {
        make_room(db, session, &span).await?;
        sql(PUT)
            .bind(session)
            .bind(span.id)
            .bind(span.first_seq)
            .bind(span.last_seq)
            .bind(span.text)
            .bind(span.tokens_before)
            .bind(span.tokens)
            .bind(span.strategy)
            .bind(span.staged_after)
            .bind(span.staged_at)
            .bind(span.committed.map(|(after, _)| after))
            .bind(span.committed.map(|(_, at)| at))
            .run(&mut *db)
            .await?;
    }
    Ok(())
}

/// Removes staged spans that overlap a new one; an overlapping committed span is a conflict.
async fn make_room(
    db: &mut PgConnection,
    session: SessionId,
    span: &CollapseRecord,
) -> StoreResult<()> {
    let sharing =
        |text| sql(text).bind(session).bind(span.id).bind(span.last_seq).bind(span.first_seq);
    sharing(DROP_STAGED).run(&mut *db).await?;
    let shown: u64 = sharing(IN_THE_WAY).value(db).await?;
    if shown > 0 {
        return Err(StoreError::Conflict(format!(
            "some of the messages {} to {} are already collapsed",
            span.first_seq, span.last_seq
        )));
    }
    Ok(())
}

pub(crate) fn collapse(row: &Row) -> StoreResult<CollapseRecord> {
    let committed_after: Option<_> = row.get("committed_after")?;
    Ok(CollapseRecord {
        id: row.get("id")?,
        session: row.get("session")?,
        first_seq: row.get("first_seq")?,
        last_seq: row.get("last_seq")?,
        text: row.get("text")?,
        tokens_before: row.get("tokens_before")?,
        tokens: row.get("tokens")?,
        strategy: row.get("strategy")?,
        staged_after: row.get("staged_after")?,
        staged_at: row.get("staged_at")?,
        committed: committed_after.zip(row.get("committed_at")?),
    })
}
