//! The projects of sessions.

use bethink_store::{ProjectStore, SessionLocation, StoreFuture};

use crate::sql::{Statement, sql};
use crate::store::PostgresStore;

const PROJECT: &str = "
    SELECT project_key
    FROM sessions
    WHERE project_dir = $1
      AND project_key IS NOT NULL
    ORDER BY number DESC
    LIMIT 1";

const WITHOUT_PROJECT: &str = "
    SELECT DISTINCT project_dir
    FROM sessions
    WHERE project_key IS NULL
    ORDER BY project_dir";

/// The holder of a session never writes its project, so this does not ask who holds it. Skips locked rows, so that no daemon
/// waits.
const SET_PROJECT: &str = "
    UPDATE sessions
    SET project_key = $2
    WHERE number IN (
        SELECT number
        FROM sessions
        WHERE project_dir = $1
          AND project_key IS NULL
        ORDER BY number
        FOR UPDATE SKIP LOCKED
    )";

impl Statement {
    /// Binds the directory, its projects' keys, and whether only the directory is meant.
    pub(crate) fn bind_location(self, location: Option<&SessionLocation>) -> Self {
        self.bind(location.map(|at| at.dir.clone()))
            .bind_optional_list(location.and_then(|at| at.project_keys.clone()))
            .bind(location.is_some_and(|at| at.exact_dir))
    }
}

impl ProjectStore for PostgresStore {
    fn project_of_directory(&self, dir: String) -> StoreFuture<'_, Option<String>> {
        self.optional(sql(PROJECT).bind(dir), |row| row.get("project_key"))
    }

    fn directories_without_project(&self) -> StoreFuture<'_, Vec<String>> {
        self.all(sql(WITHOUT_PROJECT), |row| row.get("project_dir"))
    }

    fn set_project_of_directory(&self, dir: String, project: String) -> StoreFuture<'_, ()> {
        self.run(sql(SET_PROJECT).bind(dir).bind(project))
    }
}
