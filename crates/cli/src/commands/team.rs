//! `bethink team`: shared memory, and the proposals to add to it.

use bethink_api as api;
use bethink_client::Client;
use bethink_client::memories::TopicRef;
use bethink_render::short_ids;
use bethink_terminal::words::{ago, plural};
use bethink_terminal::{Screen, StyledText, Tone};
use uuid::Uuid;

use crate::app::{self, CliApp};
use crate::args::TeamCommand;
use crate::commands::{editor, team_history};
use crate::failure::{CliFailure, Done};

/// Maximum number of lines of a proposal that are shown.
const MAX_LINES: usize = 12;
/// Start of the separator line above each version in the editor.
const MARK: &str = ">>>>>>> version of";

/// A person's decision about proposals.
enum Decision {
    Approve(api::Approval),
    Reject(api::Rejecting),
}

pub(crate) async fn run(app: &mut CliApp, command: TeamCommand) -> Done {
    match command {
        TeamCommand::Init { remote, dir } => init(app, remote, dir).await,
        TeamCommand::Status => status(app).await,
        TeamCommand::Sync { accept_rewrite } => {
            sync(app, api::TeamSyncRequest { accept_rewrite, ..Default::default() }).await
        }
        TeamCommand::History(command) => team_history::run(app, command).await,
        TeamCommand::Proposals { all } => proposals(app, all).await,
        TeamCommand::Resolve { topic, mine, theirs, keep_version, edit } => {
            let own = mine.then(|| "mine".to_owned());
            let keep = own.or_else(|| theirs.then(|| "theirs".to_owned())).or(keep_version);
            resolve(app, topic, keep, edit).await
        }
        TeamCommand::Drop { files } => {
            let drop = files.into_iter().map(with_extension).collect();
            sync(app, api::TeamSyncRequest { drop, ..Default::default() }).await
        }
        TeamCommand::Approve { proposals, replace, keep_private } => {
            let approval = api::Approval { replace, keep_private };
            decide(app, &proposals, &Decision::Approve(approval)).await
        }
        TeamCommand::Reject { proposals, reason } => {
            decide(app, &proposals, &Decision::Reject(api::Rejecting { reason })).await
        }
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
    let shared = status.remote.is_some();
    if let Some(remote) = status.remote {
        screen.line(StyledText::from("shared with ").strong(remote))?;
    }
    let moved = told.pulled + told.pushed;
    if moved > 0 || !told.blocked.is_empty() || !told.conflicts.is_empty() {
        return show(screen, &told);
    }
    let next = match status.kind {
        api::TeamMemoryKind::Repository if shared => {
            "ready: `bethink remember --team TEXT` adds a memory, and `bethink team sync` shares it"
        }
        api::TeamMemoryKind::Repository => {
            "ready, but not shared yet: `bethink team init --remote URL` sets the remote"
        }
        _ => {
            "ready: `bethink remember --team TEXT` adds a memory, and the program that syncs the folder shares it"
        }
    };
    Ok(screen.note(next)?)
}

/// Makes a path absolute, because the daemon has a different current directory.
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
        if status.topics > 0 {
            let topics = plural(status.topics, "team topic", "team topics");
            screen.note(format!("{topics} in {} will not be shared", status.dir))?;
        }
        return Ok(screen.note(
            "to create one that is shared through git, run `bethink team init --remote URL`; \
             to share it through a folder, run `bethink team init --dir DIR`",
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
        screen.line(StyledText::from("shared  ").dim("no: no remote is set"))?;
    }
    let topics = plural(status.topics, "topic", "topics");
    let mut changed = String::new();
    if !status.unsynced.is_empty() {
        let files = plural(status.unsynced.len() as u64, "file has changed", "files have changed");
        changed = format!(", {files} since the last sync: {}", status.unsynced.join(", "));
    }
    screen.flowing(StyledText::from("holds   ").plain(topics).plain(changed), 8)?;
    for conflict in &status.conflicts {
        open_conflict(screen, conflict)?;
    }
    blocked(screen, &status.blocked)?;
    for one in &status.withheld {
        withheld(screen, one)?;
    }
    for problem in &status.problems {
        screen.flowing(StyledText::new().put(Tone::Bad, "wrong   ").plain(problem.clone()), 8)?;
    }
    if status.proposals > 0 {
        let waiting = plural(status.proposals, "proposal is", "proposals are");
        screen.note(format!("{waiting} waiting; see `bethink team proposals`"))?;
    }
    Ok(())
}

async fn sync(app: &mut CliApp, request: api::TeamSyncRequest) -> Done {
    let client = app.client().await?;
    let request = api::TeamSyncRequest { project_dir: app.project_dir(), ..request };
    let told = client.team_sync(&request).await?;
    let Some(screen) = app.screen.unless_json(&told)? else { return Ok(()) };
    show(screen, &told)
}

fn show(screen: &mut Screen, told: &api::TeamSync) -> Done {
    let moved = told.pulled + told.pushed;
    if moved == 0
        && [told.conflicts.is_empty(), told.blocked.is_empty(), told.notes.is_empty()] == [true; 3]
    {
        screen.line("already in sync")?;
    }
    let is_there = |file: &&String| !told.removed_files.contains(file);
    let still = |files: &[String]| files.iter().filter(is_there).cloned().collect::<Vec<_>>();
    let moved = [("pulled  ", still(&told.pulled_files)), ("pushed  ", still(&told.pushed_files))];
    for (word, files) in moved.into_iter().chain([("removed ", told.removed_files.clone())]) {
        if !files.is_empty() {
            let line = StyledText::new().put(Tone::Good, word).plain(files.join(", "));
            screen.flowing(line, 8)?;
        }
    }
    for conflict in &told.conflicts {
        let topic = conflict.name.trim_end_matches(".md");
        let by = conflict.theirs_by.split_once(", ").map_or("someone else", |(by, _)| by);
        let line = StyledText::new()
            .put(Tone::Warn, "conflict ")
            .strong(topic)
            .plain(format!(" was changed by you and by {by}; both versions are kept"));
        screen.flowing(line, 9)?;
        let how = format!(
            "`bethink team resolve {topic} --mine` keeps your version, `--theirs` keeps the other one, and `--edit` opens both in your editor"
        );
        screen.flowing(StyledText::from(" ".repeat(9)).plain(how), 9)?;
    }
    blocked(screen, &told.blocked)?;
    for note in &told.notes {
        screen.note(note.clone())?;
    }
    Ok(())
}

/// Shows a conflict and the commands that resolve it.
fn open_conflict(screen: &mut Screen, conflict: &api::OpenConflict) -> Done {
    let count = plural(conflict.versions.len() as u64, "version", "versions");
    let head = StyledText::new().put(Tone::Warn, "conflict ").strong(conflict.name.clone());
    let how = format!(
        " has {count}; run `bethink team resolve {}` with one of these options:",
        conflict.name
    );
    screen.line(head.plain(how))?;
    let is_clear = conflict.versions.iter().any(|version| version.mine);
    let others = conflict.versions.iter().filter(|version| !version.mine).count();
    for version in &conflict.versions {
        let flag = match version.mine {
            true => "--mine".to_owned(),
            false if is_clear && others == 1 => "--theirs".to_owned(),
            false => format!("--keep-version {}", version.name),
        };
        let by = version.by.as_ref().map(|by| format!("  {by}")).unwrap_or_default();
        let by = if version.mine { "  yours".to_owned() } else { by };
        let line = StyledText::from(" ".repeat(9)).put(Tone::Accent, flag).plain(by);
        screen.line(line.dim(format!("  {}.md", version.name)))?;
    }
    let line = StyledText::from(" ".repeat(9)).put(Tone::Accent, "--edit");
    Ok(screen.line(line.plain("  merge them in your editor"))?)
}

fn withheld(screen: &mut Screen, one: &api::TeamBlocked) -> Done {
    let by = one.by.as_ref().map(|by| format!(" ({by})")).unwrap_or_default();
    let head = StyledText::new().dim(format!("did not pull the team's {}{by}", one.file));
    let reasons = format!(
        ": {}; to remove it for everybody, run `bethink team drop {}`",
        one.reasons.join("; "),
        one.file
    );
    Ok(screen.flowing(head.plain(reasons), 9)?)
}

fn blocked(screen: &mut Screen, blocked: &[api::TeamBlocked]) -> Done {
    for one in blocked {
        let what = match one.way {
            api::BlockedWay::Incoming => " was not pulled",
            api::BlockedWay::History => {
                " contains a secret in an unpushed commit, so nothing was pushed"
            }
            api::BlockedWay::Here => " must not be shared",
        };
        let by = one.by.as_ref().map(|by| format!(" ({by})")).unwrap_or_default();
        let head = StyledText::new().put(Tone::Bad, "blocked ").strong(one.file.clone());
        screen.line(head.plain(what).dim(by))?;
        one.reasons
            .iter()
            .try_for_each(|reason| screen.flowing(format!("{:10}{reason}", ""), 0))?;
        if one.way == api::BlockedWay::Incoming {
            screen.note(format!(
                "tell its author to fix the file; `bethink team drop {}` removes the file for everybody",
                one.file
            ))?;
        }
    }
    Ok(())
}

/// Resolves a conflict, or shows its versions if nothing is chosen.
async fn resolve(app: &mut CliApp, topic: String, keep: Option<String>, edit: bool) -> Done {
    let client = app.client().await?;
    let project_dir = app.project_dir();
    let request = api::ResolveConflict { project_dir, name: topic, keep, text: None };
    if edit || request.keep.is_none() {
        let status = client.team(&request.project_dir, false).await?;
        let named = |conflict: &&api::OpenConflict| {
            let name = request.name.trim_end_matches(".md");
            conflict.name == name || conflict.versions.iter().any(|version| version.name == name)
        };
        let Some(conflict) = status.conflicts.iter().find(named) else {
            let told = format!("the topic {} has no conflict", request.name);
            return Err(CliFailure::hinted(
                told,
                "run `bethink team status` to list the conflicts",
            ));
        };
        if !edit {
            let Some(screen) = app.screen.unless_json(conflict)? else { return Ok(()) };
            return open_conflict(screen, conflict);
        }
        return merge(app, &client, request, conflict).await;
    }
    let told = client.resolve(&request).await?;
    resolved(app, &told)
}

fn resolved(app: &mut CliApp, told: &api::ConflictResolved) -> Done {
    let Some(screen) = app.screen.unless_json(told)? else { return Ok(()) };
    let kept = match &told.kept {
        Some(kept) if *kept == told.name => "  kept as it is".to_owned(),
        Some(kept) => format!("  has the text of {kept}"),
        None => "  has the merged text".to_owned(),
    };
    let kept = format!("{kept}; removed {}", told.removed.join(", "));
    screen.line(
        StyledText::new().put(Tone::Good, "resolved ").strong(told.name.clone()).plain(kept),
    )?;
    Ok(screen.note("if the team uses git, run `bethink team sync` to share the result")?)
}

/// Opens all versions in the editor, one below the other, and resolves the conflict with the edited text.
async fn merge(
    app: &mut CliApp,
    client: &Client,
    request: api::ResolveConflict,
    conflict: &api::OpenConflict,
) -> Done {
    let mut begun = String::new();
    for version in &conflict.versions {
        let topic = TopicRef {
            project_dir: app.project_dir(),
            scope: api::MemoryScope::Team,
            name: version.name.clone(),
        };
        let text = client.topic(&topic).await?.text;
        let whose = version.by.clone().unwrap_or_else(|| version.name.clone());
        begun.push_str(&format!("{MARK} {whose}\n{}\n", text.trim_end()));
    }
    let (draft, text) = editor::edited(app, &conflict.name, &begun)?;
    let kept = format!("your text is in {}", draft.path().display());
    if text.contains(MARK) {
        let told = format!(
            "could not resolve {}: the text still contains lines with {MARK:?}",
            conflict.name
        );
        let hint = format!("merge the versions into one text without these lines; {kept}");
        return Err(CliFailure::hinted(told, hint));
    }
    let request = api::ResolveConflict { text: Some(text), ..request };
    let told = match client.resolve(&request).await {
        Ok(told) => told,
        Err(error) => return Err(CliFailure::hinted(error.to_string(), kept)),
    };
    draft.discard();
    resolved(app, &told)
}

fn with_extension(file: String) -> String {
    if file.ends_with(".md") { file } else { format!("{file}.md") }
}

async fn proposals(app: &mut CliApp, all: bool) -> Done {
    let client = app.client().await?;
    let found = client.proposals(&app.project_dir(), all).await?;
    let Some(screen) = app.screen.unless_json(&found)? else { return Ok(()) };
    if found.proposals.is_empty() {
        let none = if all { "there are no proposals" } else { "no proposals are waiting" };
        return Ok(screen.note(none)?);
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
            let messages = match source.messages.join(", ") {
                messages if messages.is_empty() => messages,
                messages => format!(" (messages: {messages})"),
            };
            if !source.session.is_empty() {
                let from = format!("learned in session {}{messages}", source.session);
                screen.line(StyledText::from("  ").dim(from))?;
            }
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
    Ok(screen.note(
        "`bethink team approve ID` approves a proposal; `bethink team reject ID` rejects it",
    )?)
}

async fn decide(app: &mut CliApp, named: &[String], decision: &Decision) -> Done {
    let client = app.client().await?;
    let mut decided = Vec::new();
    for part in named {
        let id = proposal(&client, &app.project_dir(), part).await?;
        decided.push(match decision {
            Decision::Approve(approval) => client.approve(id, approval).await?,
            Decision::Reject(why) => client.reject(id, why).await?,
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
    Ok(screen.note(match decision {
        Decision::Approve(_) => "if the team uses git, run `bethink team sync` to share the approved memories",
        Decision::Reject(_) => {
            "if the team uses git, run `bethink team sync` so that nobody's agent proposes this again; to allow it again, \
             remove its line from REJECTED-PROPOSALS.md"
        }
    })?)
}

/// Finds a proposal by its full id, or a waiting one by a prefix or suffix of its id.
async fn proposal(client: &Client, project: &str, named: &str) -> Result<Uuid, CliFailure> {
    if let Ok(id) = Uuid::parse_str(named) {
        return Ok(id);
    }
    let waiting = client.proposals(project, false).await?.proposals;
    app::one_of(named, "proposal", waiting, |one| one.id).map(|one| one.id)
}
