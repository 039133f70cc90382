//! What every command has at hand: the terminal, the places, and the session it is about.

use std::path::{Path, PathBuf};

use bethink_api::{Collapse, Compaction, Session};
use bethink_client::{Client, ClientError, Places, SessionQuery, StartError, Starter};
use jiff::Timestamp;
use uuid::Uuid;

use crate::args::Global;
use crate::failure::Failure;
use crate::screen::Screen;

/// Sessions looked at in one request when an id is completed.
const PAGE: usize = 100;
/// Shortest beginning of an id that is printed. Ids begin with their time, so that sessions made
/// together need more.
const SHORTEST: usize = 8;

pub(crate) struct App {
    pub(crate) screen: Screen,
    pub(crate) places: Places,
    /// The running program; it starts the daemon that lies beside it.
    pub(crate) program: PathBuf,
    pub(crate) project: PathBuf,
    /// The project was named rather than guessed from the current directory.
    pub(crate) project_given: bool,
    pub(crate) session: Option<String>,
    pub(crate) now: Timestamp,
}

impl App {
    pub(crate) fn new(
        screen: Screen,
        places: Places,
        program: PathBuf,
        global: Global,
    ) -> Result<Self, Failure> {
        let given = global.project.is_some();
        let project = global.project.unwrap_or_else(|| PathBuf::from("."));
        let project = project
            .canonicalize()
            .map_err(|error| Failure::Use(format!("--project {}: {error}", project.display())))?;
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

    pub(crate) fn starter(&self) -> Result<Starter, StartError> {
        starter(&self.program)
    }

    /// The daemon, started when none runs.
    pub(crate) async fn client(&self) -> Result<Client, Failure> {
        Ok(daemon(&self.places, &self.program).await?)
    }

    /// The session that the command is about: named, or `--session`, or the last one.
    pub(crate) async fn session(
        &self,
        client: &Client,
        named: Option<&str>,
    ) -> Result<Session, Failure> {
        match named.or(self.session.as_deref()) {
            None | Some("last") => self.last(client).await,
            Some(id) => match Uuid::parse_str(id) {
                Ok(id) => Ok(client.session(id).await?),
                Err(_) => completed(id, all_sessions(client).await?),
            },
        }
    }

    /// The newest session of the project, which may lie above the current directory; else the
    /// newest of all.
    async fn last(&self, client: &Client) -> Result<Session, Failure> {
        let dirs = self.project.ancestors().take(if self.project_given { 1 } else { usize::MAX });
        let named = dirs.filter(|dir| dir.parent().is_some());
        let dirs = named.map(|dir| Some(dir.display().to_string())).chain([None]);
        for project_dir in dirs {
            let query = SessionQuery { project_dir, limit: Some(PAGE), ..SessionQuery::default() };
            let sessions = client.sessions(&query).await?.sessions;
            // a child that explored for its parent is nobody's last session, if there is another
            let own =
                sessions.iter().position(|one| one.parent.is_none() || one.forked_at_seq.is_some());
            if let Some(session) = sessions.into_iter().nth(own.unwrap_or(0)) {
                return Ok(session);
            }
        }
        Err(Failure::hinted(
            "there is no session yet",
            "bethink import FILE takes a recorded one in, bethink session new begins one",
        ))
    }
}

fn starter(program: &Path) -> Result<Starter, StartError> {
    Starter::beside(program.to_owned(), std::env::var_os("PATH").as_deref())
}

/// The daemon of a home, started by this program when none runs.
pub(crate) async fn daemon(places: &Places, program: &Path) -> Result<Client, ClientError> {
    match Client::find(places).await {
        Err(error) if error.is_unreachable() && places.url.is_none() => {
            Client::find_or_start(places, &starter(program)?).await
        }
        found => found,
    }
}

async fn all_sessions(client: &Client) -> Result<Vec<Session>, Failure> {
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

/// The one session whose id begins so.
fn completed(beginning: &str, sessions: Vec<Session>) -> Result<Session, Failure> {
    one_of(beginning, "session", sessions, |session| session.id)
}

/// A compaction by the beginning of its id; the newest that stands when none is named.
pub(crate) fn compaction(
    named: Option<&str>,
    compactions: Vec<Compaction>,
) -> Result<Compaction, Failure> {
    let Some(beginning) = named.filter(|&named| named != "last") else {
        let standing = compactions.into_iter().filter(|one| one.undone_at.is_none());
        // ids begin with their time
        return standing.max_by_key(|one| one.id).ok_or_else(|| {
            Failure::hinted("this session has no compaction", "bethink compact makes one")
        });
    };
    one_of(beginning, "compaction", compactions, |one| one.id)
}

/// A collapsed span by the beginning of its id.
pub(crate) fn collapse(beginning: &str, spans: Vec<Collapse>) -> Result<Collapse, Failure> {
    one_of(beginning, "collapse", spans, |one| one.id)
}

pub(crate) fn one_of<T>(
    beginning: &str,
    what: &str,
    all: Vec<T>,
    id: impl Fn(&T) -> Uuid,
) -> Result<T, Failure> {
    let wanted = beginning.replace('-', "").to_ascii_lowercase();
    let wrong = |why: String| Err(Failure::Use(format!("{beginning:?} {why}")));
    if wanted.is_empty() || !wanted.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return wrong(format!("is not a {what}: give an id, the beginning of one, or last"));
    }
    let mut fits = all.into_iter().filter(|one| id(one).simple().to_string().starts_with(&wanted));
    match (fits.next(), fits.next()) {
        (Some(one), None) => Ok(one),
        (Some(a), Some(b)) => wrong(format!(
            "begins more than one {what}: {}, {}, …; give more of it",
            id(&a),
            id(&b)
        )),
        _ => Err(Failure::new(format!("no {what} begins with {beginning:?}"))),
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
