//! How far memories were extracted from a session, and what an extraction is about to write.

use bethink_store::{ExtractedCandidates, ExtractionPlan, PlannedWrite, StoreResult};
use bethink_transcript::{Seq, SessionId};
use sqlx::PgConnection;

use crate::record::Record;
use crate::sql::sql;
use crate::store::PostgresStore;
use crate::{candidates, sessions};

pub(crate) const MARK: &str = "SELECT * FROM extraction_marks WHERE session = $1";

const MOVE_MARK: &str = "
    INSERT INTO extraction_marks (session, through_seq)
    VALUES ($1, $2)
    ON CONFLICT (session) DO UPDATE
    SET through_seq = greatest(extraction_marks.through_seq, excluded.through_seq)";

/// Reads the plan with its writes, or with NULL if it has none.
const PLAN: &str = "
    SELECT strategy, through_seq, proposed, name, replaces, text, sentence, seq
    FROM extraction_plans
    LEFT JOIN extraction_plan_writes AS writes USING (session)
    WHERE session = $1
    ORDER BY writes.number";

const DELETE_PLAN: [&str; 2] = [
    "DELETE FROM extraction_plans WHERE session = $1",
    "DELETE FROM extraction_plan_writes WHERE session = $1",
];

const ADD_PLAN: &str = "
    INSERT INTO extraction_plans (session, strategy, through_seq)
    VALUES ($1, $2, $3)";

const ADD_WRITE: &str = "
    INSERT INTO extraction_plan_writes (session, proposed, name, replaces, text, sentence, seq)
    VALUES ($1, $2, $3, $4, $5, $6, $7)";

pub(crate) async fn read(
    store: &PostgresStore,
    session: SessionId,
) -> StoreResult<Option<ExtractionPlan>> {
    // Both in one statement, because another process may replace the plan in between.
    let rows = store.all(sql(PLAN).bind(session), |row| {
        let (strategy, through) = (row.get("strategy")?, row.get("through_seq")?);
        let write = match row.get("proposed")? {
            Some(proposed) => Some((proposed, PlannedWrite::read(row)?)),
            None => None,
        };
        Ok((strategy, through, write))
    });
    let mut plan: Option<ExtractionPlan> = None;
    for (strategy, through, write) in rows.await? {
        let plan =
            plan.get_or_insert(ExtractionPlan { strategy, through, ..ExtractionPlan::default() });
        match write {
            Some((true, write)) => plan.proposals.push(write),
            Some((false, write)) => plan.writes.push(write),
            None => {}
        }
    }
    Ok(plan)
}

/// Replaces the session's plan and stores the extraction's candidates.
pub(crate) async fn put(
    db: &mut PgConnection,
    session: SessionId,
    plan: ExtractionPlan,
    found: ExtractedCandidates,
) -> StoreResult<()> {
    delete(db, session).await?;
    sql(ADD_PLAN).bind(session).bind(plan.strategy).bind(plan.through).run(&mut *db).await?;
    let writes = plan.writes.into_iter().map(|write| (false, write));
    let proposals = plan.proposals.into_iter().map(|write| (true, write));
    for (proposed, write) in writes.chain(proposals) {
        sql(ADD_WRITE).bind(session).bind(proposed).bind_all(write).run(&mut *db).await?;
    }
    candidates::put(db, found).await
}

pub(crate) async fn finish(
    db: &mut PgConnection,
    session: SessionId,
    through: Seq,
) -> StoreResult<()> {
    delete(db, session).await?;
    sql(MOVE_MARK).bind(session).bind(through).run(db).await.map(drop)
}

/// Locks the session, which must exist, and deletes its plan, if it has one.
async fn delete(db: &mut PgConnection, session: SessionId) -> StoreResult<()> {
    sessions::lock_any(&mut *db, session).await?;
    for statement in DELETE_PLAN {
        sql(statement).bind(session).run(&mut *db).await?;
    }
    Ok(())
}
