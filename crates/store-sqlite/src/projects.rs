//! The projects of sessions.

use bethink_store::{ProjectStore, SessionLocation, StoreFuture};
use serde_json::json;

use crate::sql::{Statement, sql};
use crate::store::SqliteStore;

const PROJECT: &str = "
    SELECT *
    FROM sessions
    WHERE project_dir = ?
      AND project_key IS NOT NULL
    ORDER BY number DESC
    LIMIT 1";

const WITHOUT_PROJECT: &str = "
    SELECT DISTINCT project_dir
    FROM sessions
    WHERE project_key IS NULL
    ORDER BY project_dir";

const OF_DIRECTORY: &str = "
    SELECT *
    FROM sessions
    WHERE project_dir = ?
      AND project_key IS NULL";

const SET_PROJECT: &str = "
    UPDATE sessions
    SET project_key = ?2
    WHERE number IN (SELECT value FROM json_each(?1))
    RETURNING *";

impl Statement {
    /// Binds the directory, its projects' keys as JSON, and whether only the directory is meant.
    pub(crate) fn bind_location(self, location: Option<&SessionLocation>) -> Self {
        let keys = location.and_then(|at| at.project_keys.as_ref());
        self.bind(location.map(|at| at.dir.clone()))
            .bind(keys.map(|keys| json!(keys).to_string()))
            .bind(location.is_some_and(|at| at.exact_dir))
    }
}

impl ProjectStore for SqliteStore {
    fn project_of_directory(&self, dir: String) -> StoreFuture<'_, Option<String>> {
        self.optional(sql(PROJECT).bind(dir), |row| row.get("project_key"))
    }

    fn directories_without_project(&self) -> StoreFuture<'_, Vec<String>> {
        self.all(sql(WITHOUT_PROJECT), |row| row.get("project_dir"))
    }

    fn set_project_of_directory(&self, dir: String, project: String) -> StoreFuture<'_, ()> {
        self.write(move |db| {
            Box::pin(async move {
                // Reading verifies the checksums that are replaced.
                let rows = sql(OF_DIRECTORY).bind(dir);
                let rows = rows.all(&mut *db, |row| row.get::<i64>("number")).await?;
                let set = sql(SET_PROJECT).bind(json!(rows).to_string()).bind(project);
                set.seal(db, "sessions").await.map(drop)
            })
        })
    }
}
