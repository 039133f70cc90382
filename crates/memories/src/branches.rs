//! Finds memories that were learned on a branch that the checkout does not contain. Such memories are shown last, with
//! a note.
//!
//! The branch and the commit are recorded with the statement. A memory counts as merged if the checkout is on that
//! branch or has that commit in its history, and also if the branch no longer exists: in that case, it was merged in
//! another form, or abandoned. Git is asked once for each pair of a commit and a HEAD. Apart from that, only a few
//! small files of the repository are read.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bethink_api::MemoryAuthor;
use bethink_git::{Checkout, Git, GitLimits, Oid};
use bethink_memdir::header::{self, HeaderChange};
use bethink_memdir::{Name, Scope, Source, index, prompt};
use bethink_memdir_fs::DirectoryFile;
use bethink_service::{blocking, parse_rfc3339};

use crate::memory_write::MemoryWrite;
use crate::project::MemoryProject;
use crate::service::MemoryService;

/// How long a prompt waits for git. If git takes longer, all memories count as merged.
const PATIENCE: Duration = Duration::from_secs(2);
/// Maximum number of commits that git is asked about at once. The remaining commits count as contained.
const MOST_COMMITS: usize = 500;
/// Maximum age of a statement for which the current branch is recorded, in microseconds: one hour. When an older
/// statement was made, another branch may have been checked out.
const RECENT_MICROS: i64 = 3_600_000_000;

/// Topics learned on branches that a checkout does not contain, each with its branch.
pub type UnmergedTopics = HashMap<(Scope, Name), String>;

/// A topic with the branch and the commit of its source.
struct LearnedOnBranch {
    key: (Scope, Name),
    branch: String,
    commit: Oid,
}

impl MemoryService {
    /// Returns the project's topics learned on branches that the checkout of `dir` does not contain. The result is empty if git
    /// cannot tell.
    pub async fn unmerged(&self, project: &MemoryProject, dir: &str) -> UnmergedTopics {
        let learned = learned_on_branches(project);
        if learned.is_empty() {
            return UnmergedTopics::new();
        }
        let dir = PathBuf::from(dir);
        let checkout = blocking(move || Ok(Checkout::of(&dir))).await.ok().flatten();
        let Some(checkout) = checkout.filter(|checkout| !checkout.is_shallow()) else {
            return UnmergedTopics::new();
        };
        let is_elsewhere = |one: &LearnedOnBranch| checkout.branch.as_ref() != Some(&one.branch);
        let learned: Vec<LearnedOnBranch> = learned.into_iter().filter(is_elsewhere).collect();
        let commits: Vec<Oid> = learned.iter().map(|one| one.commit.clone()).collect();
        self.ask_git(project, &checkout, &commits).await;
        let is_contained = |commit: &Oid| project.contained.has(&checkout.commit, commit);
        let apart: Vec<LearnedOnBranch> =
            learned.into_iter().filter(|one| !is_contained(&one.commit)).collect();
        if apart.is_empty() {
            return UnmergedTopics::new();
        }
        let found = blocking(move || {
            let lives = apart.into_iter().filter(|one| checkout.has_branch(&one.branch));
            Ok(lives.map(|one| (one.key, one.branch)).collect())
        });
        found.await.unwrap_or_default()
    }

    /// Asks git about the commits for which no answer is stored.
    async fn ask_git(&self, project: &MemoryProject, checkout: &Checkout, commits: &[Oid]) {
        let head = &checkout.commit;
        let mut new = project.contained.unknown(head, commits);
        if new.is_empty() {
            return;
        }
        new.truncate(MOST_COMMITS);
        let limits = GitLimits { local: PATIENCE, ..GitLimits::default() };
        let git = Git::new(std::env::vars_os(), limits);
        let view = Path::new(&self.cx.settings().home).join("branches").join(&project.key);
        let lacking = match git.not_contained(checkout, &view, &new).await {
            Ok(lacking) => lacking,
            Err(error) => {
                tracing::debug!(%error, "could not find out which branches are merged; all memories count as merged");
                HashSet::new()
            }
        };
        let answers = new.into_iter().map(|commit| {
            let is_contained = !lacking.contains(&commit);
            (commit, is_contained)
        });
        project.contained.add(head, answers);
    }

    /// Adds the current branch and commit to the source in the text to write, if the text states something that was
    /// just said. `before` is the file's current text.
    pub(crate) async fn with_branch(
        &self,
        write: MemoryWrite,
        before: Option<&str>,
    ) -> MemoryWrite {
        let by_somebody = matches!(
            write.author.by,
            MemoryAuthor::Person | MemoryAuthor::Agent | MemoryAuthor::Extraction
        );
        let (Some(text), DirectoryFile::Topic(_), Scope::Private, true) =
            (&write.text, &write.file, write.scope, by_somebody)
        else {
            return write;
        };
        let Some(mut source) = header::read(text).header.source else { return write };
        if !source.commit.is_empty() {
            return write;
        }
        let old = before.and_then(|before| header::read(before).header.source);
        match old.filter(|old| is_same_statement(old, &source)) {
            Some(old) => (source.branch, source.commit) = (old.branch, old.commit),
            None => match self.branch_now(&write, &source).await {
                Some((branch, commit)) => (source.branch, source.commit) = (branch, commit),
                None => return write,
            },
        }
        let text = header::with(text, &[HeaderChange::Source(&source)]).ok();
        MemoryWrite { text: text.or(write.text), ..write }
    }

    async fn branch_now(&self, write: &MemoryWrite, source: &Source) -> Option<(String, String)> {
        let said = parse_rfc3339(&source.time)?;
        if self.cx.now().0.saturating_sub(said.0) > RECENT_MICROS {
            return None;
        }
        branch_of(self.cx.store().session(write.author.session?).await.ok()?.project_dir).await
    }
}

/// Returns the branch and the commit that are checked out in a directory.
pub(crate) async fn branch_of(dir: String) -> Option<(String, String)> {
    let checkout = blocking(move || Ok(Checkout::of(Path::new(&dir)))).await.ok()??;
    Some((checkout.branch?, checkout.commit.to_string()))
}

/// Moves the lines of topics from unmerged branches to the end of an index, each with a note.
pub(crate) fn unmerged_last(index: &str, scope: Scope, unmerged: &UnmergedTopics) -> String {
    let branch = |name: &Name| unmerged.get(&(scope, name.clone()));
    index::moved_last(index, |name| branch(name).map(|branch| prompt::unmerged(branch)))
}

fn is_same_statement(old: &Source, new: &Source) -> bool {
    (&old.session, &old.messages, &old.time) == (&new.session, &new.messages, &new.time)
}

fn learned_on_branches(project: &MemoryProject) -> Vec<LearnedOnBranch> {
    let mut learned = Vec::new();
    for scope in [Scope::Private, Scope::Team] {
        for (name, topic) in &project.directory(scope).shown().topics {
            let Some(source) = &topic.header.source else { continue };
            if let (false, Ok(commit)) = (source.branch.is_empty(), source.commit.parse()) {
                let (key, branch) = ((scope, name.clone()), source.branch.clone());
                learned.push(LearnedOnBranch { key, branch, commit });
            }
        }
    }
    learned
}
