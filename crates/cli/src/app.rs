//! The state that commands share: the terminal, the daemon, the project and the session.

use std::path::{Path, PathBuf};

use bethink_api::{Compaction, Session};
use bethink_client::{Client, ClientError, DaemonPlaces, SessionQuery, StartError, Starter};
use bethink_project::dirs_of_working_tree;
use bethink_render::short_id;
use bethink_terminal::Screen;
use jiff::Timestamp;
use uuid::Uuid;

use crate::args::Global;
use crate::failure::CliFailure;
use crate::picker;

/// Number of sessions to fetch per request when looking up a session by part of its id.
const PAGE: usize = 100;

pub(crate) struct CliApp {
    pub(crate) screen: Screen,
    pub(crate) places: DaemonPlaces,
    /// Path of the running program. The daemon that it starts is in the same directory.
    pub(crate) program: PathBuf,
    pub(crate) project: PathBuf,
    /// Whether the project was named with `--project`. Otherwise, the project is the current directory.
    pub(crate) project_given: bool,
    pub(crate) session: Option<String>,
    pub(crate) now: Timestamp,
}

impl CliApp {
    pub(crate) fn new(
        screen: Screen,
        places: DaemonPlaces,
        program: PathBuf,
        global: Global,
    ) -> Result<Self, CliFailure> {
        let given = global.project.is_some();
        let project = global.project.unwrap_or_else(|| PathBuf::from("."));
        let named = match given {
            true => format!("--project {}", project.display()),
            false => "the current directory".to_owned(),
        };
        let project =
            project.canonicalize().map_err(|error| CliFailure::Use(format!("{named}: {error}")))?;
        if !project.is_dir() {
            return Err(CliFailure::Use(format!("{named}: it is not a directory")));
        }
        Ok(Self {
            screen,
            places,
            program,
            project,
            project_given: given,
            session: global.session,
            now: Timestamp::now(),
        })
    }

    /// Connects to the daemon, and starts one if none is running.
    pub(crate) async fn client(&self) -> Result<Client, CliFailure> {
        Ok(daemon(&self.places, &self.program).await?)
    }

    pub(crate) fn project_dir(&self) -> String {
        self.project.display().to_string()
    }

    pub(crate) async fn client_and_session(
        &mut self,
        named: Option<&str>,
    ) -> Result<(Client, Session), CliFailure> {
        let client = self.client().await?;
        let session = self.session(&client, named).await?;
        Ok((client, session))
    }

    /// Returns the session that `--session` names, for commands that use a session only if one is named.
    pub(crate) async fn named_session(
        &mut self,
        client: &Client,
    ) -> Result<Option<Uuid>, CliFailure> {
        match self.session.is_some() {
            true => Ok(Some(self.session(client, None).await?.id)),
            false => Ok(None),
        }
    }

    /// Returns the session to read: the named one, else the one that `--session` names, else the newest of the nearest directory with
    /// sessions, because another agent may be working in another worktree. If there is none, returns the newest session of the project,
    /// or of any project, and a note says so.
    pub(crate) async fn session(
        &mut self,
        client: &Client,
        named: Option<&str>,
    ) -> Result<Session, CliFailure> {
        let named = named.or(self.session.as_deref()).filter(|&named| named != "last");
        if named == Some("pick") {
            return picker::pick(self, client).await;
        }
        if let Some(id) = named {
            return match Uuid::parse_str(id) {
                Ok(id) => Ok(client.session(id).await?),
                Err(_) => one_of(id, "session", all_sessions(client).await?, |one| one.id),
            };
        }
        if let Some(dir) = self.sessions_dir(client).await?
            && let Some(session) = newest(client, in_directory(&dir)).await?
        {
            return Ok(session);
        }
        let dir = self.project_dir();
        for (of, whose) in
            [(in_project(&dir), "the project"), (SessionQuery::default(), "any project")]
        {
            if let Some(session) = newest(client, of).await? {
                self.screen.note(format!(
                    "there are no sessions in {dir}; using session {} in {}, the most recent one of {whose}",
                    short_id(session.id),
                    session.project_dir
                ))?;
                return Ok(session);
            }
        }
        Err(CliFailure::hinted(
            "there are no sessions yet",
            "run `bethink import` to import recorded sessions, or `bethink session new` to create one",
        ))
    }

    /// Returns the session to change. A session of another project must be named.
    pub(crate) async fn session_to_change(
        &mut self,
        client: &Client,
        named: Option<&str>,
    ) -> Result<Session, CliFailure> {
        if named.is_none() && self.session.is_none() && self.sessions_dir(client).await?.is_none() {
            return Err(CliFailure::HintedUse {
                what: format!("there are no sessions in {}", self.project.display()),
                hint: "name a session with `--session ID`: `bethink session ls` lists those of the project; add \
                       `--all` to list all sessions"
                    .into(),
            });
        }
        self.session(client, named).await
    }

    /// Returns the directory whose project is listed and searched: this one if its project has sessions, or else the nearest parent
    /// with sessions.
    pub(crate) async fn listed_dir(&self, client: &Client) -> Result<Option<String>, CliFailure> {
        let project_dir = self.project_dir();
        match is_any(client, in_project(&project_dir)).await? {
            true => Ok(Some(project_dir)),
            false => self.sessions_dir(client).await,
        }
    }

    /// Returns the nearest directory with sessions: this one or a parent in the same working tree. For a project that was named with
    /// `--project`, parents are not searched.
    async fn sessions_dir(&self, client: &Client) -> Result<Option<String>, CliFailure> {
        let dirs = dirs_of_working_tree(&self.project).take(if self.project_given {
            1
        } else {
            usize::MAX
        });
        self.nearest_with_sessions(client, dirs).await
    }

    /// Returns the first of these directories that has sessions.
    pub(crate) async fn nearest_with_sessions(
        &self,
        client: &Client,
        dirs: impl Iterator<Item = &Path>,
    ) -> Result<Option<String>, CliFailure> {
        for dir in dirs {
            let dir = dir.display().to_string();
            if is_any(client, in_directory(&dir)).await? {
                return Ok(Some(dir));
            }
        }
        Ok(None)
    }
}

/// The sessions of a directory's project.
fn in_project(dir: &str) -> SessionQuery {
    SessionQuery { project_dir: Some(dir.to_owned()), ..SessionQuery::default() }
}

/// The sessions of exactly this directory.
fn in_directory(dir: &str) -> SessionQuery {
    SessionQuery { exact_dir: true, ..in_project(dir) }
}

/// Returns the newest of these sessions. A subagent's session is returned only if the newest 100 sessions contain no other.
async fn newest(client: &Client, of: SessionQuery) -> Result<Option<Session>, CliFailure> {
    let query = SessionQuery { limit: Some(PAGE), ..of };
    let sessions = client.sessions(&query).await?.sessions;
    let is_own = |one: &Session| one.parent.is_none() || one.forked_at_seq.is_some();
    let own = sessions.iter().position(is_own);
    Ok(sessions.into_iter().nth(own.unwrap_or(0)))
}

async fn is_any(client: &Client, of: SessionQuery) -> Result<bool, CliFailure> {
    let query = SessionQuery { limit: Some(1), ..of };
    Ok(!client.sessions(&query).await?.sessions.is_empty())
}

/// Returns the directory that an environment variable names. An empty or relative value counts as unset.
pub(crate) fn dir_variable(name: &str) -> Option<PathBuf> {
    let value = std::env::var_os(name).filter(|value| !value.is_empty());
    value.map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Finds the daemon's program, next to this one or in `PATH`.
pub(crate) fn starter(program: &Path) -> Result<Starter, StartError> {
    Starter::beside(program.to_owned(), std::env::var_os("PATH").as_deref())
}

/// Connects to the daemon of a home, and starts one if none is running.
pub(crate) async fn daemon(places: &DaemonPlaces, program: &Path) -> Result<Client, ClientError> {
    match Client::find(places).await {
        Err(error) if error.is_unreachable() && places.url.is_none() => {
            Client::find_or_start(places, &starter(program)?).await
        }
        found => found,
    }
}

async fn all_sessions(client: &Client) -> Result<Vec<Session>, CliFailure> {
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let query = SessionQuery { limit: Some(PAGE), cursor, ..SessionQuery::default() };
        let page = client.sessions(&query).await?;
        all.extend(page.sessions);
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(all);
        }
    }
}

/// Returns the compaction whose id begins or ends with `named`; by default the newest one that was not undone.
pub(crate) fn compaction(
    named: Option<&str>,
    all: Vec<Compaction>,
) -> Result<Compaction, CliFailure> {
    if let Some(part) = named.filter(|&named| named != "last") {
        return one_of(part, "compaction", all, |one| one.id);
    }
    let none = match all.is_empty() {
        true => "this session has no compactions",
        false => "all compactions of this session were undone",
    };
    // An id begins with its time, so the newest has the largest.
    let newest = all.into_iter().filter(|one| one.undone_at.is_none()).max_by_key(|one| one.id);
    newest
        .ok_or_else(|| CliFailure::hinted(none, "run `bethink compact` to compact the session now"))
}

/// Returns whether `part` is the beginning or the end of the id.
pub(crate) fn is_short_form(part: &str, id: Uuid) -> bool {
    let (part, id) = (part.replace('-', "").to_ascii_lowercase(), id.simple().to_string());
    id.starts_with(&part) || id.ends_with(&part)
}

pub(crate) fn one_of<T>(
    part: &str,
    what: &str,
    all: Vec<T>,
    id: impl Fn(&T) -> Uuid,
) -> Result<T, CliFailure> {
    let wrong = |why: String| Err(CliFailure::Use(format!("{part:?} {why}")));
    let is_hex = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    if !part.bytes().all(is_hex) || !part.bytes().any(|byte| byte != b'-') {
        return wrong(format!(
            "is not the id of a {what}: give an id, or a unique prefix or suffix of one"
        ));
    }
    let mut matching = all.into_iter().filter(|one| is_short_form(part, id(one)));
    match (matching.next(), matching.next()) {
        (Some(one), None) => Ok(one),
        (Some(a), Some(b)) => {
            let (a, b) = (id(&a), id(&b));
            wrong(format!(
                "matches more than one {what}, such as {a} and {b}; give more characters"
            ))
        }
        _ => Err(CliFailure::new(format!("no {what} has an id that begins or ends with {part:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(texts: &[&str]) -> Vec<Uuid> {
        texts.iter().map(|text| Uuid::parse_str(text).unwrap()).collect()
    }

    const A: &str = "019aa8f2-1111-7aaa-8000-000000000001";
    const B: &str = "019aa8f2-1111-7aab-8000-000000000002";
    const C: &str = "119aa8f2-1111-7aaa-8000-000000000003";

    #[test]
    fn the_beginning_or_end_of_an_id_finds_one_or_fails() {
        let pick = |part: &str| one_of(part, "session", ids(&[A, B, C]), |id| *id);
        assert_eq!(pick("11").unwrap(), ids(&[C])[0]);
        assert_eq!(pick("019aa8f211117aab").unwrap(), ids(&[B])[0]);
        assert_eq!(pick("019AA8F2-1111-7AAB").unwrap(), ids(&[B])[0]);
        assert_eq!(pick("00000002").unwrap(), ids(&[B])[0]);
        assert_eq!(pick("8000-000000000003").unwrap(), ids(&[C])[0]);
        for id in ids(&[A, B, C]) {
            assert_eq!(pick(&short_id(id)).unwrap(), id);
        }
        assert_eq!(pick("-").unwrap_err().exit_code(), 2);
        assert_eq!(pick("019").unwrap_err().exit_code(), 2);
        assert_eq!(pick("zzz").unwrap_err().exit_code(), 2);
        assert_eq!(pick("").unwrap_err().exit_code(), 2);
        assert_eq!(pick("abc").unwrap_err().exit_code(), 1);
    }
}
