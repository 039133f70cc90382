//! The projects of sessions.

use bethink_store::{ProjectStore, StoreFuture};

use crate::sql::sql;
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

const SET_PROJECT: &str = "
    UPDATE sessions
    SET project_key = ?2
    WHERE project_dir = ?1
      AND project_key IS NULL
    RETURNING *";

impl ProjectStore for SqliteStore {
    fn project_of_directory(&self, dir: String) -> StoreFuture<'_, Option<String>> {
        self.optional(sql(PROJECT).bind(dir), |row| row.get("project_key"))
    }

    fn directories_without_project(&self) -> StoreFuture<'_, Vec<String>> {
        self.all(sql(WITHOUT_PROJECT), |row| row.get("project_dir"))
    }

    fn set_project_of_directory(&self, dir: String, project: String) -> StoreFuture<'_, ()> {
        self.seal("sessions", sql(SET_PROJECT).bind(dir).bind(project))
    }
}
