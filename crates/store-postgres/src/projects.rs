//! The projects of sessions.

use bethink_store::{ProjectStore, StoreFuture};

use crate::sql::sql;
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

/// The holder of a session never writes its project, so this does not ask who holds it.
const SET_PROJECT: &str = "
    UPDATE sessions
    SET project_key = $2
    WHERE project_dir = $1
      AND project_key IS NULL";

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
