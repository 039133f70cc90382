//! What a person shares, and with whom: requests to change it, and its state.

use bethink_api as api;
use bethink_service::{Result, ServiceError, locked, rfc3339};
use bethink_store::{SharedProject, TeamTables};
use bethink_transcript::{SessionId, UnixMicros};

use crate::TeamHistoryService;

/// Maximum length of a project's name, in bytes.
const MAX_NAME: usize = 500;
/// Maximum number of waiting sessions that are counted.
const MOST_COUNTED: usize = 1_000;
const EXCLUDED: &str = "the directory is excluded by `capture.exclude`, so nothing more of it is shared; run `bethink team history off` there to remove the copies";

impl TeamHistoryService {
    pub async fn status(&self) -> Result<api::TeamHistory> {
        let store = self.cx.store();
        let person = match store.team_tables().await? {
            TeamTables::Usable { person } => person,
            unusable => {
                let problem = Some(unusable.to_string());
                return Ok(api::TeamHistory { problem, ..api::TeamHistory::default() });
            }
        };
        let projects = store.team_projects().await?.into_iter().map(|project| {
            let member = |(person, role)| api::TeamMember { person, role };
            let members = project.members.into_iter().map(member).collect();
            api::TeamProject { name: project.name, members, sessions: project.sessions }
        });
        let projects = projects.collect();
        let mut shared = Vec::new();
        for directory in store.shared_projects().await? {
            let waiting = store.uncopied(Some(directory.project_dir.clone()), MOST_COUNTED).await?;
            let excluded = self.cx.recording().excluded(&directory.project_dir).is_some();
            let problem = match excluded {
                true => Some(EXCLUDED.to_owned()),
                false => {
                    let problems = locked(&self.state.problems);
                    waiting.iter().find_map(|session| problems.get(session).cloned())
                }
            };
            shared.push(api::SharedDirectory {
                since: (directory.since > UnixMicros(0)).then(|| rfc3339(directory.since)),
                waiting: waiting.len() as u64,
                problem,
                project_dir: directory.project_dir,
                project: directory.project,
            });
        }
        if shared.iter().any(|directory| directory.waiting > 0) {
            // What was refused before may be allowed now.
            self.resume_later();
        }
        Ok(api::TeamHistory { person: Some(person), problem: None, shared, projects })
    }

    /// Whether this person is a member of a team project.
    pub async fn is_member(&self) -> bool {
        let store = self.cx.store();
        match store.team_tables().await {
            Ok(TeamTables::Usable { .. }) => {
                store.team_projects().await.is_ok_and(|projects| !projects.is_empty())
            }
            _ => false,
        }
    }

    /// Shares the sessions of a project directory.
    pub async fn share(&self, request: api::ShareHistory) -> Result<api::TeamHistory> {
        let api::ShareHistory { project_dir, project, all } = request;
        let known = self.memories.project(&project_dir).await?;
        let shared = self.cx.store().shared_projects().await?;
        let present = shared.into_iter().find(|shared| shared.project_dir == project_dir);
        let project = match project.or(present.map(|present| present.project)) {
            Some(name) => name,
            None => known.repository().await?.ok_or_else(|| {
                ServiceError::invalid("project", "is needed, because this directory has no remote `origin` with a host name such as github.com")
                    .hint("choose a name that everybody on this project uses, and pass it with `--team-project`")
            })?,
        };
        if project.trim().is_empty()
            || project.len() > MAX_NAME
            || project.chars().any(char::is_control)
        {
            let detail = format!("must be a name of at most {MAX_NAME} bytes in one line");
            return Err(ServiceError::invalid("project", detail));
        }
        let since = if all { UnixMicros(0) } else { self.cx.now() };
        let shared = SharedProject { project_dir: project_dir.clone(), project, since };
        self.cx.store().share_project(shared).await?;
        self.resume().await?;
        self.status().await
    }

    /// Stops sharing the sessions of a project directory, and removes the copies.
    pub async fn unshare(&self, project_dir: &str) -> Result<api::HistoryUnshared> {
        let removed = self.cx.store().unshare_project(project_dir.to_owned()).await?;
        self.resume().await?;
        Ok(api::HistoryUnshared { removed })
    }

    /// Shares one session of a shared project directory, or stops sharing it and removes the copy.
    pub async fn share_session(
        &self,
        session: SessionId,
        request: api::ShareSession,
    ) -> Result<()> {
        self.cx.store().share_session(session, request.shared).await?;
        // Its forks and children follow.
        self.resume().await
    }

    /// Sets the role of a person in a team project.
    pub async fn set_member(&self, request: api::SetTeamMember) -> Result<api::TeamHistory> {
        let api::SetTeamMember { project, person, role } = request;
        self.cx.store().set_team_role(project, person, role).await?;
        self.status().await
    }

    /// Sets the team project of each session that is shared.
    pub async fn mark_shared(&self, sessions: &mut [api::Session]) -> Result<()> {
        if !self.is_sharing() {
            return Ok(());
        }
        let ids = sessions.iter().map(|session| SessionId(session.id)).collect();
        for (id, project) in self.cx.store().shared_sessions(ids).await? {
            if let Some(session) = sessions.iter_mut().find(|session| session.id == id.0) {
                session.shared = Some(project);
            }
        }
        Ok(())
    }
}
