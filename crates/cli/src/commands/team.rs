//! `bethink team`: memory that several people share, and what wants to enter it.

use bethink_api as api;
use bethink_client::Client;
use uuid::Uuid;

use super::Done;
use crate::app::{self, App};
use crate::args::TeamCommand;
use crate::failure::Failure;
use crate::screen::words::{ago, plural};
use crate::screen::{Text, Tone};

/// Lines of a proposal that a list shows.
const MOST_LINES: usize = 12;

pub(crate) async fn run(app: &mut App, command: TeamCommand) -> Done {
    match command {
        TeamCommand::Init { remote, dir } => init(app, remote, dir).await,
        TeamCommand::Status => status(app).await,
        TeamCommand::Sync { accept_rewrite } => sync(app, accept_rewrite).await,
        TeamCommand::Proposals { all } => proposals(app, all).await,
        TeamCommand::Approve { proposals, replace } => {
            decide(app, &proposals, Decision::Approve { replace }).await
        }
        TeamCommand::Reject { proposals } => decide(app, &proposals, Decision::Reject).await,
    }
}

#[derive(Clone, Copy)]
enum Decision {
    Approve { replace: bool },
    Reject,
}

fn project(app: &App) -> String {
    app.project.display().to_string()
}

async fn init(app: &mut App, remote: Option<String>, dir: Option<std::path::PathBuf>) -> Done {
    let dir = dir.map(|dir| std::path::absolute(&dir).unwrap_or(dir).display().to_string());
    let client = app.client().await?;
    let request = api::TeamInit { project_dir: project(app), remote: remote.map(whole), dir };
    let told = client.team_init(&request).await?;
    if app.screen.json {
        return Ok(app.screen.value(&told)?);
    }
    let status = client.team(&project(app), false).await?;
    app.screen.line(Text::from("team memory in ").strong(status.dir))?;
    if let Some(remote) = status.remote {
        app.screen.line(Text::from("shared with ").strong(remote))?;
    }
    show(app, &told)
}

/// A relative path is meant from here; the daemon stands elsewhere.
fn whole(remote: String) -> String {
    let path = std::path::Path::new(&remote);
    match remote.contains(':') || !path.exists() {
        true => remote,
        false => path.canonicalize().map_or(remote, |path| path.display().to_string()),
    }
}

async fn status(app: &mut App) -> Done {
    let client = app.client().await?;
    let status = client.team(&project(app), true).await?;
    if app.screen.json {
        return Ok(app.screen.value(&status)?);
    }
    if status.kind == "none" {
        app.screen.line(Text::from("this project has no team memory"))?;
        return Ok(app
            .screen
            .note("bethink team init --remote URL shares one, --dir DIR uses a folder")?);
    }
    let kind = if status.kind == "folder" { " (a folder)" } else { "" };
    app.screen.line(Text::from("in      ").strong(status.dir.clone()).dim(kind))?;
    if let Some(remote) = &status.remote {
        let (tone, answer) = match status.reachable {
            Some(true) => (Tone::Good, "  answers"),
            Some(false) => (Tone::Bad, "  does not answer"),
            None => (Tone::Dim, ""),
        };
        app.screen.line(Text::from("shared  ").strong(remote.clone()).put(tone, answer))?;
    } else if status.kind == "repository" {
        app.screen.line(Text::from("shared  ").dim("with nobody: it has no remote"))?;
    }
    let topics = plural(status.topics, "topic", "topics");
    let changed = match status.unsynced.len() as u64 {
        0 => String::new(),
        n => format!(
            ", {} since the last sync: {}",
            plural(n, "file changed", "files changed"),
            status.unsynced.join(", ")
        ),
    };
    app.screen.line(Text::from("holds   ").plain(topics).plain(changed))?;
    blocked(app, &status.blocked)?;
    for problem in &status.problems {
        app.screen.line(Text::new().put(Tone::Bad, "wrong   ").plain(problem.clone()))?;
    }
    if status.proposals > 0 {
        let wait = plural(status.proposals, "proposal waits", "proposals wait");
        app.screen.note(format!("{wait}: bethink team proposals"))?;
    }
    Ok(())
}

async fn sync(app: &mut App, accept_rewrite: bool) -> Done {
    let client = app.client().await?;
    let request = api::TeamSyncRequest { project_dir: project(app), accept_rewrite };
    let told = client.team_sync(&request).await?;
    if app.screen.json {
        return Ok(app.screen.value(&told)?);
    }
    show(app, &told)
}

fn show(app: &mut App, told: &api::TeamSync) -> Done {
    let quiet =
        told.pulled + told.pushed == 0 && told.conflicts.is_empty() && told.blocked.is_empty();
    if quiet {
        app.screen.line(Text::from("nothing new on either side"))?;
    }
    for (word, files) in [("pulled", &told.pulled_files), ("pushed", &told.pushed_files)] {
        if !files.is_empty() {
            let line = Text::new().put(Tone::Good, format!("{word}  ")).plain(files.join(", "));
            app.screen.line(line)?;
        }
    }
    for conflict in &told.conflicts {
        let line = Text::new()
            .put(Tone::Warn, "both    ")
            .strong(conflict.name.clone())
            .plain(" was changed on both sides: it holds theirs")
            .dim(format!(" ({})", conflict.theirs_by))
            .plain(", yours is ")
            .strong(conflict.kept_as.clone());
        app.screen.line(line)?;
    }
    blocked(app, &told.blocked)?;
    for note in &told.notes {
        app.screen.note(note.clone())?;
    }
    Ok(())
}

fn blocked(app: &mut App, blocked: &[api::TeamBlocked]) -> Done {
    for one in blocked {
        let what = match one.way.as_str() {
            "incoming" => " did not enter",
            "history" => " stands in a commit, nothing was pushed",
            _ => " is not shared",
        };
        let by = one.by.as_ref().map(|by| format!(" ({by})")).unwrap_or_default();
        let line =
            Text::new().put(Tone::Bad, "blocked ").strong(one.file.clone()).plain(what).dim(by);
        app.screen.line(line)?;
        for reason in &one.reasons {
            app.screen.line(Text::from(" ".repeat(10)).plain(reason.clone()))?;
        }
    }
    Ok(())
}

async fn proposals(app: &mut App, all: bool) -> Done {
    let client = app.client().await?;
    let found = client.proposals(&project(app), all).await?;
    if app.screen.json {
        return Ok(app.screen.value(&found)?);
    }
    if found.proposals.is_empty() {
        return Ok(app.screen.note("nothing waits for you")?);
    }
    let ids: Vec<Uuid> = found.proposals.iter().map(|one| one.id).collect();
    for (one, id) in found.proposals.iter().zip(app::short_ids(&ids)) {
        let replaces = if one.replaces.is_some() { "changes " } else { "adds " };
        let head = Text::new()
            .put(Tone::Accent, id)
            .plain(format!("  {replaces}"))
            .strong(one.name.clone())
            .dim(format!("  by {}, {}", one.by, ago(&one.proposed_at, app.now)));
        let state = if one.state == "open" { String::new() } else { format!("  {}", one.state) };
        app.screen.line(head.put(Tone::Warn, state))?;
        if let Some(source) = &one.source {
            let from =
                format!("learnt in session {} from {}", source.session, source.messages.join(", "));
            app.screen.line(Text::from("  ").dim(from))?;
        }
        let lines: Vec<&str> = one.text.lines().collect();
        for line in lines.iter().take(MOST_LINES) {
            app.screen.line(Text::from("  ").dim("│ ").plain(*line))?;
        }
        if lines.len() > MOST_LINES {
            let more = plural((lines.len() - MOST_LINES) as u64, "more line", "more lines");
            app.screen.line(Text::from("  ").dim(format!("│ … {more}")))?;
        }
        app.screen.gap()?;
    }
    Ok(app.screen.note("bethink team approve ID lets one in, reject ID turns it down")?)
}

async fn decide(app: &mut App, named: &[String], decision: Decision) -> Done {
    let client = app.client().await?;
    let mut decided = Vec::new();
    for beginning in named {
        let id = proposal(&client, &project(app), beginning).await?;
        decided.push(match decision {
            Decision::Approve { replace } => client.approve(id, &api::Approval { replace }).await?,
            Decision::Reject => client.reject(id).await?,
        });
    }
    if app.screen.json {
        return Ok(app.screen.value(&decided)?);
    }
    for one in &decided {
        let line = Text::new().put(Tone::Good, one.proposal.state.clone());
        app.screen.line(line.plain(format!("  {}", one.proposal.name)))?;
        for warning in &one.warnings {
            app.screen.line(Text::from("  ").put(Tone::Warn, warning.clone()))?;
        }
    }
    match decision {
        Decision::Approve { .. } => Ok(app.screen.note("bethink team sync shares it")?),
        Decision::Reject => Ok(()),
    }
}

/// By its whole id, or by the beginning of one that waits.
async fn proposal(client: &Client, project: &str, named: &str) -> Result<Uuid, Failure> {
    if let Ok(id) = Uuid::parse_str(named) {
        return Ok(id);
    }
    let waiting = client.proposals(project, false).await?.proposals;
    app::one_of(named, "proposal", waiting, |one| one.id).map(|one| one.id)
}
