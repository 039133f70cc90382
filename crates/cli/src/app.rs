//! What every command has at hand: the terminal, the places, and the session it is about.

use std::path::{Path, PathBuf};

use bethink_api::{Compaction, Session};
use bethink_client::{Client, ClientError, DaemonPlaces, SessionQuery, StartError, Starter};
use bethink_terminal::Screen;
use jiff::Timestamp;
use uuid::Uuid;

use crate::args::Global;
use crate::failure::CliFailure;

/// Sessions looked at in one request when an id is completed.
const PAGE: usize = 100;
/// Shortest beginning of an id that is printed. Ids begin with their time, so that sessions made
/// together need more.
const SHORTEST: usize = 8;

pub(crate) struct CliApp {
    pub(crate) screen: Screen,
    pub(crate) places: DaemonPlaces,
    /// The running program; it starts the daemon that lies beside it.
    pub(crate) program: PathBuf,
    pub(crate) project: PathBuf,
    /// The project was named rather than guessed from the current directory.
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
        let project = project.canonicalize().map_err(|error| {
            CliFailure::Use(format!("--project {}: {error}", project.display()))
        })?;
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

    /// The daemon, started when none runs.
    pub(crate) async fn client(&self) -> Result<Client, CliFailure> {
        Ok(daemon(&self.places, &self.program).await?)
    }

    pub(crate) fn project_dir(&self) -> String {
        self.project.display().to_string()
    }

    pub(crate) async fn client_and_session(
        &self,
        named: Option<&str>,
    ) -> Result<(Client, Session), CliFailure> {
        let client = self.client().await?;
        let session = self.session(&client, named).await?;
        Ok((client, session))
    }

    /// The session of `--session`, for what is asked of no session unless a person names one.
    pub(crate) async fn named_session(&self, client: &Client) -> Result<Option<Uuid>, CliFailure> {
        match self.session.is_some() {
            true => Ok(Some(self.session(client, None).await?.id)),
            false => Ok(None),
        }
    }

    /// The session that the command is about: named, or `--session`, or the last one.
    pub(crate) async fn session(
        &self,
        client: &Client,
        named: Option<&str>,
    ) -> Result<Session, CliFailure> {
        match named.or(self.session.as_deref()) {
            None | Some("last") => self.last(client).await,
            Some(id) => match Uuid::parse_str(id) {
                Ok(id) => Ok(client.session(id).await?),
                Err(_) => one_of(id, "session", all_sessions(client).await?, |one| one.id),
            },
        }
    }

    /// The newest session of the project, which may lie above the current directory; else the
    /// newest of all.
    async fn last(&self, client: &Client) -> Result<Session, CliFailure> {
        let dirs = self.project.ancestors().take(if self.project_given { 1 } else { usize::MAX });
        let named = dirs.filter(|dir| dir.parent().is_some()).map(|dir| dir.display().to_string());
        for project_dir in named.map(Some).chain([None]) {
            let query = SessionQuery { project_dir, limit: Some(PAGE), ..SessionQuery::default() };
            let sessions = client.sessions(&query).await?.sessions;
            // a child that explored for its parent is nobody's last session, if there is another
            let own =
                sessions.iter().position(|one| one.parent.is_none() || one.forked_at_seq.is_some());
            if let Some(session) = sessions.into_iter().nth(own.unwrap_or(0)) {
                return Ok(session);
            }
        }
        Err(CliFailure::hinted(
            "there is no session yet",
            "bethink import FILE takes a recorded one in, bethink session new begins one",
        ))
    }
}

/// What starts the daemon that lies beside this program, or in `PATH`.
pub(crate) fn starter(program: &Path) -> Result<Starter, StartError> {
    Starter::beside(program.to_owned(), std::env::var_os("PATH").as_deref())
}

/// The daemon of a home, started by this program when none runs.
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

/// A compaction by the beginning of its id; the newest that stands when none is named.
pub(crate) fn compaction(
    named: Option<&str>,
    all: Vec<Compaction>,
) -> Result<Compaction, CliFailure> {
    if let Some(beginning) = named.filter(|&named| named != "last") {
        return one_of(beginning, "compaction", all, |one| one.id);
    }
    // ids begin with their time
    all.into_iter().filter(|one| one.undone_at.is_none()).max_by_key(|one| one.id).ok_or_else(
        || CliFailure::hinted("this session has no compaction", "bethink compact makes one"),
    )
}

/// The one thing of a kind whose id begins so.
pub(crate) fn one_of<T>(
    beginning: &str,
    what: &str,
    all: Vec<T>,
    id: impl Fn(&T) -> Uuid,
) -> Result<T, CliFailure> {
    let wanted = beginning.replace('-', "").to_ascii_lowercase();
    let wrong = |why: String| Err(CliFailure::Use(format!("{beginning:?} {why}")));
    if wanted.is_empty() || !wanted.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return wrong(format!("is not a {what}: give an id, the beginning of one, or last"));
    }
    let mut fits = all.into_iter().filter(|one| id(one).simple().to_string().starts_with(&wanted));
    match (fits.next(), fits.next()) {
        (Some(one), None) => Ok(one),
        (Some(a), Some(b)) => {
            let (a, b) = (id(&a), id(&b));
            wrong(format!("begins more than one {what}: {a}, {b}, …; give more of it"))
        }
        _ => Err(CliFailure::new(format!("no {what} begins with {beginning:?}"))),
    }
}

/// For each id its shortest beginning that tells it from the others, all of one length.
pub(crate) fn short_ids(ids: &[Uuid]) -> Vec<String> {
    let full: Vec<String> = ids.iter().map(Uuid::to_string).collect();
    let longest = full.first().map_or(0, String::len);
    let is_enough = |&length: &usize| {
        let mut heads: Vec<_> = full.iter().map(|id| &id[..length]).collect();
        heads.sort_unstable();
        heads.windows(2).all(|pair| pair[0] != pair[1])
            && !full.iter().any(|id| id[..length].ends_with('-'))
    };
    let length = (SHORTEST..=longest).find(is_enough).unwrap_or(longest);
    full.iter().map(|id| id[..length].to_owned()).collect()
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
    fn short_ids_are_as_long_as_needed() {
        assert_eq!(short_ids(&ids(&[A, C])), ["019aa8f2", "119aa8f2"]);
        assert_eq!(short_ids(&ids(&[A, B])), ["019aa8f2-1111-7aaa", "019aa8f2-1111-7aab"]);
        assert_eq!(short_ids(&[]), Vec::<String>::new());
    }

    #[test]
    fn a_beginning_finds_one_or_says_why_not() {
        let pick = |beginning: &str| one_of(beginning, "session", ids(&[A, B, C]), |id| *id);
        assert_eq!(pick("1").unwrap(), ids(&[C])[0]);
        assert_eq!(pick("019aa8f211117aab").unwrap(), ids(&[B])[0]);
        assert_eq!(pick("019AA8F2-1111-7AAB").unwrap(), ids(&[B])[0]);
        assert_eq!(pick("019").unwrap_err().exit_code(), 2);
        assert_eq!(pick("zzz").unwrap_err().exit_code(), 2);
        assert_eq!(pick("").unwrap_err().exit_code(), 2);
        assert_eq!(pick("abc").unwrap_err().exit_code(), 1);
    }
}
