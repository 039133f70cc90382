//! `bethink team`: shared memory, and the proposals to add to it.

use bethink_api as api;
use bethink_client::Client;
use bethink_render::short_ids;
use bethink_terminal::words::{ago, plural};
use bethink_terminal::{Screen, StyledText, Tone};
use uuid::Uuid;

use crate::app::{self, CliApp};
use crate::args::TeamCommand;
use crate::failure::{CliFailure, Done};

/// Maximum number of lines that are shown of a proposal.
const MAX_LINES: usize = 12;

pub(crate) async fn run(app: &mut CliApp, command: TeamCommand) -> Done {
    match command {
        TeamCommand::Init { remote, dir } => init(app, remote, dir).await,
        TeamCommand::Status => status(app).await,
        TeamCommand::Sync { accept_rewrite } => sync(app, accept_rewrite).await,
        TeamCommand::Proposals { all } => proposals(app, all).await,
        TeamCommand::Approve { proposals, replace } => {
            decide(app, &proposals, Some(api::Approval { replace })).await
        }
        TeamCommand::Reject { proposals } => decide(app, &proposals, None).await,
    }
}

async fn init(app: &mut CliApp, remote: Option<String>, dir: Option<std::path::PathBuf>) -> Done {
    let dir = dir.map(|dir| std::path::absolute(&dir).unwrap_or(dir).display().to_string());
    let client = app.client().await?;
    let request =
        api::TeamInit { project_dir: app.project_dir(), remote: remote.map(absolute), dir };
    let told = client.team_init(&request).await?;
    let project = request.project_dir;
    let Some(screen) = app.screen.unless_json(&told)? else { return Ok(()) };
    let status = client.team(&project, false).await?;
    screen.line(StyledText::from("team memory in ").strong(status.dir))?;
    if let Some(remote) = status.remote {
        screen.line(StyledText::from("shared with ").strong(remote))?;
    }
    show(screen, &told)
}

/// Makes a path absolute, because the daemon has another current directory.
fn absolute(remote: String) -> String {
    let path = std::path::Path::new(&remote);
    match remote.contains(':') || !path.exists() {
        true => remote,
        false => path.canonicalize().map_or(remote, |path| path.display().to_string()),
    }
}

async fn status(app: &mut CliApp) -> Done {
    let client = app.client().await?;
    let status = client.team(&app.project_dir(), true).await?;
    let Some(screen) = app.screen.unless_json(&status)? else { return Ok(()) };
    if status.kind == api::TeamMemoryKind::None {
        screen.line("this project has no team memory")?;
        return Ok(screen.note(
            "`bethink team init` creates one: with `--remote URL` shared through git, with `--dir DIR` through a folder",
        )?);
    }
    let kind = if status.kind == api::TeamMemoryKind::Folder { " (a folder)" } else { "" };
    screen.line(StyledText::from("in      ").strong(status.dir.clone()).dim(kind))?;
    if let Some(remote) = &status.remote {
        let (tone, answer) = match status.reachable {
            Some(true) => (Tone::Good, "  reachable"),
            Some(false) => (Tone::Bad, "  not reachable"),
            None => (Tone::Dim, ""),
        };
        screen.line(StyledText::from("shared  ").strong(remote.clone()).put(tone, answer))?;
    } else if status.kind == api::TeamMemoryKind::Repository {
        screen.line(StyledText::from("shared  ").dim("not shared: no remote is set"))?;
    }
    let topics = plural(status.topics, "topic", "topics");
    let mut changed = String::new();
    if !status.unsynced.is_empty() {
        let files = plural(status.unsynced.len() as u64, "file changed", "files changed");
        changed = format!(", {files} since the last sync: {}", status.unsynced.join(", "));
    }
    screen.flowing(StyledText::from("holds   ").plain(topics).plain(changed), 8)?;
    blocked(screen, &status.blocked)?;
    for problem in &status.problems {
        screen.flowing(StyledText::new().put(Tone::Bad, "wrong   ").plain(problem.clone()), 8)?;
    }
    if status.proposals > 0 {
        let waiting = plural(status.proposals, "proposal is", "proposals are");
        screen.note(format!("{waiting} waiting: `bethink team proposals` lists them"))?;
    }
    Ok(())
}

async fn sync(app: &mut CliApp, accept_rewrite: bool) -> Done {
    let client = app.client().await?;
    let request = api::TeamSyncRequest { project_dir: app.project_dir(), accept_rewrite };
    let told = client.team_sync(&request).await?;
    let Some(screen) = app.screen.unless_json(&told)? else { return Ok(()) };
    show(screen, &told)
}

fn show(screen: &mut Screen, told: &api::TeamSync) -> Done {
    let moved = told.pulled + told.pushed;
    if moved == 0 && told.conflicts.is_empty() && told.blocked.is_empty() {
        screen.line("already in sync")?;
    }
    for (word, files) in [("pulled", &told.pulled_files), ("pushed", &told.pushed_files)] {
        if !files.is_empty() {
            let line =
                StyledText::new().put(Tone::Good, format!("{word}  ")).plain(files.join(", "));
            screen.flowing(line, 8)?;
        }
    }
    for conflict in &told.conflicts {
        let line = StyledText::new()
            .put(Tone::Warn, "both    ")
            .strong(conflict.name.clone())
            .plain(" was changed on both sides: kept theirs")
            .dim(format!(" ({})", conflict.theirs_by))
            .plain(", saved yours as ")
            .strong(conflict.kept_as.clone());
        screen.flowing(line, 8)?;
    }
    blocked(screen, &told.blocked)?;
    for note in &told.notes {
        screen.note(note.clone())?;
    }
    Ok(())
}

fn blocked(screen: &mut Screen, blocked: &[api::TeamBlocked]) -> Done {
    for one in blocked {
        let what = match one.way {
            api::BlockedWay::Incoming => " was not pulled",
            api::BlockedWay::History => " is in a commit, so nothing was pushed",
            api::BlockedWay::Here => " is not shared",
        };
        let by = one.by.as_ref().map(|by| format!(" ({by})")).unwrap_or_default();
        let head = StyledText::new().put(Tone::Bad, "blocked ").strong(one.file.clone());
        screen.line(head.plain(what).dim(by))?;
        one.reasons
            .iter()
            .try_for_each(|reason| screen.flowing(format!("{:10}{reason}", ""), 0))?;
    }
    Ok(())
}

async fn proposals(app: &mut CliApp, all: bool) -> Done {
    let client = app.client().await?;
    let found = client.proposals(&app.project_dir(), all).await?;
    let Some(screen) = app.screen.unless_json(&found)? else { return Ok(()) };
    if found.proposals.is_empty() {
        return Ok(screen.note("no proposals are waiting")?);
    }
    let ids: Vec<Uuid> = found.proposals.iter().map(|one| one.id).collect();
    for (one, id) in found.proposals.iter().zip(short_ids(&ids)) {
        let replaces = if one.replaces.is_some() { "changes " } else { "adds " };
        let head = StyledText::new()
            .put(Tone::Accent, id)
            .plain(format!("  {replaces}"))
            .strong(one.name.clone())
            .dim(format!("  by {}, {}", one.by, ago(&one.proposed_at, app.now)));
        let state = if one.state == api::ProposalState::Open {
            String::new()
        } else {
            format!("  {}", one.state)
        };
        screen.line(head.put(Tone::Warn, state))?;
        if let Some(source) = &one.source {
            let messages = source.messages.join(", ");
            let from = format!("learned in session {}, messages {messages}", source.session);
            screen.line(StyledText::from("  ").dim(from))?;
        }
        let shown = one.text.lines().take(MAX_LINES);
        screen.lines(shown.map(|line| StyledText::from("  ").dim("│ ").plain(line)))?;
        let more = one.text.lines().skip(MAX_LINES).count() as u64;
        if more > 0 {
            let more = plural(more, "more line", "more lines");
            screen.line(StyledText::from("  ").dim(format!("│ … {more}")))?;
        }
        screen.gap()?;
    }
    Ok(screen.note("`bethink team approve ID` adds one, `bethink team reject ID` declines it")?)
}

/// Approves proposals if there is an approval, else rejects them.
async fn decide(app: &mut CliApp, named: &[String], approval: Option<api::Approval>) -> Done {
    let client = app.client().await?;
    let mut decided = Vec::new();
    for part in named {
        let id = proposal(&client, &app.project_dir(), part).await?;
        decided.push(match &approval {
            Some(approval) => client.approve(id, approval).await?,
            None => client.reject(id).await?,
        });
    }
    let Some(screen) = app.screen.unless_json(&decided)? else { return Ok(()) };
    for one in &decided {
        let line = StyledText::new().put(Tone::Good, one.proposal.state.to_string());
        screen.line(line.plain(format!("  {}", one.proposal.name)))?;
        for warning in &one.warnings {
            screen.line(StyledText::from("  ").put(Tone::Warn, warning.clone()))?;
        }
    }
    if approval.is_some() {
        screen.note("run `bethink team sync` to share what was approved")?;
    }
    Ok(())
}

/// Finds a proposal by its full id, or a waiting one by the beginning or end of its id.
async fn proposal(client: &Client, project: &str, named: &str) -> Result<Uuid, CliFailure> {
    if let Ok(id) = Uuid::parse_str(named) {
        return Ok(id);
    }
    let waiting = client.proposals(project, false).await?.proposals;
    app::one_of(named, "proposal", waiting, |one| one.id).map(|one| one.id)
}
