//! Versions of memory files, and the state of extraction, consolidation and instructions for a project.

use bethink_store::{
    ExtractedCandidates, ExtractionPlan, LastDream, MemoryStore, MemoryVersionFilter,
    NewMemoryVersion, PlannedWrite, RefusedStatement, SecretAllowance, StoreFuture, StoreResult,
    TopicVectors, VERSIONS_OF_A_FILE, VersionRecord,
};
use bethink_transcript::{Seq, SessionId, UnixMicros};
use serde_json::json;
use sqlx::{AssertSqlSafe, SqliteConnection};

use crate::record::Record;
use crate::sql::{Row, sql};
use crate::store::SqliteStore;
use crate::{candidates, sessions};

const ADD: &str = "
    INSERT INTO memory_versions (directory, file, version, hash, content, author, session, note, at)
    VALUES (
        ?1,
        ?2,
        (
            SELECT coalesce(max(version), 0) + 1
            FROM memory_versions
            WHERE directory = ?1
              AND file = ?2
        ),
        ?3,
        ?4,
        ?5,
        ?6,
        ?7,
        ?8
    )
    RETURNING *";

/// Lists versions. Needs one of the two endings below: a condition on an optional file would not use an index.
const VERSIONS: &str = "
    SELECT version, directory, file, hash, length(content) AS bytes, author, session, note, at
    FROM memory_versions
    WHERE directory = ?1
      AND (?4 IS NULL OR session = ?4)";

const OF_FILE: &str = "
      AND file = ?2
      AND version < ?3
    ORDER BY version DESC
    LIMIT ?5";

const OF_ALL_FILES: &str = "
    ORDER BY number DESC
    LIMIT ?5";

/// Deletes all but the newest `?4` versions; `?3` is the newest.
const TRIM: &str = "
    DELETE FROM memory_versions
    WHERE directory = ?1
      AND file = ?2
      AND version <= ?3 - ?4";

/// Number of new versions after which old ones are deleted. They are not deleted at each write, because that would mean
/// counting thousands of rows each time.
const TRIM_EVERY: i64 = 256;

const CONTENT: &str = "
    SELECT *
    FROM memory_versions
    WHERE directory = ?
      AND file = ?
      AND version = ?";

const MARK: &str = "SELECT * FROM extraction_marks WHERE session = ?";

const MOVE_MARK: &str = "
    INSERT INTO extraction_marks (session, through_seq)
    VALUES (?, ?)
    ON CONFLICT (session) DO UPDATE
    SET through_seq = max(through_seq, excluded.through_seq)
    RETURNING *";

const PLAN: &str = "SELECT * FROM extraction_plans WHERE session = ?";

const PLANNED_WRITES: &str = "
    SELECT *
    FROM extraction_plan_writes
    WHERE session = ?
    ORDER BY number";

const DELETE_PLAN: [&str; 2] = [
    "DELETE FROM extraction_plans WHERE session = ?",
    "DELETE FROM extraction_plan_writes WHERE session = ?",
];

const ADD_PLAN: &str = "
    INSERT INTO extraction_plans (session, strategy, through_seq)
    VALUES (?, ?, ?)
    RETURNING *";

const ADD_WRITE: &str = "
    INSERT INTO extraction_plan_writes (session, proposed, name, replaces, text, sentence, seq)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    RETURNING *";

const REFUSED: &str = "
    SELECT *
    FROM refused_statements
    WHERE project = ?
    ORDER BY words, negative";

const REFUSE: &str = "
    INSERT INTO refused_statements (project, words, negative, refused_at)
    VALUES (?, ?, ?, ?)
    ON CONFLICT DO NOTHING
    RETURNING *";

const ALLOWANCES: &str = "
    SELECT *
    FROM secret_allowances
    WHERE directory = ?
    ORDER BY number";

const ALLOW: &str = "
    INSERT INTO secret_allowances (directory, file, rule, line, allowed_by, allowed_at)
    VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO NOTHING
    RETURNING *";

const VECTORS: &str = "
    SELECT *
    FROM topic_vectors
    WHERE project = ?
      AND encoder = ?";

const PUT_VECTORS: &str = "
    INSERT INTO topic_vectors (project, topic, hash, encoder, vectors)
    VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (project, topic) DO UPDATE
    SET hash    = excluded.hash,
        encoder = excluded.encoder,
        vectors = excluded.vectors
    RETURNING *";

const DELETE_VECTORS: &str = "
    DELETE FROM topic_vectors
    WHERE project = ?
      AND topic IN (SELECT value FROM json_each(?))";

const LAST_DREAM: &str = "SELECT * FROM last_dreams WHERE project = ?";

const PUT_LAST_DREAM: &str = "
    INSERT INTO last_dreams (project, at, dream)
    VALUES (?, ?, ?)
    ON CONFLICT (project) DO UPDATE
    SET at    = excluded.at,
        dream = excluded.dream
    RETURNING *";

/// Inserts the name, unless there is one, and returns the stored name.
const LOCK_NAME: &str = "
    INSERT INTO lock_names (number, name)
    VALUES (1, ?)
    ON CONFLICT (number) DO UPDATE
    SET name = name
    RETURNING name";

const APPROVALS: &str = "SELECT * FROM import_approvals WHERE project = ? ORDER BY path";

const APPROVE: &str = "
    INSERT INTO import_approvals (project, path, approved_at)
    VALUES (?, ?, ?)
    ON CONFLICT (project, path) DO UPDATE
    SET approved_at = excluded.approved_at
    RETURNING *";

const REVOKE: &str = "DELETE FROM import_approvals WHERE project = ? AND path = ?";

impl MemoryStore for SqliteStore {
    fn add_memory_versions(&self, versions: Vec<NewMemoryVersion>) -> StoreFuture<'_, ()> {
        self.write(move |db| Box::pin(add(db, versions)))
    }

    fn memory_versions(&self, filter: MemoryVersionFilter) -> StoreFuture<'_, Vec<VersionRecord>> {
        let rest = if filter.file.is_some() { OF_FILE } else { OF_ALL_FILES };
        let text = format!("{VERSIONS}{rest}");
        let list = sql(AssertSqlSafe(text))
            .bind(filter.directory)
            .bind(filter.file)
            .bind(filter.before.unwrap_or(i64::MAX))
            .bind(filter.session)
            .bind(filter.limit);
        self.all(list, Record::read)
    }

    fn memory_content(
        &self,
        directory: String,
        file: String,
        number: i64,
    ) -> StoreFuture<'_, Option<NewMemoryVersion>> {
        self.optional(sql(CONTENT).bind(directory).bind(file).bind(number), Record::read)
    }

    fn extraction_mark(&self, session: SessionId) -> StoreFuture<'_, Option<Seq>> {
        self.optional(sql(MARK).bind(session), mark)
    }

    fn extraction_plan(&self, session: SessionId) -> StoreFuture<'_, Option<ExtractionPlan>> {
        Box::pin(async move {
            let plan = self.optional(sql(PLAN).bind(session), |row| {
                let (strategy, through) = (row.get("strategy")?, row.get("through_seq")?);
                Ok(ExtractionPlan { strategy, through, ..ExtractionPlan::default() })
            });
            let Some(mut plan) = plan.await? else { return Ok(None) };
            let writes = self.all(sql(PLANNED_WRITES).bind(session), |row| {
                Ok((row.get("proposed")?, PlannedWrite::read(row)?))
            });
            for (proposed, write) in writes.await? {
                let list = if proposed { &mut plan.proposals } else { &mut plan.writes };
                list.push(write);
            }
            Ok(Some(plan))
        })
    }

    fn put_extraction_plan(
        &self,
        session: SessionId,
        plan: ExtractionPlan,
        found: ExtractedCandidates,
    ) -> StoreFuture<'_, ()> {
        self.write(move |db| {
            Box::pin(async move {
                delete_plan(db, session).await?;
                let add = sql(ADD_PLAN).bind(session).bind(plan.strategy).bind(plan.through);
                add.seal(&mut *db, "extraction_plans").await?;
                let writes = plan.writes.into_iter().map(|write| (false, write));
                let proposals = plan.proposals.into_iter().map(|write| (true, write));
                for (proposed, write) in writes.chain(proposals) {
                    sql(ADD_WRITE)
                        .bind(session)
                        .bind(proposed)
                        .bind_all(write)
                        .seal(&mut *db, "extraction_plan_writes")
                        .await?;
                }
                candidates::put(db, found).await
            })
        })
    }

    fn finish_extraction(&self, session: SessionId, through: Seq) -> StoreFuture<'_, ()> {
        self.write(move |db| {
            Box::pin(async move {
                delete_plan(db, session).await?;
                // An altered mark must not get a new checksum.
                sql(MARK).bind(session).optional(&mut *db, mark).await?;
                let move_mark = sql(MOVE_MARK).bind(session).bind(through);
                move_mark.seal(db, "extraction_marks").await.map(drop)
            })
        })
    }

    fn refused_statements(&self, project: String) -> StoreFuture<'_, Vec<RefusedStatement>> {
        self.all(sql(REFUSED).bind(project), Record::read)
    }

    fn refuse_statement(
        &self,
        project: String,
        statement: RefusedStatement,
        at: UnixMicros,
    ) -> StoreFuture<'_, ()> {
        let refuse = sql(REFUSE).bind(project).bind_all(statement).bind(at);
        self.seal("refused_statements", refuse)
    }

    fn secret_allowances(&self, directory: String) -> StoreFuture<'_, Vec<SecretAllowance>> {
        self.all(sql(ALLOWANCES).bind(directory), Record::read)
    }

    fn allow_secret(&self, directory: String, allowance: SecretAllowance) -> StoreFuture<'_, ()> {
        self.seal("secret_allowances", sql(ALLOW).bind(directory).bind_all(allowance))
    }

    fn topic_vectors(
        &self,
        project: String,
        encoder: String,
    ) -> StoreFuture<'_, Vec<TopicVectors>> {
        self.all(sql(VECTORS).bind(project).bind(encoder), Record::read)
    }

    fn put_topic_vectors(
        &self,
        project: String,
        encoder: String,
        topics: Vec<TopicVectors>,
    ) -> StoreFuture<'_, ()> {
        self.write(move |db| {
            Box::pin(async move {
                for one in topics {
                    sql(PUT_VECTORS)
                        .bind(project.clone())
                        .bind(one.topic)
                        .bind(one.hash)
                        .bind(encoder.clone())
                        .bind(one.vectors)
                        .seal(&mut *db, "topic_vectors")
                        .await?;
                }
                Ok(())
            })
        })
    }

    fn delete_topic_vectors(&self, project: String, topics: Vec<String>) -> StoreFuture<'_, ()> {
        self.run(sql(DELETE_VECTORS).bind(project).bind(json!(topics).to_string()))
    }

    fn last_dream(&self, project: String) -> StoreFuture<'_, Option<LastDream>> {
        self.optional(sql(LAST_DREAM).bind(project), Record::read)
    }

    fn put_last_dream(&self, project: String, last: LastDream) -> StoreFuture<'_, ()> {
        self.seal("last_dreams", sql(PUT_LAST_DREAM).bind(project).bind_all(last))
    }

    fn lock_name(&self, candidate: String) -> StoreFuture<'_, String> {
        self.write(move |db| Box::pin(sql(LOCK_NAME).bind(candidate).value(db)))
    }

    fn import_approvals(&self, project: String) -> StoreFuture<'_, Vec<String>> {
        self.all(sql(APPROVALS).bind(project), |row| row.get("path"))
    }

    fn approve_import(&self, project: String, path: String, at: UnixMicros) -> StoreFuture<'_, ()> {
        self.seal("import_approvals", sql(APPROVE).bind(project).bind(path).bind(at))
    }

    fn revoke_import(&self, project: String, path: String) -> StoreFuture<'_, bool> {
        let revoke = sql(REVOKE).bind(project).bind(path);
        self.write(move |db| Box::pin(async move { Ok(revoke.run(db).await? > 0) }))
    }
}

fn mark(row: &Row) -> StoreResult<Seq> {
    row.get("through_seq")
}

/// Deletes the session's plan, if it has one; the session must exist.
async fn delete_plan(db: &mut SqliteConnection, session: SessionId) -> StoreResult<()> {
    sessions::must_exist(&mut *db, session).await?;
    for statement in DELETE_PLAN {
        sql(statement).bind(session).run(&mut *db).await?;
    }
    Ok(())
}

async fn add(db: &mut SqliteConnection, versions: Vec<NewMemoryVersion>) -> StoreResult<()> {
    for version in versions {
        let (directory, file) = (version.directory.clone(), version.file.clone());
        let added = sql(ADD).bind_all(version).seal(&mut *db, "memory_versions").await?;
        let number = added.first().map(|row| row.get::<i64>("version")).transpose()?;
        let number = number.unwrap_or_default();
        if number % TRIM_EVERY == 0 {
            let trim = sql(TRIM).bind(directory).bind(file).bind(number);
            trim.bind(VERSIONS_OF_A_FILE).run(&mut *db).await?;
        }
    }
    Ok(())
}
