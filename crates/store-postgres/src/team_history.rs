//! History that people share with their team: which sessions this person shares, who is a member of a project, and the copies
//! (see [`copies`]).
//!
//! The team's tables are in the schema `bethink_team`, which an administrator creates with `migrations/team/history.sql`. Row
//! level security decides what a login may read and write. This module checks the same beforehand where an error should say why.

mod copies;
mod lists;

use bethink_store::{
    CopiedBatch, CopiedExtent, IndexLookup, PageRequest, SeqRange, SharedProject, StoreError,
    StoreFuture, StoreResult, StoredMessage, StoredTeamProject, StoredTeamSession,
    TeamHistoryStore, TeamRole, TeamScope, TeamTables, TermPlaces,
};
use bethink_transcript::{Seq, SessionId, UnixMicros};
use sqlx::PgConnection;

use crate::presence::{Message, Presence};
use crate::sessions;
use crate::sql::{Row, Statement, not_found, sql};
use crate::store::PostgresStore;
use crate::withdrawal::{self, of_team};

/// The version of the team's tables that this program uses.
const VERSION: i64 = 1;
/// No session begins so late: the end of the year 9999.
const NEVER: UnixMicros = UnixMicros(253_402_300_799_000_000);

const FOUND: &str = "SELECT version FROM bethink_team.version";

const SHARED_PROJECTS: &str = "
    SELECT project_dir, project, since
    FROM shared_projects
    ORDER BY project_dir";

/// Keeps the earlier `since`, so that sharing again never stops sharing a session.
const SHARE_PROJECT: &str = "
    INSERT INTO shared_projects (project_dir, project, since)
    VALUES ($1, $2, $3)
    ON CONFLICT (project_dir) DO UPDATE
    SET project = excluded.project,
        since   = least(shared_projects.since, excluded.since)";

const PROJECT_OF: &str = "
    SELECT project
    FROM shared_projects
    WHERE project_dir = $1";

/// Stops sharing all sessions of a directory, so that no copies are made while the existing ones are removed. Choices to keep a
/// session private stay.
const STOP_SHARING: &str = "
    WITH undecided AS (
        DELETE FROM session_sharing
        USING sessions
        WHERE sessions.id = session
          AND project_dir = $1
          AND is_shared
    )
    UPDATE shared_projects
    SET since = $2
    WHERE project_dir = $1";

const FORGET_PROJECT: &str = "DELETE FROM shared_projects WHERE project_dir = $1";

const SESSIONS_OF: &str = "
    SELECT id
    FROM sessions
    WHERE project_dir = $1
    ORDER BY id";

const SHARE_SESSION: &str = "
    INSERT INTO session_sharing (session, is_shared)
    VALUES ($1, $2)
    ON CONFLICT (session) DO UPDATE
    SET is_shared = excluded.is_shared";

const UNSHARED: &str = "
    SELECT copies.id
    FROM bethink_team.sessions AS copies
    JOIN sessions
      ON sessions.id = copies.id
    LEFT JOIN shared_sessions
      ON shared_sessions.session = copies.id
    WHERE copies.person = session_user
      AND shared_sessions.session IS NULL
      AND NOT is_removed";

const SHARED_SESSIONS: &str = "
    SELECT session, project
    FROM shared_sessions
    WHERE session = ANY ($1)";

const PROJECTS: &str = "
    SELECT name,
           person,
           role,
           coalesce(sessions, 0) AS sessions
    FROM bethink_team.projects
    JOIN bethink_team.members
      ON members.project = number
    LEFT JOIN (
        SELECT project, count(*) AS sessions
        FROM bethink_team.sessions
        WHERE NOT is_removed
        GROUP BY project
    ) AS counted
      ON counted.project = number
    ORDER BY name, person";

const SET_ROLE: &str = "SELECT bethink_team.set_role($1, $2, $3)";

/// Locks the directory of a session against copies that are being made, so that none is left.
const LOCK_SHARED: &str = "
    SELECT project
    FROM shared_projects
    JOIN sessions USING (project_dir)
    WHERE id = $1
    FOR NO KEY UPDATE OF shared_projects";

impl PostgresStore {
    /// Reads the team's tables. What is wrong with them is no fault of the database.
    fn read_team<T: Send + 'static>(
        &self,
        statement: Statement,
        read: impl Fn(&Row) -> StoreResult<T> + Send + 'static,
    ) -> StoreFuture<'_, Vec<T>> {
        self.read(async move {
            let rows = statement.all(&mut *self.readers.get().await?, read).await;
            rows.map_err(of_team)
        })
    }

    /// Runs `work`, which uses the team's tables, in a transaction.
    fn write_team<T, F>(&self, work: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: for<'a> FnOnce(&'a mut PgConnection) -> StoreFuture<'a, T> + Send + 'static,
    {
        self.write(move |db| Box::pin(async move { work(db).await.map_err(of_team) }))
    }

    async fn must_be_usable(&self) -> StoreResult<()> {
        match self.team_tables().await? {
            TeamTables::Usable { .. } => Ok(()),
            other => Err(StoreError::Conflict(other.to_string())),
        }
    }

    /// Removes the copies of these sessions. Returns their number.
    async fn withdraw(&self, sessions: Vec<SessionId>) -> StoreResult<u64> {
        match self.team_tables().await? {
            TeamTables::Usable { .. } => {}
            TeamTables::Missing => return Ok(0),
            other => return Err(StoreError::Conflict(other.to_string())),
        }
        let mut removed = 0;
        // One in each transaction, because a copy may have a hundred thousand rows.
        for session in sessions {
            let withdrawn = self.write_team(move |db| {
                Box::pin(async move { withdrawal::withdraw(db, vec![session]).await })
            });
            removed += withdrawn.await?;
        }
        Ok(removed)
    }

    /// Stops sharing the sessions of a directory, and removes their copies. If this is interrupted, the directory is still
    /// listed, so that it can be repeated.
    async fn stop_sharing(&self, project_dir: &str) -> StoreResult<u64> {
        let dir = project_dir.to_owned();
        self.run(sql(STOP_SHARING).bind(dir.clone()).bind(NEVER)).await?;
        let sessions = self.all(sql(SESSIONS_OF).bind(dir.clone()), |row| row.get("id")).await?;
        let removed = self.withdraw(sessions).await?;
        self.change_sharing(sql(FORGET_PROJECT).bind(dir)).await?;
        Ok(removed)
    }

    /// Changes what this person shares, and tells other daemons.
    fn change_sharing(&self, statement: Statement) -> StoreFuture<'_, ()> {
        let presence = self.presence.clone();
        self.write(move |db| {
            Box::pin(async move {
                statement.run(&mut *db).await?;
                tell(presence.as_ref(), db).await
            })
        })
    }
}

impl TeamHistoryStore for PostgresStore {
    fn team_tables(&self) -> StoreFuture<'_, TeamTables> {
        self.read(async move {
            let mut db = self.readers.get().await?;
            let Some(person) = withdrawal::person(&mut db).await? else {
                return Ok(TeamTables::Missing);
            };
            let found = match sql(FOUND).value(&mut *db).await.map_err(of_team) {
                Err(StoreError::Conflict(_)) => return Ok(TeamTables::Missing),
                found => found?,
            };
            Ok(match found {
                VERSION => TeamTables::Usable { person },
                ..VERSION => TeamTables::Older { found, known: VERSION },
                _ => TeamTables::Newer { found, known: VERSION },
            })
        })
    }

    fn shared_projects(&self) -> StoreFuture<'_, Vec<SharedProject>> {
        self.all(sql(SHARED_PROJECTS), |row| {
            Ok(SharedProject {
                project_dir: row.get("project_dir")?,
                project: row.get("project")?,
                since: row.get("since")?,
            })
        })
    }

    fn share_project(&self, project: SharedProject) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.must_be_usable().await?;
            let before = sql(PROJECT_OF).bind(project.project_dir.clone());
            let before = self.optional(before, |row| row.get::<String>("project")).await?;
            // The old copies are removed only after this, because the new project may refuse the person.
            let open = sql(copies::OPEN_PROJECT).bind(project.project.clone());
            self.write_team(|db| Box::pin(async move { open.value::<i64>(db).await })).await?;
            if before.is_some_and(|before| before != project.project) {
                self.stop_sharing(&project.project_dir).await?;
            }
            let share = sql(SHARE_PROJECT).bind(project.project_dir).bind(project.project);
            self.change_sharing(share.bind(project.since)).await
        })
    }

    fn unshare_project(&self, project_dir: String) -> StoreFuture<'_, u64> {
        Box::pin(async move {
            let shared = sql(PROJECT_OF).bind(project_dir.clone());
            let shared = self.optional(shared, |row| row.get::<String>("project")).await?;
            if shared.is_none() {
                return Err(not_found("shared project directory", project_dir));
            }
            self.stop_sharing(&project_dir).await
        })
    }

    fn share_session(&self, session: SessionId, is_shared: bool) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let presence = self.presence.clone();
            let decided = self.write(move |db| {
                Box::pin(async move {
                    sessions::hold(&mut *db, session).await?;
                    let shared = sql(LOCK_SHARED).bind(session);
                    let shared = shared.optional(&mut *db, |row| row.get::<String>("project"));
                    if shared.await?.is_none() {
                        let why = "the history of the session's project is not shared; share that first, with `bethink team history on`";
                        return Err(StoreError::Conflict(why.to_owned()));
                    }
                    sql(SHARE_SESSION).bind(session).bind(is_shared).run(&mut *db).await?;
                    tell(presence.as_ref(), db).await
                })
            });
            decided.await?;
            match is_shared {
                true => Ok(()),
                // Also if the person may not read the copy any more.
                false => self.withdraw(vec![session]).await.map(drop),
            }
        })
    }

    fn withdraw_unshared(&self) -> StoreFuture<'_, u64> {
        Box::pin(async move {
            match self.team_tables().await? {
                TeamTables::Usable { .. } => {
                    let unshared = self.read_team(sql(UNSHARED), |row| row.get("id")).await?;
                    if unshared.is_empty() { Ok(0) } else { self.withdraw(unshared).await }
                }
                _ => Ok(0),
            }
        })
    }

    fn shared_sessions(
        &self,
        sessions: Vec<SessionId>,
    ) -> StoreFuture<'_, Vec<(SessionId, String)>> {
        let read = |row: &Row| Ok((row.get("session")?, row.get("project")?));
        self.all(sql(SHARED_SESSIONS).bind_list(sessions), read)
    }

    fn uncopied(
        &self,
        project_dir: Option<String>,
        limit: usize,
    ) -> StoreFuture<'_, Vec<SessionId>> {
        self.read_team(copies::uncopied(project_dir, limit), |row| row.get("session"))
    }

    fn copied(&self, session: SessionId) -> StoreFuture<'_, Option<CopiedExtent>> {
        let found = self.read_team(sql(copies::EXTENT).bind(session), copies::extent);
        Box::pin(async move { Ok(found.await?.pop()) })
    }

    fn copy_to_team(&self, batch: CopiedBatch) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            let sorted = copies::sorted(batch).await?;
            self.write_team(move |db| Box::pin(copies::add(db, sorted))).await
        })
    }

    fn team_projects(&self) -> StoreFuture<'_, Vec<StoredTeamProject>> {
        Box::pin(async move {
            let read = |row: &Row| {
                let member: (String, TeamRole) = (row.get("person")?, row.get("role")?);
                Ok((row.get::<String>("name")?, member, row.get::<u64>("sessions")?))
            };
            let mut projects: Vec<StoredTeamProject> = Vec::new();
            for (name, member, sessions) in self.read_team(sql(PROJECTS), read).await? {
                match projects.last_mut().filter(|project| project.name == name) {
                    Some(project) => project.members.push(member),
                    None => {
                        projects.push(StoredTeamProject { name, members: vec![member], sessions });
                    }
                }
            }
            Ok(projects)
        })
    }

    fn set_team_role(
        &self,
        project: String,
        person: String,
        role: Option<TeamRole>,
    ) -> StoreFuture<'_, ()> {
        self.write_team(move |db| {
            Box::pin(async move {
                sql(SET_ROLE).bind(project).bind(person).bind(role).run(db).await.map(drop)
            })
        })
    }

    fn team_sessions(
        &self,
        scope: TeamScope,
        page: PageRequest,
    ) -> StoreFuture<'_, (Vec<StoredTeamSession>, Option<String>)> {
        Box::pin(lists::sessions(self, scope, page))
    }

    fn team_sessions_at(
        &self,
        sessions: Vec<SessionId>,
    ) -> StoreFuture<'_, Vec<StoredTeamSession>> {
        self.read_team(sql(lists::AT).bind_list(sessions), lists::session)
    }

    fn team_messages(
        &self,
        session: SessionId,
        range: SeqRange,
    ) -> StoreFuture<'_, Vec<StoredMessage>> {
        Box::pin(lists::messages(self, session, range))
    }

    fn team_messages_at(
        &self,
        places: Vec<(SessionId, Seq)>,
    ) -> StoreFuture<'_, Vec<(SessionId, StoredMessage)>> {
        let (sessions, seqs): (Vec<_>, Vec<_>) = places.into_iter().unzip();
        let at = sql(lists::MESSAGES_AT).bind_list(sessions).bind_list(seqs);
        Box::pin(async move {
            let read = |row: &Row| Ok((row.get("session")?, lists::message(row)?));
            let found = self.read_team(at, read).await?;
            Ok(found
                .into_iter()
                .filter_map(|(session, message)| Some((session, message?)))
                .collect())
        })
    }

    fn team_lookup(&self, scope: TeamScope, lookup: IndexLookup) -> StoreFuture<'_, TermPlaces> {
        Box::pin(lists::lookup(self, scope, lookup))
    }

    fn remove_team_session(&self, session: SessionId) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let tables = self.team_tables().await?;
            let found = self.team_sessions_at(vec![session]).await?.pop();
            let is_own = matches!(
                (&tables, found),
                (TeamTables::Usable { person }, Some(found)) if found.person == *person
            );
            match is_own {
                // The original may not exist any more.
                true => match self.share_session(session, false).await {
                    Err(StoreError::NotFound { .. } | StoreError::Conflict(_)) => {
                        self.withdraw(vec![session]).await.map(drop)
                    }
                    done => done,
                },
                false => self.write_team(move |db| Box::pin(copies::remove(db, session))).await,
            }
        })
    }
}

/// Tells other daemons that this person changed what they share.
async fn tell(presence: Option<&Presence>, db: &mut PgConnection) -> StoreResult<()> {
    match presence.filter(|presence| presence.has_peers()) {
        Some(presence) => presence.tell([Message::Sharing]).run(db).await.map(drop),
        None => Ok(()),
    }
}
