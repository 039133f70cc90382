//! `bethink memory candidates`: lists, keeps and drops candidates.

use bethink_api as api;
use bethink_client::Client;
use bethink_render::short_ids;
use bethink_terminal::words::{ago, plural};
use bethink_terminal::{Screen, StyledText, Tone};
use bethink_transcript::text::one_line;
use jiff::Timestamp;
use uuid::Uuid;

use super::named::named_scope;
use super::write::show_as;
use crate::app::{self, CliApp};
use crate::args::{CandidatesArgs, CandidatesCommand, KeepCandidates};
use crate::failure::{CliFailure, Done};

pub(super) async fn run(app: &mut CliApp, client: &Client, what: CandidatesArgs) -> Done {
    match what.command {
        None => list(app, client, what.all).await,
        Some(CandidatesCommand::Keep(what)) => keep(app, client, what).await,
        Some(CandidatesCommand::Drop { candidates }) => drop_all(app, client, &candidates).await,
    }
}

async fn list(app: &mut CliApp, client: &Client, all: bool) -> Done {
    let found = client.candidates(&app.project_dir(), all).await?;
    let now = app.now;
    let Some(screen) = app.screen.unless_json(&found)? else { return Ok(()) };
    if found.candidates.is_empty() {
        let none = if all { "there are no candidates" } else { "no candidates are waiting" };
        return Ok(screen.note(none)?);
    }
    let ids: Vec<Uuid> = found.candidates.iter().map(|one| one.id).collect();
    for (one, id) in found.candidates.iter().zip(short_ids(&ids)) {
        candidate(screen, one, &id, now)?;
    }
    if found.removed > 0 {
        let gone = plural(found.removed, "older candidate was", "older candidates were");
        screen.hint(format!("{gone} removed, because too many were waiting"))?;
    }
    Ok(screen.note(
        "`bethink memory candidates keep ID` saves a candidate as a memory; `bethink memory candidates drop ID` drops it",
    )?)
}

fn candidate(screen: &mut Screen, one: &api::Candidate, id: &str, now: Timestamp) -> Done {
    let said = ago(&one.said_at, now);
    let state = match one.state {
        api::CandidateState::Waiting => String::new(),
        state => format!("  {state}"),
    };
    let head = StyledText::new()
        .put(Tone::Accent, id.to_owned())
        .dim(format!("  {}, said {said}", one.kind))
        .put(Tone::Warn, state);
    screen.line(head)?;
    screen.flowing(StyledText::from("  ").plain(one_line(&one.sentence)), 2)?;
    if let Some(context) = &one.context {
        screen.flowing(StyledText::from("  ").dim(format!("after: {}", one_line(context))), 2)?;
    }
    let place = format!("  session {}, message {}", session(one), one.seq);
    Ok(screen.line(StyledText::new().dim(place))?)
}

fn session(one: &api::Candidate) -> String {
    short_ids(&[one.session_id]).pop().unwrap_or_default()
}

async fn keep(app: &mut CliApp, client: &Client, what: KeepCandidates) -> Done {
    let is_worded = what.text.is_some() || what.name.is_some();
    if is_worded && what.candidates.len() > 1 {
        let why =
            "`--text` and `--name` apply to only one candidate: keep the candidates one at a time";
        return Err(CliFailure::Use(why.to_owned()));
    }
    let request = api::KeepCandidate {
        text: what.text,
        name: what.name,
        description: None,
        questions: what.questions.question,
        kind: what.kind,
        scope: named_scope(what.team, what.me),
    };
    let mut kept = Vec::new();
    for named in &what.candidates {
        let one = waiting(app, client, named).await?;
        let written = client.keep_candidate(one.id, &request).await?;
        if !app.screen.json {
            show_as(app, &written, "remembered as")?;
        }
        kept.push(written);
    }
    if app.screen.json {
        app.screen.value(&serde_json::json!({ "kept": kept }))?;
    }
    Ok(())
}

async fn drop_all(app: &mut CliApp, client: &Client, named: &[String]) -> Done {
    let mut dropped = Vec::new();
    for named in named {
        let one = waiting(app, client, named).await?;
        let one = client.drop_candidate(one.id).await?;
        if !app.screen.json {
            app.screen.note(format!("dropped: {}", one_line(&one.sentence)))?;
        }
        dropped.push(one);
    }
    if app.screen.json {
        app.screen.value(&serde_json::json!({ "dropped": dropped }))?;
    }
    Ok(())
}

/// Finds a waiting candidate by its id, or by the beginning or the end of its id.
async fn waiting(app: &CliApp, client: &Client, named: &str) -> Result<api::Candidate, CliFailure> {
    let waiting = client.candidates(&app.project_dir(), false).await?.candidates;
    app::one_of(named, "waiting candidate", waiting, |one| one.id)
}
