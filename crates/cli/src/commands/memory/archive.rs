//! Exports and imports a whole memory: its topics and its index, unchanged, in a directory or a .tar file. Also imports .json exports of claude-mem and mem0.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use bethink_api::{ImportMemories, MemoryOutcome};
use bethink_client::Client;
use bethink_client::memories::Over;
use bethink_terminal::words::plural;
use bethink_terminal::{StyledText, Tone};
use serde_json::json;

use super::named::{all, scope, topic};
use super::tar;
use crate::app::CliApp;
use crate::args::OfTeam;
use crate::failure::{CliFailure, Done};

const INDEX: &str = "MEMORY";
/// Maximum number of refused entries that are shown.
const REFUSED: usize = 5;

/// The files of an archive: their contents by path.
type Files = BTreeMap<String, Vec<u8>>;

pub(super) async fn export(app: &mut CliApp, client: &Client, to: &Path, of: &OfTeam) -> Done {
    let topics = all(client, app.project_dir(), Some(scope(of))).await?;
    let mut files = Files::new();
    for name in topics.into_iter().map(|memory| memory.name).chain([INDEX.to_owned()]) {
        match client.topic(&topic(app, scope(of), &name)).await {
            Ok(text) => drop(files.insert(format!("{name}.md"), text.text.into_bytes())),
            // There may be no index.
            Err(error) if error.problem().is_some_and(|problem| problem.status == 404) => {}
            Err(error) => return Err(error.into()),
        }
    }
    match is_tar(to) {
        true => write_tar(to, &files)?,
        false => write_directory(to, &files)?,
    }
    let told = json!({ "path": to, "files": files.len() });
    let Some(screen) = app.screen.unless_json(&told)? else { return Ok(()) };
    let count = plural(files.len() as u64, "file", "files");
    Ok(screen.note(format!("wrote {count} to {}", to.display()))?)
}

fn is_tar(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("tar"))
}

fn write_tar(to: &Path, files: &Files) -> Result<(), CliFailure> {
    let mut bytes = Vec::new();
    for (path, text) in files {
        tar::append(&mut bytes, path, text)
            .map_err(|why| CliFailure::hinted(why, "export to a directory instead"))?;
    }
    tar::finish(&mut bytes);
    let failed = |error: std::io::Error| CliFailure::file("write", to, &error);
    let mut new = fs::OpenOptions::new();
    let mut file = new.write(true).create_new(true).open(to).map_err(failed)?;
    std::io::Write::write_all(&mut file, &bytes).and_then(|()| file.sync_all()).map_err(failed)
}

fn write_directory(to: &Path, files: &Files) -> Result<(), CliFailure> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error: std::io::Error| CliFailure::file("write", &path, &error)
    };
    fs::create_dir_all(to).map_err(failed(to))?;
    if to.read_dir().map_err(failed(to))?.next().is_some() {
        let what = format!("{} is not empty", to.display());
        return Err(CliFailure::hinted(what, "name a new or empty directory; nothing was written"));
    }
    for (path, text) in files {
        let file = to.join(path);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).map_err(failed(folder))?;
        }
        fs::write(&file, text).map_err(failed(&file))?;
    }
    Ok(())
}

pub(super) async fn import(app: &mut CliApp, client: &Client, from: &Path, of: &OfTeam) -> Done {
    let failed = |error: std::io::Error| CliFailure::file("read", from, &error);
    if from.is_dir() {
        let mut files = Files::new();
        read_directory(from, Path::new(""), &mut files)?;
        return import_files(app, client, files, of).await;
    }
    let bytes = fs::read(from).map_err(failed)?;
    if is_tar(from) {
        let read = tar::files(&bytes).map_err(|why| {
            CliFailure::hinted(format!("{}: {why}", from.display()), "nothing was imported")
        })?;
        return import_files(app, client, read.into_iter().collect(), of).await;
    }
    let text = String::from_utf8(bytes).map_err(|_| {
        let what = format!("{} is not UTF-8", from.display());
        CliFailure::hinted(
            what,
            "name a directory, a .tar file, or a .json export of claude-mem or mem0",
        )
    })?;
    let request = ImportMemories { project_dir: app.project_dir(), scope: scope(of), text };
    let told = client.import_memories(&request).await?;
    let Some(screen) = app.screen.unless_json(&told)? else { return Ok(()) };
    let count = plural(told.imported.len() as u64, "topic", "topics");
    let mut rest = String::new();
    if told.known > 0 {
        rest.push_str(&format!("; {} already known", told.known));
    }
    if told.empty > 0 {
        rest.push_str(&format!("; {} without text", told.empty));
    }
    screen.line(format!("imported {count} from {}{rest}", told.from))?;
    for why in told.refused.iter().take(REFUSED) {
        screen.flowing(StyledText::new().put(Tone::Warn, "refused ").plain(why.clone()), 8)?;
    }
    let more = told.refused.len().saturating_sub(REFUSED) as u64;
    match more {
        0 => Ok(()),
        more => Ok(screen.note(format!("{} more refused", plural(more, "entry", "entries")))?),
    }
}

/// Reads the Markdown files of a directory and its folders. Hidden entries and the team's folder are left out.
fn read_directory(root: &Path, below: &Path, files: &mut Files) -> Result<(), CliFailure> {
    let dir = root.join(below);
    let failed = |error: std::io::Error| CliFailure::file("read", &dir, &error);
    for entry in dir.read_dir().map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type().map_err(failed)?;
        let path = below.join(&name);
        if name.starts_with('.') || path == Path::new("team") {
            continue;
        }
        if kind.is_dir() {
            read_directory(root, &path, files)?;
        } else if kind.is_file() && name.ends_with(".md") {
            let bytes = fs::read(entry.path()).map_err(failed)?;
            files.insert(path.to_string_lossy().into_owned(), bytes);
        }
    }
    Ok(())
}

/// Writes each file, unless its topic already exists with a different text. The index is imported only if there is
/// none.
async fn import_files(app: &mut CliApp, client: &Client, mut files: Files, of: &OfTeam) -> Done {
    let index = files.remove(&format!("{INDEX}.md"));
    let old_index = client.topic(&topic(app, scope(of), INDEX)).await.is_ok();
    let (mut added, mut same, mut left) = (Vec::new(), 0_u64, Vec::new());
    for (path, bytes) in files {
        let name = path.strip_suffix(".md").unwrap_or(&path).to_owned();
        let Ok(text) = String::from_utf8(bytes) else {
            left.push(format!("{path} is not UTF-8"));
            continue;
        };
        let at = topic(app, scope(of), &name);
        match client.put_topic(&at, text.clone(), &Over::Nothing, &[]).await {
            Ok(done) if done.outcome == MemoryOutcome::Same => same += 1,
            Ok(done) => added.push(done.name),
            Err(error) => match error.problem().map(|problem| problem.status) {
                Some(409 | 412) => match client.topic(&at).await {
                    Ok(known) if known.text == text => same += 1,
                    Err(unread) => left.push(format!("{name} already exists; {unread}")),
                    Ok(_) => left.push(format!("{name} already exists with different text")),
                },
                Some(400 | 413 | 422) => left.push(error.to_string()),
                _ => return Err(error.into()),
            },
        }
    }
    if let Some(text) = index.filter(|_| !old_index).and_then(|bytes| String::from_utf8(bytes).ok())
    {
        client.put_topic(&topic(app, scope(of), INDEX), text, &Over::Anything, &[]).await?;
    }
    let told = json!({ "imported": added, "same": same, "left": left });
    let Some(screen) = app.screen.unless_json(&told)? else { return Ok(()) };
    let count = plural(added.len() as u64, "topic", "topics");
    let same = if same > 0 { format!("; {same} already present") } else { String::new() };
    screen.line(format!("imported {count}{same}"))?;
    for why in left {
        screen.flowing(StyledText::new().put(Tone::Warn, "skipped ").plain(why), 8)?;
    }
    Ok(())
}
