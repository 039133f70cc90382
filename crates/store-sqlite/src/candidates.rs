//! Stores statements that extraction is not sure of.

use std::collections::BTreeSet;

use bethink_store::{
    CandidateFilter, CandidateState, CandidateStore, DECIDED_CANDIDATES, ExtractedCandidates,
    StoreFuture, StoreResult, StoredCandidate, WAITING_CANDIDATES,
};
use serde_json::json;
use sqlx::SqliteConnection;
use uuid::Uuid;

use crate::record::Record;
use crate::sql::sql;
use crate::store::SqliteStore;

const ADD: &str = "
    INSERT INTO candidates (
        id, project_dir, session, seq, message, sentence, context, kind, rule, score, said_at, found_at,
        state, decided_at, decided_by, topic, offers
    )
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO NOTHING
    RETURNING *";

const UPDATE: &str = "
    UPDATE candidates
    SET state      = ?2,
        decided_at = ?3,
        decided_by = ?4,
        topic      = ?5,
        offers     = ?6
    WHERE id = ?1
    RETURNING *";

const CANDIDATE: &str = "
    SELECT *
    FROM candidates
    WHERE id = ?";

const CANDIDATES: &str = "
    SELECT *
    FROM candidates
    WHERE (?1 IS NULL OR project_dir = ?1)
      AND (?2 IS NULL OR session = ?2)
      AND (?3 IS NULL OR state = ?3)
    ORDER BY number DESC";

const DELETE_WAITING: &str = "DELETE FROM candidates WHERE id = ? AND state = 0";

const TRIM_WAITING: &str = "
    DELETE FROM candidates
    WHERE number IN (
        SELECT number
        FROM candidates
        WHERE project_dir = ?
          AND state = 0
        ORDER BY number DESC
        LIMIT -1 OFFSET ?
    )";

const TRIM_DECIDED: &str = "
    DELETE FROM candidates
    WHERE number IN (
        SELECT number
        FROM candidates
        WHERE project_dir = ?
          AND state <> 0
        ORDER BY number DESC
        LIMIT -1 OFFSET ?
    )";

const COUNT_REMOVED: &str = "
    INSERT INTO candidate_overflow (project_dir, removed)
    VALUES (?, ?)
    ON CONFLICT (project_dir) DO UPDATE
    SET removed = removed + excluded.removed";

const REMOVED: &str = "SELECT removed FROM candidate_overflow WHERE project_dir = ?";

impl CandidateStore for SqliteStore {
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
        self.write(move |db| Box::pin(update(db, candidates)))
    }
}

/// Adds an extraction's candidates, removes the candidates that they replace, and changes those that the extraction
/// decided on.
pub(crate) async fn put(db: &mut SqliteConnection, found: ExtractedCandidates) -> StoreResult<()> {
    let project = found.new.first().map(|one| one.project_dir.clone());
    for id in found.replaced {
        sql(DELETE_WAITING).bind(id).run(&mut *db).await?;
    }
    for one in found.new {
        sql(ADD).bind_all(one).seal(&mut *db, "candidates").await?;
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

async fn update(db: &mut SqliteConnection, candidates: Vec<StoredCandidate>) -> StoreResult<()> {
    let decided = candidates.iter().filter(|one| one.state != CandidateState::Waiting);
    let projects: BTreeSet<String> = decided.map(|one| one.project_dir.clone()).collect();
    for one in candidates {
        // The row gets a new checksum, so it must be intact.
        sql(CANDIDATE).bind(one.id).optional(&mut *db, |_| Ok(())).await?;
        sql(UPDATE)
            .bind(one.id)
            .bind(one.state)
            .bind(one.decided_at)
            .bind(one.decided_by)
            .bind(one.topic)
            .bind(json!(one.offers).to_string())
            .seal(&mut *db, "candidates")
            .await?;
    }
    for project in projects {
        sql(TRIM_DECIDED).bind(project).bind(DECIDED_CANDIDATES).run(&mut *db).await?;
    }
    Ok(())
}
