//! Versions of memory files, and the state of extraction, consolidation and instructions for a project.

use bethink_store::{
    ExtractedCandidates, ExtractionPlan, LastDream, MemoryStore, MemoryVersionFilter,
    NewMemoryVersion, RefusedStatement, SecretAllowance, StoreFuture, StoreResult, TopicVectors,
    VERSIONS_OF_A_FILE, VersionRecord,
};
use bethink_store_format::write_json;
use bethink_transcript::{Seq, SessionId, UnixMicros};
use sqlx::{AssertSqlSafe, PgConnection};

use crate::locks::{self, Lock};
use crate::plans;
use crate::record::Record;
use crate::row_values::words_hash;
use crate::sql::sql;
use crate::store::PostgresStore;

const ADD: &str = "
    INSERT INTO memory_versions (directory, file, version, hash, content, author, session, note, at)
    VALUES (
        $1,
        $2,
        (
            SELECT coalesce(max(version), 0) + 1
            FROM memory_versions
            WHERE directory = $1
              AND file = $2
        ),
        $3,
        $4,
        $5,
        $6,
        $7,
        $8
    )
    RETURNING version";

/// Lists versions. Needs one of the two endings below: a condition on an optional file would not use an index.
const VERSIONS: &str = "
    SELECT version, directory, file, hash, octet_length(content)::BIGINT AS bytes, author, session, note, at
    FROM memory_versions
    WHERE directory = $1
      AND ($4 IS NULL OR session = $4)";

const OF_FILE: &str = "
      AND file = $2
      AND version < $3
    ORDER BY version DESC
    LIMIT $5";

const OF_ALL_FILES: &str = "
    ORDER BY number DESC
    LIMIT $5";

/// Deletes all but the newest `$4` versions; `$3` is the newest.
const TRIM: &str = "
    DELETE FROM memory_versions
    WHERE directory = $1
      AND file = $2
      AND version <= $3 - $4";

/// Number of new versions after which old ones are deleted. They are not deleted at each write, because that would mean
/// counting thousands of rows each time.
const TRIM_EVERY: i64 = 256;

const CONTENT: &str = "
    SELECT *
    FROM memory_versions
    WHERE directory = $1
      AND file = $2
      AND version = $3";

const REFUSED: &str = "
    SELECT *
    FROM refused_statements
    WHERE project = $1
    ORDER BY words, negative";

const REFUSE: &str = "
    INSERT INTO refused_statements (project, words, negative, refused_at, words_hash)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT DO NOTHING";

const ALLOWANCES: &str = "
    SELECT *
    FROM secret_allowances
    WHERE directory = $1
    ORDER BY number";

const ALLOW: &str = "
    INSERT INTO secret_allowances (directory, file, rule, line, allowed_by, allowed_at)
    VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT DO NOTHING";

const VECTORS: &str = "
    SELECT *
    FROM topic_vectors
    WHERE project = $1
      AND encoder = $2";

const PUT_VECTORS: &str = "
    INSERT INTO topic_vectors (project, topic, hash, encoder, vectors)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (home, project, topic) DO UPDATE
    SET hash    = excluded.hash,
        encoder = excluded.encoder,
        vectors = excluded.vectors";

/// In the order in which [`PUT_VECTORS`] is run, so that two transactions never wait for each other.
const DELETE_VECTORS: &str = "
    DELETE FROM topic_vectors
    WHERE number IN (
        SELECT number
        FROM topic_vectors
        WHERE project = $1
          AND topic = ANY($2)
        ORDER BY topic
        FOR UPDATE
    )";

const LAST_DREAM: &str = "SELECT * FROM last_dreams WHERE project = $1";

const PUT_LAST_DREAM: &str = "
    INSERT INTO last_dreams (project, at, dream)
    VALUES ($1, $2, $3)
    ON CONFLICT (home, project) DO UPDATE
    SET at    = excluded.at,
        dream = excluded.dream";

/// Inserts the name, unless there is one, and returns the stored name.
const LOCK_NAME: &str = "
    INSERT INTO lock_names (number, name)
    VALUES (1, $1)
    ON CONFLICT (home, number) DO UPDATE
    SET name = lock_names.name
    RETURNING name";

const APPROVALS: &str = "SELECT * FROM import_approvals WHERE project = $1 ORDER BY path";

const APPROVE: &str = "
    INSERT INTO import_approvals (project, path, approved_at)
    VALUES ($1, $2, $3)
    ON CONFLICT (home, project, path) DO UPDATE
    SET approved_at = excluded.approved_at";

const REVOKE: &str = "DELETE FROM import_approvals WHERE project = $1 AND path = $2";

impl MemoryStore for PostgresStore {
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
        self.optional(sql(plans::MARK).bind(session), |row| row.get("through_seq"))
    }

    fn extraction_plan(&self, session: SessionId) -> StoreFuture<'_, Option<ExtractionPlan>> {
        Box::pin(plans::read(self, session))
    }

    fn put_extraction_plan(
        &self,
        session: SessionId,
        plan: ExtractionPlan,
        found: ExtractedCandidates,
    ) -> StoreFuture<'_, ()> {
        self.write(move |db| Box::pin(plans::put(db, session, plan, found)))
    }

    fn finish_extraction(&self, session: SessionId, through: Seq) -> StoreFuture<'_, ()> {
        self.write(move |db| Box::pin(plans::finish(db, session, through)))
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
        // The words may be too long for an index.
        let words = words_hash(&write_json(&statement.words));
        self.run(sql(REFUSE).bind(project).bind_all(statement).bind(at).bind(words))
    }

    fn secret_allowances(&self, directory: String) -> StoreFuture<'_, Vec<SecretAllowance>> {
        self.all(sql(ALLOWANCES).bind(directory), Record::read)
    }

    fn allow_secret(&self, directory: String, allowance: SecretAllowance) -> StoreFuture<'_, ()> {
        self.run(sql(ALLOW).bind(directory).bind_all(allowance))
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
        let mut topics = topics;
        // Two transactions that replace the same rows must do so in the same order.
        topics.sort_by(|one, other| one.topic.cmp(&other.topic));
        self.write(move |db| {
            Box::pin(async move {
                for one in topics {
                    sql(PUT_VECTORS)
                        .bind(project.clone())
                        .bind(one.topic)
                        .bind(one.hash)
                        .bind(encoder.clone())
                        .bind(one.vectors)
                        .run(&mut *db)
                        .await?;
                }
                Ok(())
            })
        })
    }

    fn delete_topic_vectors(&self, project: String, topics: Vec<String>) -> StoreFuture<'_, ()> {
        self.run(sql(DELETE_VECTORS).bind(project).bind_list(topics))
    }

    fn last_dream(&self, project: String) -> StoreFuture<'_, Option<LastDream>> {
        self.optional(sql(LAST_DREAM).bind(project), Record::read)
    }

    fn put_last_dream(&self, project: String, last: LastDream) -> StoreFuture<'_, ()> {
        self.run(sql(PUT_LAST_DREAM).bind(project).bind_all(last))
    }

    fn lock_name(&self, candidate: String) -> StoreFuture<'_, String> {
        self.write(move |db| Box::pin(sql(LOCK_NAME).bind(candidate).value(db)))
    }

    fn import_approvals(&self, project: String) -> StoreFuture<'_, Vec<String>> {
        self.all(sql(APPROVALS).bind(project), |row| row.get("path"))
    }

    fn approve_import(&self, project: String, path: String, at: UnixMicros) -> StoreFuture<'_, ()> {
        self.run(sql(APPROVE).bind(project).bind(path).bind(at))
    }

    fn revoke_import(&self, project: String, path: String) -> StoreFuture<'_, bool> {
        let revoke = sql(REVOKE).bind(project).bind(path);
        self.write(move |db| Box::pin(async move { Ok(revoke.run(db).await? > 0) }))
    }
}

/// Locks the directories, because a version's number depends on the version before it.
async fn add(db: &mut PgConnection, versions: Vec<NewMemoryVersion>) -> StoreResult<()> {
    locks::lock(&mut *db, versions.iter().map(|one| Lock::Versions(&one.directory))).await?;
    for version in versions {
        let (directory, file) = (version.directory.clone(), version.file.clone());
        let number: i64 = sql(ADD).bind_all(version).value(&mut *db).await?;
        if number % TRIM_EVERY == 0 {
            let trim = sql(TRIM).bind(directory).bind(file).bind(number);
            trim.bind(VERSIONS_OF_A_FILE).run(&mut *db).await?;
        }
    }
    Ok(())
}
