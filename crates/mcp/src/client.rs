//! Finds the project and the session of a request: those named in the request, or else those named in the client's headers.
//! No project is guessed, because an error is better than using the wrong project's memory.

use bethink_api as api;
use bethink_daemon::Daemon;
use bethink_service::ServiceError;
use bethink_store::SessionLocation;
use bethink_transcript::SessionId;
use http::request::Parts;
use uuid::Uuid;

use crate::NAMED_SESSIONS;

/// The header with the client's working directory.
const PROJECT: &str = "x-bethink-project";
/// The header with the client's session.
const SESSION: &str = "x-bethink-session";
/// The argument that means the newest session of the nearest directory with sessions.
const LAST: &str = "last";

/// The client of a request: the project and session in its headers, and the daemon that it uses.
#[derive(Clone, Debug)]
pub(crate) struct McpClient {
    pub(crate) daemon: Daemon,
    project: Option<String>,
    session: Option<String>,
}

impl McpClient {
    pub(crate) fn of(daemon: &Daemon, parts: Option<&Parts>) -> Self {
        // A path may contain non-ASCII characters, which headers transmit as bytes.
        let header = |name: &str| {
            let value = parts?.headers.get(name)?;
            Some(std::str::from_utf8(value.as_bytes()).ok()?.trim().to_owned())
                .filter(|value| !value.is_empty())
        };
        Self { daemon: daemon.clone(), project: header(PROJECT), session: header(SESSION) }
    }

    pub(crate) fn known_project(&self) -> Option<&str> {
        self.project.as_deref()
    }

    /// Returns the project's directory: the given directory, or else the one in the client's headers.
    pub(crate) fn project(&self, given: Option<String>) -> Result<String, ServiceError> {
        let named = given.filter(|dir| !dir.trim().is_empty()).or_else(|| self.project.clone());
        named.ok_or_else(|| {
            ServiceError::invalid("project_dir", "is missing")
                .hint("pass project_dir, the absolute path of the project; a client can also send it in the X-Bethink-Project header")
        })
    }

    /// Returns where to search if no session is named: in the directory's project, or, if that has no sessions, in the project of the
    /// nearest directory with sessions.
    pub(crate) async fn searched_location(
        &self,
        dir: String,
    ) -> Result<SessionLocation, ServiceError> {
        let sessions = &self.daemon.sessions;
        let (project_dir, limit) = (Some(dir.clone()), Some(1));
        let query = api::SessionQuery { project_dir, limit, ..Default::default() };
        if sessions.sessions(query).await?.sessions.is_empty()
            && let Some(nearest) = sessions.nearest_sessions(&dir, 1).await?.first()
        {
            return sessions.location_of(nearest.project_dir.clone()).await;
        }
        sessions.location_of(dir).await
    }

    /// Returns the given session, or else the one in the client's headers. Fails if there is neither.
    pub(crate) async fn session(
        &self,
        given: Option<String>,
        project: Option<String>,
    ) -> Result<SessionId, ServiceError> {
        let named = given.filter(|id| !id.trim().is_empty()).or_else(|| self.session.clone());
        match named.as_deref().map(str::trim) {
            Some(LAST) => self.newest(self.project(project)?).await,
            Some(id) => Ok(SessionId(uuid(id, "session_id")?)),
            None => Err(self.unnamed(project).await),
        }
    }

    /// Returns the ID of the given session, or else of the one in the client's headers; `None` if no session is named
    /// by its ID.
    pub(crate) fn session_if_named(
        &self,
        given: Option<&str>,
    ) -> Result<Option<Uuid>, ServiceError> {
        let named = given.or(self.session.as_deref()).map(str::trim);
        let named = named.filter(|id| !id.is_empty() && *id != LAST);
        named.map(|id| uuid(id, "session_id")).transpose()
    }

    async fn newest(&self, dir: String) -> Result<SessionId, ServiceError> {
        let sessions = self.daemon.sessions.nearest_sessions(&dir, 1).await?;
        let newest = sessions.first().map(|session| SessionId(session.id));
        newest.ok_or_else(|| {
            ServiceError::not_found(format!("{dir} has no sessions"))
                .hint("a session is created when an agent sends its first message; to use another project's session, pass session_id")
        })
    }

    async fn unnamed(&self, project: Option<String>) -> ServiceError {
        let refusal = ServiceError::invalid("session_id", "is missing");
        let newest = match self.project(project) {
            Ok(dir) => {
                let sessions = &self.daemon.sessions;
                sessions.nearest_sessions(&dir, NAMED_SESSIONS).await.unwrap_or_default()
            }
            Err(_) => Vec::new(),
        };
        let named = newest.iter().map(|session| match &session.title {
            Some(title) => format!("{} ({:?})", session.id, crate::untrusted::line(title)),
            None => session.id.to_string(),
        });
        let named: Vec<String> = named.collect();
        refusal.hint(match named.is_empty() {
            true => "pass session_id, or \"last\" for the newest session of the nearest directory with sessions".to_owned(),
            false => format!(
                "pass session_id: the newest sessions here are {}; \"last\" means the first of them",
                named.join(", ")
            ),
        })
    }
}

pub(crate) fn uuid(text: &str, field: &'static str) -> Result<Uuid, ServiceError> {
    text.parse().map_err(|_| {
        let shown: String = text.chars().take(60).collect();
        ServiceError::invalid(field, format!("{shown:?} is not a valid ID"))
            .hint("IDs look like 0199a1b2-0000-7000-8000-000000000000")
    })
}
