//! Files that a compaction reads from disk again: recently read files and the plan, only inside the project.

use std::path::{Path, PathBuf};

use bethink_facts::Facts;

use crate::kept_state::KeptState;
use crate::loaded::LoadedSession;
use crate::service::SessionService;

/// Maximum size of a file that is read again after a compaction, in bytes: a larger one would not fit.
const MAX_RESTORED_FILE: u64 = 256 * 1024;

impl SessionService {
    pub(super) async fn restorable(
        &self,
        loaded: &LoadedSession,
        state: &KeptState,
        facts: &Facts,
    ) -> bethink_compactor::Restorable {
        let mut what = state.restorable();
        let root = PathBuf::from(&loaded.session.project_dir);
        let mut paths: Vec<String> =
            state.files.files.iter().rev().map(|f| f.path.clone()).collect();
        let mut read: Vec<_> = facts.tools.files().iter().filter(|f| f.reads > 0).collect();
        read.sort_by_key(|f| std::cmp::Reverse(f.last));
        paths.extend(read.iter().map(|f| f.path.to_string()));
        let mut seen = std::collections::HashSet::new();
        paths.retain(|p| seen.insert(p.clone()));
        // A few more than are restored, because some may be visible in the tail or deleted.
        paths.truncate(20);
        let plan = state.plan.clone();
        let limit = self.limits.compact.files + 6;
        let disk = tokio::task::spawn_blocking(move || {
            let files: Vec<(String, Option<String>)> = paths
                .into_iter()
                .filter_map(|path| {
                    let content = read_inside(&root, &path)?;
                    Some((path, content))
                })
                .take(limit)
                .collect();
            let plan = match (plan.content, plan.path) {
                (Some(content), path) => Some((path.unwrap_or_else(|| "plan".to_owned()), content)),
                (None, Some(path)) => {
                    read_inside(&root, &path).flatten().map(|content| (path, content))
                }
                (None, None) => None,
            };
            (files, plan)
        })
        .await;
        if let Ok((files, plan)) = disk {
            what.files = files;
            what.plan = plan;
        }
        what
    }
}

/// Files that may have instructions for compactions; the first that has them is used.
const INSTRUCTIONS: [&str; 3] = ["CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md"];

impl SessionService {
    /// Reads the section "Compact instructions" of the project's instructions.
    pub(super) async fn compact_instructions(&self, loaded: &LoadedSession) -> Option<String> {
        let root = PathBuf::from(&loaded.session.project_dir);
        let read = move || {
            INSTRUCTIONS.iter().find_map(|name| {
                let text = read_inside(&root, name).flatten()?;
                bethink_compactor::full::compact_instructions(&text)
            })
        };
        tokio::task::spawn_blocking(read).await.ok().flatten()
    }
}

/// Reads a regular UTF-8 file inside `root`, without its content if that would not fit. Links that lead outside are
/// refused.
fn read_inside(root: &Path, path: &str) -> Option<Option<String>> {
    let root = root.canonicalize().ok()?;
    let path = root.join(path).canonicalize().ok()?;
    let inside = path.starts_with(&root);
    let file = inside.then(|| std::fs::metadata(&path).ok()).flatten()?;
    if !file.is_file() {
        return None;
    }
    if file.len() > MAX_RESTORED_FILE {
        return Some(None);
    }
    std::fs::read_to_string(&path).ok().map(Some)
}
