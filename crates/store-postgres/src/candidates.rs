//! Stores statements that extraction is not sure of. A transaction that adds or decides candidates locks their projects, so
//! that it counts right, and holds their sessions.

use std::collections::BTreeSet;

use bethink_store::{
    CandidateFilter, CandidateState, CandidateStore, DECIDED_CANDIDATES, ExtractedCandidates,
    StoreFuture, StoreResult, StoredCandidate, WAITING_CANDIDATES,
};
use bethink_store_format::write_json;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::locks::{self, Lock};
use crate::record::Record;
use crate::sessions;
use crate::sql::sql;
use crate::store::PostgresStore;

const ADD: &str = "
    INSERT INTO candidates (
        id, project_dir, session, seq, message, sentence, context, kind, rule, score, said_at, found_at,
        state, decided_at, decided_by, topic, offers
    )
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
    ON CONFLICT (home, id) DO NOTHING";

const UPDATE: &str = "
    UPDATE candidates
    SET state      = $2,
        decided_at = $3,
        decided_by = $4,
        topic      = $5,
        offers     = $6
    WHERE id = $1";

const CANDIDATE: &str = "
    SELECT *
    FROM candidates
    WHERE id = $1";

const CANDIDATES: &str = "
    SELECT *
    FROM candidates
    WHERE ($1 IS NULL OR project_dir = $1)
      AND ($2 IS NULL OR session = $2)
      AND ($3 IS NULL OR state = $3)
    ORDER BY number DESC";

const DELETE_WAITING: &str = "DELETE FROM candidates WHERE id = ANY($1) AND state = 0";

/// Leaves out rows of sessions that are being deleted.
const TRIM_WAITING: &str = "
    DELETE FROM candidates
    WHERE number IN (
        SELECT number
        FROM candidates
        WHERE project_dir = $1
          AND state = 0
        ORDER BY number DESC
        OFFSET $2
        FOR UPDATE SKIP LOCKED
    )";

const TRIM_DECIDED: &str = "
    DELETE FROM candidates
    WHERE number IN (
        SELECT number
        FROM candidates
        WHERE project_dir = $1
          AND state <> 0
        ORDER BY number DESC
        OFFSET $2
        FOR UPDATE SKIP LOCKED
    )";

const COUNT_REMOVED: &str = "
    INSERT INTO candidate_overflow (project_dir, removed)
    VALUES ($1, $2)
    ON CONFLICT (home, project_dir) DO UPDATE
    SET removed = candidate_overflow.removed + excluded.removed";

const REMOVED: &str = "SELECT removed FROM candidate_overflow WHERE project_dir = $1";

impl CandidateStore for PostgresStore {
    fn candidate(&self, id: Uuid) -> StoreFuture<'_, Option<StoredCandidate>> {
        self.optional(sql(CANDIDATE).bind(id), Record::read)
    }

    fn candidates(&self, filter: CandidateFilter) -> StoreFuture<'_, Vec<StoredCandidate>> {
        let CandidateFilter { project_dir, session, state } = filter;
        self.all(sql(CANDIDATES).bind(project_dir).bind(session).bind(state), Record::read)
    }

    fn removed_candidates(&self, project_dir: String) -> StoreFuture<'_, u64> {
        let removed = self.optional(sql(REMOVED).bind(project_dir), |row| row.get("removed"));
        Box::pin(async move { Ok(removed.await?.unwrap_or_default()) })
    }

    fn update_candidates(&self, candidates: Vec<StoredCandidate>) -> StoreFuture<'_, ()> {
        self.write(move |db| {
            Box::pin(async move {
                lock(db, candidates.iter()).await?;
                update(db, candidates).await
            })
        })
    }
}

async fn lock(
    db: &mut PgConnection,
    candidates: impl Iterator<Item = &StoredCandidate> + Clone,
) -> StoreResult<()> {
    let sessions: BTreeSet<_> = candidates.clone().map(|one| one.session).collect();
    sessions::hold_all(&mut *db, sessions).await?;
    locks::lock(db, candidates.map(|one| Lock::Candidates(&one.project_dir))).await
}

/// Adds an extraction's candidates, removes the candidates that they replace, and changes those that the extraction
/// decided on.
pub(crate) async fn put(db: &mut PgConnection, found: ExtractedCandidates) -> StoreResult<()> {
    lock(db, found.new.iter().chain(&found.decided)).await?;
    let project = found.new.first().map(|one| one.project_dir.clone());
    if !found.replaced.is_empty() {
        sql(DELETE_WAITING).bind_list(found.replaced).run(&mut *db).await?;
    }
    for one in found.new {
        sql(ADD).bind_all(one).run(&mut *db).await?;
    }
    if let Some(project) = project {
        let trim = sql(TRIM_WAITING).bind(project.clone()).bind(WAITING_CANDIDATES);
        let removed = trim.run(&mut *db).await?;
        if removed > 0 {
            sql(COUNT_REMOVED).bind(project).bind(removed).run(&mut *db).await?;
        }
    }
    update(db, found.decided).await
}

async fn update(db: &mut PgConnection, candidates: Vec<StoredCandidate>) -> StoreResult<()> {
    let decided = candidates.iter().filter(|one| one.state != CandidateState::Waiting);
    let projects: BTreeSet<String> = decided.map(|one| one.project_dir.clone()).collect();
    for one in candidates {
        sql(UPDATE)
            .bind(one.id)
            .bind(one.state)
            .bind(one.decided_at)
            .bind(one.decided_by)
            .bind(one.topic)
            .bind(write_json(&one.offers))
            .run(&mut *db)
            .await?;
    }
    for project in projects {
        sql(TRIM_DECIDED).bind(project).bind(DECIDED_CANDIDATES).run(&mut *db).await?;
    }
    Ok(())
}
