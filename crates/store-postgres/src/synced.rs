//! The memory files that all homes have.

use std::collections::HashMap;

use bethink_store::{
    DirectoryRevision, StoreFuture, StoreResult, SyncedChange, SyncedDirectory, SyncedFile,
    SyncedMemoryStore,
};

use crate::locks::{self, Lock};
use crate::presence::{Message, Presence};
use crate::sql::{Row, sql};
use crate::store::PostgresStore;

const PUT_NAME: &str = "
    INSERT INTO synced_projects (project, name)
    VALUES ($1, $2)
    ON CONFLICT (project) DO UPDATE
    SET name = excluded.name";

const NAME: &str = "SELECT name FROM synced_projects WHERE project = $1";

const CLONES: &str = "
    SELECT project
    FROM synced_projects
    WHERE name = (SELECT name FROM synced_projects WHERE project = $1)
    ORDER BY project";

/// One statement, so that the revision is that of the files. A directory may have no files.
const DIRECTORY: &str = "
    SELECT id, revision, file, hash
    FROM synced_directories
    LEFT JOIN synced_files USING (directory)
    WHERE directory = $1
    ORDER BY file";

const FILES: &str = "
    SELECT file, content
    FROM synced_files
    WHERE directory = $1
      AND file = ANY ($2)
    ORDER BY file";

const HASHES: &str = "
    SELECT file, hash
    FROM synced_files
    WHERE directory = $1
      AND file = ANY ($2)";

const TOUCH: &str = "
    INSERT INTO synced_directories (directory)
    VALUES ($1)
    ON CONFLICT (directory) DO UPDATE
    SET revision = synced_directories.revision + 1
    RETURNING id, revision";

const PUT_FILES: &str = "
    INSERT INTO synced_files (directory, file, hash, content)
    SELECT $1, file, hash, content
    FROM unnest($2, $3, $4) AS changed (file, hash, content)
    ON CONFLICT (directory, file) DO UPDATE
    SET hash    = excluded.hash,
        content = excluded.content";

const DELETE_FILES: &str = "
    DELETE FROM synced_files
    WHERE directory = $1
      AND file = ANY ($2)";

impl SyncedMemoryStore for PostgresStore {
    fn record_project_name(
        &self,
        project: String,
        known: Option<String>,
    ) -> StoreFuture<'_, Option<String>> {
        Box::pin(async move {
            let name = sql(NAME).bind(project.clone());
            let stored = self.optional(name, |row| row.get("name")).await?;
            if let Some(known) = known.filter(|known| stored.as_ref() != Some(known)) {
                self.run(sql(PUT_NAME).bind(project).bind(known.clone())).await?;
                return Ok(Some(known));
            }
            Ok(stored)
        })
    }

    fn clones_of(&self, project: String) -> StoreFuture<'_, Vec<String>> {
        self.all(sql(CLONES).bind(project), |row| row.get("project"))
    }

    fn synced_directory(&self, directory: String) -> StoreFuture<'_, SyncedDirectory> {
        Box::pin(async move {
            let rows = self.all(sql(DIRECTORY).bind(directory), |row| {
                let file: Option<String> = row.get("file")?;
                let hash: Option<String> = row.get("hash")?;
                Ok((version(row)?, file.zip(hash)))
            });
            let rows = rows.await?;
            let version = rows.first().map(|(version, _)| *version);
            Ok(SyncedDirectory {
                version,
                files: rows.into_iter().filter_map(|row| row.1).collect(),
            })
        })
    }

    fn synced_files(
        &self,
        directory: String,
        files: Vec<String>,
    ) -> StoreFuture<'_, Vec<SyncedFile>> {
        self.all(sql(FILES).bind(directory).bind_list(files), |row| {
            Ok(SyncedFile { file: row.get("file")?, content: row.get("content")? })
        })
    }

    fn change_synced_files(
        &self,
        directory: String,
        changes: Vec<SyncedChange>,
    ) -> StoreFuture<'_, Option<DirectoryRevision>> {
        let presence = self.presence.clone();
        self.write(move |db| {
            Box::pin(async move {
                locks::lock(&mut *db, [Lock::SyncedDirectory(&directory)]).await?;
                let files = changes.iter().map(|change| change.file.clone());
                let found = sql(HASHES).bind(directory.clone()).bind_list(files);
                let found = found.all(&mut *db, |row| Ok((row.get("file")?, row.get("hash")?)));
                let found: HashMap<String, String> = found.await?.into_iter().collect();
                if changes.iter().any(|change| found.get(&change.file) != change.expected.as_ref())
                {
                    return Ok(None);
                }
                let touch = sql(TOUCH).bind(directory.clone());
                let version = touch.optional(&mut *db, version).await?;
                let (mut removed, mut names, mut hashes, mut contents) =
                    (Vec::new(), Vec::new(), Vec::new(), Vec::new());
                for SyncedChange { file, new, .. } in changes {
                    match new {
                        Some((content, hash)) => {
                            names.push(file);
                            hashes.push(hash);
                            contents.push(content);
                        }
                        None => removed.push(file),
                    }
                }
                sql(DELETE_FILES).bind(directory.clone()).bind_list(removed).run(&mut *db).await?;
                let put = sql(PUT_FILES).bind(directory.clone()).bind_list(names);
                put.bind_list(hashes).bind_list(contents).run(&mut *db).await?;
                if let Some(presence) = presence.filter(Presence::has_peers) {
                    presence.tell([Message::Memory { directory }]).run(db).await?;
                }
                Ok(version)
            })
        })
    }
}

fn version(row: &Row) -> StoreResult<DirectoryRevision> {
    Ok(DirectoryRevision { id: row.get("id")?, revision: row.get("revision")? })
}
