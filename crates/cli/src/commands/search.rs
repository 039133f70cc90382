//! `bethink search`: searches a session, a project or all projects, including summarized messages.

use bethink_api::{SearchHits, TeamHistoryScope};
use bethink_client::{Client, SearchQuery};
use bethink_terminal::StyledText;
use bethink_terminal::words::plural;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::import::{finished, result};
use crate::app::CliApp;
use crate::args::Search;
use crate::failure::{CliFailure, Done, text_of};
use bethink_render::hit;
use bethink_render::short_id;

/// Number of hits that are shown by default. On a terminal, fewer are shown, so that they fit on one screen.
const HITS: usize = 10;
const HITS_ON_TERMINAL: usize = 5;

pub(crate) async fn search(app: &mut CliApp, how: &Search) -> Done {
    let client = app.client().await?;
    if how.rebuild {
        return rebuild(app, &client).await;
    }
    let is_read_here = app.screen.look.live && !app.screen.json;
    let default = if is_read_here { HITS_ON_TERMINAL } else { HITS };
    let query = query(how, how.limit.unwrap_or(default), app.now)?;
    if how.team {
        let scope =
            TeamHistoryScope { project: how.team_project.clone(), person: how.person.clone() };
        let found = client.search_team(&scope, &query).await?;
        return show(app, &found, &SearchPlace::Team);
    }
    if app.session.is_some() {
        let session = app.session(&client, None).await?;
        let found = client.search(session.id, &query).await?;
        return show(app, &found, &SearchPlace::Session(session.title));
    }
    let place = place(app, &client, how.all).await?;
    let found = client.search_sessions(place.project_dir(), &query).await?;
    show(app, &found, &place)
}

/// What a search covers.
enum SearchPlace {
    /// A session with this title.
    Session(Option<String>),
    Project(String),
    AllProjects,
    /// What people share with the team.
    Team,
}

impl SearchPlace {
    fn project_dir(&self) -> Option<&str> {
        match self {
            Self::Project(dir) => Some(dir),
            Self::Session(_) | Self::AllProjects | Self::Team => None,
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Session(title) => match title {
                Some(title) if !title.is_empty() => format!("session “{title}”"),
                _ => "this session".to_owned(),
            },
            Self::Project(dir) => format!("the sessions of the project in {dir}"),
            Self::AllProjects => "the sessions of all projects".to_owned(),
            Self::Team => "what the team shares".to_owned(),
        }
    }
}

/// Returns what to search if no session is named: the project, or all projects if this one has no sessions.
async fn place(app: &mut CliApp, client: &Client, all: bool) -> Result<SearchPlace, CliFailure> {
    if all {
        return Ok(SearchPlace::AllProjects);
    }
    match app.listed_dir(client).await? {
        Some(dir) => Ok(SearchPlace::Project(dir)),
        None if app.project_given => Ok(SearchPlace::Project(app.project_dir())),
        None => {
            let project = app.project_dir();
            app.screen
                .note(format!("there are no sessions in {project}; searching all projects"))?;
            Ok(SearchPlace::AllProjects)
        }
    }
}

fn show(app: &mut CliApp, found: &SearchHits, place: &SearchPlace) -> Done {
    let is_across = !matches!(place, SearchPlace::Session(_));
    let Some(screen) = app.screen.unless_json(found)? else { return Ok(()) };
    for (number, one) in found.hits.iter().enumerate() {
        if number > 0 {
            screen.gap()?;
        }
        screen.lines(hit::hit(one, is_across, screen.look, app.now))?;
    }
    let name = place.name();
    let said = match found.hits.len() {
        0 => format!("no hits in {name}"),
        n => format!("{} in {name}", plural(n as u64, "hit", "hits")),
    };
    if !found.hits.is_empty() {
        screen.gap()?;
    }
    screen.note(StyledText::new().dim(said).fitted(screen.look.width))?;
    match (found.hits.first(), place) {
        (Some(best), SearchPlace::Team) => {
            let (id, seq) = (short_id(best.session_id), best.seq);
            screen.hint(format!(
                "`bethink team history show {id} -m {seq}` shows the first hit in full"
            ))?;
        }
        (Some(best), _) => {
            let (id, seq) = (short_id(best.session_id), best.seq);
            screen.hint(format!(
                "`bethink history --session {id} -m {seq}` shows the first hit in full"
            ))?;
        }
        (None, SearchPlace::Project(_)) => {
            screen.hint("`--all` searches the sessions of all projects")?;
        }
        (None, _) => {}
    }
    if !found.complete {
        screen.hint("not all messages are indexed yet; search again later")?;
    }
    Ok(())
}

async fn rebuild(app: &mut CliApp, client: &Client) -> Done {
    let session = app.session(client, None).await?;
    let job = client.rebuild_search(session.id).await?;
    let job = finished(app, client, job, "index").await?;
    result::<serde_json::Value>(job.clone(), "index")?;
    let Some(screen) = app.screen.unless_json(&job)? else { return Ok(()) };
    let done = plural(session.messages, "message", "messages");
    Ok(screen.line(format!("indexed {done}"))?)
}

/// Maximum length of a query, in bytes: the daemon's own limit. The length is checked here, because a much longer query does
/// not fit into a URL, and the daemon would seem unreachable.
const MAX_QUERY_BYTES: usize = 10_000;

fn query(how: &Search, limit: usize, now: Timestamp) -> Result<SearchQuery, CliFailure> {
    let q = text_of(&how.query, "query")?;
    if q.len() > MAX_QUERY_BYTES {
        let what = format!("the query is {} bytes long; the limit is {MAX_QUERY_BYTES}", q.len());
        return Err(CliFailure::hinted(what, "search for its rarest words"));
    }
    Ok(SearchQuery {
        q,
        limit: Some(limit),
        role: how.role.clone(),
        tool: how.tool.clone(),
        path: how.path.clone(),
        after: how.since.as_deref().map(|text| time("--since", text, now)).transpose()?,
        before: how.until.as_deref().map(|text| time("--until", text, now)).transpose()?,
    })
}

/// Parses a day (`2026-11-20`), an RFC 3339 time, or an age (`90min`, `3h`, `2d`, `1w`).
pub(super) fn time(option: &str, text: &str, now: Timestamp) -> Result<String, CliFailure> {
    time_in(option, text, now, &TimeZone::system())
}

/// Interprets a date, or a time without a zone, in the given time zone.
fn time_in(
    option: &str,
    text: &str,
    now: Timestamp,
    zone: &TimeZone,
) -> Result<String, CliFailure> {
    let whole = text.parse::<Timestamp>().ok();
    let day = || zone.to_timestamp(text.parse::<DateTime>().ok()?).ok();
    let before = || now.checked_sub(span(text)?).ok();
    let time = whole.or_else(day).or_else(before).ok_or_else(|| {
        CliFailure::Use(format!(
            "{option}: {text:?} is not a valid time; give a day (2026-11-20), a time (2026-11-20T09:00:00Z) or an age (90min, 3h, 2d, 1w)"
        ))
    })?;
    Ok(time.to_string())
}

/// Parses a length of time such as `90min`, `3h`, `2d` or `1w`.
pub(super) fn span(text: &str) -> Option<SignedDuration> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let (count, unit) = text.split_at(end);
    let count: i64 = count.parse().ok()?;
    let seconds = match unit {
        "s" => 1,
        "m" | "min" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "w" => 7 * 86_400,
        _ => return None,
    };
    count.checked_mul(seconds).map(SignedDuration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_days_times_or_ages() {
        let now: Timestamp = "2026-11-22T12:00:00Z".parse().unwrap();
        let zone = TimeZone::fixed(jiff::tz::offset(-5));
        for (text, expect) in [
            ("2026-11-20", Some("2026-11-20T05:00:00Z")),
            ("2026-11-20T09:30:00Z", Some("2026-11-20T09:30:00Z")),
            ("90min", Some("2026-11-22T10:30:00Z")),
            ("2d", Some("2026-11-20T12:00:00Z")),
            ("1w", Some("2026-11-15T12:00:00Z")),
            ("", None),
            ("yesterday", None),
            ("5", None),
            ("9999999999999999999d", None),
            ("9000000000000000d", None),
        ] {
            assert_eq!(time_in("--since", text, now, &zone).ok().as_deref(), expect, "{text}");
        }
    }
}
