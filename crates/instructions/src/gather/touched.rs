//! Loads files that apply only after another file has been touched: rules with patterns, and files below the working
//! directory.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::{Gather, WaitingRule};
use crate::disk::FileType;
use crate::limits::MOST_TOUCHED;
use crate::places::{absolute, steps};
use crate::report::{Reason, SkipReason};

impl Gather<'_> {
    pub(super) fn touched(&mut self) {
        let mut seen = HashSet::new();
        let touched = self.asked.iter().filter_map(|path| self.in_project(path));
        let touched: Vec<PathBuf> =
            touched.filter(|path| seen.insert(path.clone())).take(MOST_TOUCHED).collect();
        let mut entered = HashSet::new();
        for path in &touched {
            for dir in self.below_cwd(path) {
                if entered.insert(dir.clone()) {
                    let why = SkipReason::Below { touched: path.clone() };
                    self.directory(&dir, &why);
                    self.local(&dir, &why);
                }
            }
        }
        for waiting in std::mem::take(&mut self.waiting) {
            self.rule(waiting, &touched);
        }
    }

    /// Loads a rule if one of the touched files matches; otherwise keeps the rule waiting.
    fn rule(&mut self, waiting: WaitingRule, touched: &[PathBuf]) {
        let matched = touched.iter().find_map(|path| {
            let below = path.strip_prefix(&waiting.candidate.base).ok()?;
            Some((path.clone(), waiting.patterns.matching(below)?.to_owned()))
        });
        let Some((touched, pattern)) = matched else {
            self.waiting.push(waiting);
            return;
        };
        let WaitingRule { mut candidate, look, text, patterns } = waiting;
        if let Some(path) = self.by_path.get(&look.real).cloned() {
            let reason = Reason::AlreadyLoaded { path };
            self.skip(&candidate, Some(look.real), reason);
            return;
        }
        candidate.why = SkipReason::Matched { touched, pattern };
        self.keep(&candidate, look, text, patterns.texts());
    }

    /// Returns the absolute path of a touched file if it is below the root. The root's real path may be used as well.
    fn in_project(&self, path: &Path) -> Option<PathBuf> {
        let path = absolute(&self.places.cwd, path);
        if path.starts_with(&self.places.root) {
            return Some(path);
        }
        path.strip_prefix(&self.real_root).ok().map(|below| self.places.root.join(below))
    }

    /// Returns the directories on the way down from the working directory, which is not included, to a touched file.
    fn below_cwd(&self, path: &Path) -> Vec<PathBuf> {
        let Ok(below) = path.strip_prefix(&self.places.cwd) else { return Vec::new() };
        let mut dirs = steps(&self.places.cwd, below);
        let is_dir = self.disk.look(path).is_ok_and(|look| look.node == FileType::Directory);
        if !is_dir {
            dirs.retain(|dir| dir != path);
        }
        dirs
    }
}
