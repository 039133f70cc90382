//! The projects of sessions.

use bethink_store::{ProjectStore, SessionPlace, StoreFuture};

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

/// The holder of a session never writes its project, so this does not ask who holds it. Sessions that are being changed are left out, so
/// that nobody waits for another one.
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
    pub(crate) fn bind_place(self, place: Option<&SessionPlace>) -> Self {
        self.bind(place.map(|place| place.dir.clone()))
            .bind_optional_list(place.and_then(|place| place.keys.clone()))
            .bind(place.is_some_and(|place| place.exact))
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
