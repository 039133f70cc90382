//! Files that a compaction reads from disk again: recently used files and the plan. The text of a file that is not on
//! this machine, such as one in a container, is taken from the tool result that last showed it.
//!
//! Files in the project may be read. Outside the project, only files that the session has read or written, files that a
//! client set, and the plan may be read. A file outside the project must be a regular file that this user owns, and no
//! part of its path may be a symbolic link or hidden, except for Claude Code's plans. Of any other file, only the name
//! is mentioned.

use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use bethink_api::FileRead;
use bethink_compactor::{RestorableFile, RestorableText};
use bethink_context::{History, VisibleCall};
use bethink_facts::{Facts, UsedFile};
use bethink_service::blocking;
use bethink_transcript::{Seq, ToolKind};
use rustix::fs::OFlags;

use crate::kept_state::KeptState;
use crate::loaded::LoadedSession;
use crate::service::SessionService;

/// Maximum size of a file that is read again after a compaction, in bytes: a larger one would not fit.
const MAX_RESTORED_FILE: u64 = 256 * 1024;
/// Maximum number of recently used files to look for. Some of them may have been deleted.
const LOOKED_FOR: usize = 100;
/// Where Claude Code keeps plans, in the user's home directory.
const PLANS: &str = ".claude/plans";

/// Files and the plan as they are on disk.
#[derive(Debug, Default)]
pub(super) struct FilesOnDisk {
    pub(super) files: Vec<RestorableFile>,
    pub(super) plan: Option<RestorableText>,
}

/// The plan to look for.
#[derive(Debug, Default)]
struct WantedPlan {
    path: Option<String>,
    /// The plan's text, used if the plan is not on disk.
    text: String,
    approved: Option<bool>,
    /// The message that shows the plan.
    seq: Option<Seq>,
}

impl SessionService {
    pub(super) async fn read_again(
        &self,
        loaded: &LoadedSession,
        state: &KeptState,
        facts: &Facts,
    ) -> FilesOnDisk {
        let places = self.places(loaded);
        let paths = used_paths(state, facts);
        let plan = wanted_plan(state, facts);
        // A few more than are restored, because some may be visible in the tail.
        let limit = self.limits.compact.files + 6;
        let read = move || {
            let mut seen = HashSet::new();
            let is_new = |used: &UsedFile| seen.insert(places.absolute(&used.path));
            let mut files = Vec::new();
            let mut on_disk = 0;
            for used in paths.into_iter().filter(is_new).take(LOOKED_FOR) {
                let found = places.look(&used.path, used.is_confirmed);
                on_disk += usize::from(matches!(found, FileOnDisk::Text(_) | FileOnDisk::NotRead));
                files.push((used.path, found));
                if on_disk == limit {
                    break;
                }
            }
            Ok((files, plan.map(|p| p.text(&places))))
        };
        let (files, plan) = blocking(read).await.unwrap_or_default();
        let max_bytes = usize::try_from(self.limits.compact.file_tokens * 4).unwrap_or(usize::MAX);
        let snapshots = LazyCell::new(|| newest_snapshots(&loaded.state.history, max_bytes));
        let files = files.into_iter().filter_map(|(path, found)| {
            let (content, shown_in) = match found {
                FileOnDisk::Text(text) => (Some(text), None),
                FileOnDisk::NotRead => (None, None),
                FileOnDisk::Gone => return None,
                FileOnDisk::NotOnThisMachine => {
                    let FileSnapshot { seq, text } = snapshots.get(&path)?;
                    (text.clone(), Some(*seq))
                }
            };
            Some(RestorableFile { path, content, shown_in })
        });
        FilesOnDisk { files: files.take(limit).collect(), plan }
    }

    fn places(&self, loaded: &LoadedSession) -> ReadablePlaces {
        let plans = self.cx.settings().person.as_ref().map(|home| home.join(PLANS));
        ReadablePlaces::new(Path::new(&loaded.session.project_dir), plans.as_deref())
    }
}

/// A file's text as a message shows it.
#[derive(Debug)]
struct FileSnapshot {
    seq: Seq,
    /// `None` if the text is too long to be shown again.
    text: Option<String>,
}

/// Returns the newest read result of each recently read file, unless the session changed the file after that. `max_bytes`
/// is the maximum size of a text.
fn newest_snapshots(history: &History, max_bytes: usize) -> HashMap<String, FileSnapshot> {
    let mut newest: HashMap<&str, Option<FileSnapshot>> = HashMap::new();
    for message in history.entries().iter().rev().map(|entry| &entry.message) {
        if newest.len() >= LOOKED_FOR {
            break;
        }
        for (id, _, block) in message.tool_results().filter(|(_, is_error, _)| !is_error) {
            let Some(VisibleCall { kind: Some(kind), path: Some(path), .. }) =
                history.call(id, message.seq)
            else {
                continue;
            };
            let is_read = *kind == ToolKind::Read;
            if is_read || kind.changes_files() {
                let text = || Some(block.text()).filter(|text| text.len() <= max_bytes);
                let snapshot = || FileSnapshot { seq: message.seq, text: text().map(Into::into) };
                newest.entry(path).or_insert_with(|| is_read.then(snapshot));
            }
        }
    }
    newest.into_iter().filter_map(|(path, shown)| Some((path.to_owned(), shown?))).collect()
}

/// Returns the files that the session used, newest first; those that a client set come first.
fn used_paths(state: &KeptState, facts: &Facts) -> Vec<UsedFile> {
    let set = state.files.iter().flat_map(|set| set.files.iter().rev());
    let of_client =
        |file: &FileRead| UsedFile { path: file.path.clone(), last: Seq::ZERO, is_confirmed: true };
    let mut paths: Vec<UsedFile> = set.map(of_client).collect();
    paths.extend(facts.client.used_files().into_iter().cloned());
    paths
}

fn wanted_plan(state: &KeptState, facts: &Facts) -> Option<WantedPlan> {
    if let Some(set) = &state.plan {
        let text = set.content.clone().unwrap_or_default();
        let path = set.path.clone();
        let is_set = path.is_some() || !text.is_empty();
        return is_set.then(|| WantedPlan { path, text, ..WantedPlan::default() });
    }
    let seen = facts.client.plan.as_ref()?;
    let is_known = seen.path.is_some() || !seen.text.is_empty();
    is_known.then(|| WantedPlan {
        path: seen.path.clone(),
        text: seen.text.clone(),
        approved: seen.approved,
        seq: Some(seen.seq),
    })
}

impl WantedPlan {
    /// Returns the plan's text. Text that a client set takes precedence over the file; text from the history does not,
    /// because it may be older than the file.
    fn text(self, places: &ReadablePlaces) -> RestorableText {
        let Self { path, text, approved, seq } = self;
        let on_disk = path.as_deref().filter(|_| seq.is_some() || text.is_empty());
        let on_disk = match on_disk.map(|path| places.look(path, true)) {
            Some(FileOnDisk::Text(read)) => Some(read),
            _ => None,
        };
        let name = path.as_deref().unwrap_or("plan");
        let is_changed = on_disk.as_deref().is_some_and(|read| read.trim() != text.trim());
        let plan = RestorableText::plan(name, on_disk.unwrap_or(text), approved);
        match seq {
            Some(seq) if !is_changed => plan.shown_in(seq),
            _ => plan,
        }
    }
}

/// Files that may contain instructions for compactions. The first one that does is used.
const INSTRUCTIONS: [&str; 3] = ["CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md"];

impl SessionService {
    /// Reads the section "Compact instructions" of the project's instructions.
    pub(super) async fn compact_instructions(&self, loaded: &LoadedSession) -> Option<String> {
        let places = self.places(loaded);
        let read = move || {
            Ok(INSTRUCTIONS.iter().find_map(|name| match places.look(name, false) {
                FileOnDisk::Text(text) => bethink_compactor::full::compact_instructions(&text),
                _ => None,
            }))
        };
        blocking(read).await.ok().flatten()
    }
}

#[derive(Debug, PartialEq, Eq)]
enum FileOnDisk {
    Text(String),
    /// Too large, or not safe to read.
    NotRead,
    /// Does not exist, or has no text.
    Gone,
    /// The project does not exist here: the session is running in a container or on another machine.
    NotOnThisMachine,
}

/// The directories that files may be read from.
#[derive(Debug)]
struct ReadablePlaces {
    project: PathBuf,
    plans: Option<PathBuf>,
}

impl ReadablePlaces {
    fn new(project: &Path, plans: Option<&Path>) -> Self {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Self { project: real(project), plans: plans.map(real) }
    }

    fn absolute(&self, path: &str) -> PathBuf {
        self.project.join(path)
    }

    /// Reads a UTF-8 text file.
    fn look(&self, path: &str, is_confirmed: bool) -> FileOnDisk {
        let path = self.absolute(path);
        let Ok(real) = path.canonicalize() else {
            let is_shown = self.is_of_another_machine(&path) && !is_hidden(&path);
            return if is_shown { FileOnDisk::NotOnThisMachine } else { FileOnDisk::Gone };
        };
        let Ok(found) = fs::symlink_metadata(&real) else { return FileOnDisk::Gone };
        if !found.is_file() {
            return FileOnDisk::Gone;
        }
        let is_inside = real.starts_with(&self.project);
        let is_safe = is_inside || (is_confirmed && real == path && self.is_open(&real, &found));
        if !is_safe || found.len() > MAX_RESTORED_FILE {
            return FileOnDisk::NotRead;
        }
        read_text(&real).map_or(FileOnDisk::Gone, FileOnDisk::Text)
    }

    /// Whether the project does not exist on this machine. For a file outside the project, whether the two topmost
    /// directories of its path, such as `/workspace/tidepool`, do not exist. A directory that was deleted on this
    /// machine is usually deeper than these.
    fn is_of_another_machine(&self, path: &Path) -> bool {
        let highest: PathBuf = path.components().take(3).collect();
        let place = if path.starts_with(&self.project) { &self.project } else { &highest };
        matches!(place.try_exists(), Ok(false))
    }

    /// Whether a file outside the project belongs to this user, and no part of its path is hidden.
    fn is_open(&self, real: &Path, found: &fs::Metadata) -> bool {
        let is_plan = self.plans.as_ref().is_some_and(|plans| real.starts_with(plans));
        found.uid() == rustix::process::geteuid().as_raw() && (is_plan || !is_hidden(real))
    }
}

/// Whether a part of a path is hidden: programs keep keys and settings in hidden directories.
fn is_hidden(path: &Path) -> bool {
    path.components().any(
        |part| matches!(part, Component::Normal(name) if name.as_encoded_bytes().starts_with(b".")),
    )
}

fn read_text(real: &Path) -> io::Result<String> {
    // The path may have changed: do not follow links, and do not block on a pipe without a writer.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(real)?;
    if !file.metadata()?.is_file() || fs::canonicalize(real)? != real {
        return Err(io::Error::other("the file changed while it was being read"));
    }
    let mut text = String::new();
    file.take(MAX_RESTORED_FILE).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn outside_of_the_project_only_files_that_lead_nowhere_else_are_read() {
        let directory = tempfile::Builder::new().prefix("disk").tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        let make = |name: &str| {
            let path = top.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, name).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let inside = make("project/src/a.rs");
        let sibling = make("other/b.rs");
        let hidden = make("home/.ssh/id");
        let plan = make("home/.claude/plans/calm.md");
        make("home/.claude/settings.json");
        let link = top.join("other/link").to_str().unwrap().to_owned();
        symlink(&sibling, &link).unwrap();
        let out = top.join("project/out").to_str().unwrap().to_owned();
        symlink(&sibling, &out).unwrap();
        let places = ReadablePlaces::new(&top.join("project"), Some(&top.join("home").join(PLANS)));
        let check = |path: &str, is_confirmed: bool, expect: Option<&str>| {
            let expect =
                expect.map_or(FileOnDisk::NotRead, |text| FileOnDisk::Text(text.to_owned()));
            assert_eq!(places.look(path, is_confirmed), expect, "{path}");
        };
        check(&inside, false, Some("project/src/a.rs"));
        check("src/a.rs", false, Some("project/src/a.rs"));
        check(&sibling, true, Some("other/b.rs"));
        check(&sibling, false, None);
        check("../other/b.rs", true, None);
        check(&link, true, None);
        check(&out, true, None);
        check(&hidden, true, None);
        check(&plan, true, Some("home/.claude/plans/calm.md"));
        check(top.join("home/.claude/settings.json").to_str().unwrap(), true, None);
        assert_eq!(places.look("src/gone.rs", true), FileOnDisk::Gone);
        assert_eq!(places.look("src", true), FileOnDisk::Gone);
        assert_eq!(places.look("/container/src/a.rs", true), FileOnDisk::NotOnThisMachine);
    }
}
