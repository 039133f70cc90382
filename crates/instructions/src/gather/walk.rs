//! Offers the files in order: managed files, the user's files, those above the project if that is enabled, the
//! project's files from its root down, and then the local files.

use std::path::{Path, PathBuf};

use super::{FileCandidate, Gather};
use crate::disk::{FileLook, FileType};
use crate::limits::{MOST_ENTRIES, MOST_RULE_DEPTH, MOST_RULE_DIRS};
use crate::report::{InstructionKind, Reason, SkipReason};

const LOCAL: &str = "CLAUDE.local.md";

/// Files that other agents read in a project's root. These files are listed so that people know that they are not loaded.
const OTHER_TOOLS: [(&str, &str); 5] = [
    ("GEMINI.md", "Gemini CLI"),
    (".github/copilot-instructions.md", "GitHub Copilot"),
    (".cursorrules", "Cursor"),
    (".windsurfrules", "Windsurf"),
    (".clinerules", "Cline"),
];

impl Gather<'_> {
    pub(super) fn chain(&mut self) {
        let managed = self.places.managed.clone();
        self.offer(own(managed, InstructionKind::Managed, &self.places.root));
        if let Some(home) = self.places.home.clone() {
            let dir = home.join(".claude");
            self.offer(own(dir.join("CLAUDE.md"), InstructionKind::User, &self.places.root));
            let rule = own(dir.join("rules"), InstructionKind::Rule, &self.places.root);
            self.rules(&rule);
        }
        let above = self.places.directories_above();
        for dir in &above {
            match self.places.above {
                true => self.shared(dir, |path, kind| own(path, kind, dir)),
                false => self.report_above(dir),
            }
        }
        let directories = self.places.directories();
        for dir in &directories {
            self.directory(dir, &SkipReason::Always);
        }
        for dir in above.iter().filter(|_| self.places.above) {
            self.offer(own(dir.join(LOCAL), InstructionKind::Local, dir));
        }
        for dir in &directories {
            self.local(dir, &SkipReason::Always);
        }
        self.report_other_tools();
    }

    /// Offers the shared files in a directory of the project.
    pub(super) fn directory(&mut self, dir: &Path, why: &SkipReason) {
        self.shared(dir, |path, kind| of_project(path, kind, why, dir));
    }

    fn shared(&mut self, dir: &Path, here: impl Fn(PathBuf, InstructionKind) -> FileCandidate) {
        let has_claude = self.offer(here(dir.join("CLAUDE.md"), InstructionKind::Project));
        self.offer(here(dir.join(".claude/CLAUDE.md"), InstructionKind::Project));
        let agents = here(dir.join("AGENTS.md"), InstructionKind::Project);
        if has_claude {
            self.pass_over(&agents);
        } else {
            self.offer(agents);
        }
        self.rules(&here(dir.join(".claude/rules"), InstructionKind::Rule));
    }

    pub(super) fn local(&mut self, dir: &Path, why: &SkipReason) {
        self.offer(of_project(dir.join(LOCAL), InstructionKind::Local, why, dir));
    }

    /// Lists the files above the root, so that people can see that they are not loaded.
    fn report_above(&mut self, dir: &Path) {
        for name in ["CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md", LOCAL] {
            let path = dir.join(name);
            let is_new = |look: &FileLook| {
                look.node == FileType::File && !self.by_path.contains_key(&look.real)
            };
            if self.disk.look(&path).is_ok_and(|look| is_new(&look)) {
                self.report(&path, None, None, Reason::AboveRoot);
            }
        }
    }

    /// Reports an `AGENTS.md` next to a `CLAUDE.md` as skipped: `CLAUDE.md` often imports it or is the same file.
    fn pass_over(&mut self, agents: &FileCandidate) {
        let Ok(look) = self.disk.look(&agents.path) else { return };
        let reason = match self.by_path.get(&look.real) {
            Some(path) => Reason::AlreadyLoaded { path: path.clone() },
            None => Reason::ClaudeMdCounts,
        };
        self.skip(agents, Some(look.real), reason);
    }

    /// Offers all Markdown files below a directory of rules, in the order of their names. `rule.path` is the directory.
    fn rules(&mut self, rule: &FileCandidate) {
        let mut seen = std::collections::HashSet::new();
        let mut open = vec![(rule.path.clone(), 0)];
        while let Some((dir, depth)) = open.pop() {
            let Ok(look) = self.disk.look(&dir) else { continue };
            // A symlink may lead to a parent directory.
            if look.node != FileType::Directory || !seen.insert(look.real) {
                continue;
            }
            if depth > MOST_RULE_DEPTH || seen.len() > MOST_RULE_DIRS {
                self.report(&dir, None, None, Reason::TooManyFiles);
                continue;
            }
            let below = self.rules_in(rule, &dir);
            open.extend(below.into_iter().rev().map(|dir| (dir, depth + 1)));
        }
    }

    /// Offers the files in a directory of rules, and returns its subdirectories.
    fn rules_in(&mut self, rule: &FileCandidate, dir: &Path) -> Vec<PathBuf> {
        let mut names = match self.disk.list(dir, MOST_ENTRIES) {
            Ok(names) => names,
            Err(error) => {
                self.report(dir, None, None, Reason::Unreadable { error: error.to_string() });
                return Vec::new();
            }
        };
        names.sort();
        let (files, others): (Vec<_>, Vec<_>) =
            names.into_iter().map(|name| dir.join(name)).partition(|path| is_markdown(path));
        for path in files {
            self.offer(FileCandidate { path, ..rule.clone() });
        }
        let is_dir =
            |path: &PathBuf| self.disk.look(path).is_ok_and(|l| l.node == FileType::Directory);
        others.into_iter().filter(is_dir).collect()
    }

    fn report_other_tools(&mut self) {
        for (name, tool) in OTHER_TOOLS {
            let path = self.places.root.join(name);
            if self.disk.look(&path).is_ok_and(|look| !self.by_path.contains_key(&look.real)) {
                self.report(&path, None, None, Reason::OtherTool { tool });
            }
        }
    }
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|end| end.eq_ignore_ascii_case("md"))
}

/// Returns the candidate for a file that only the person or the administrator can write.
fn own(path: PathBuf, kind: InstructionKind, base: &Path) -> FileCandidate {
    FileCandidate { own: true, ..of_project(path, kind, &SkipReason::Always, base) }
}

fn of_project(
    path: PathBuf,
    kind: InstructionKind,
    why: &SkipReason,
    base: &Path,
) -> FileCandidate {
    FileCandidate {
        path,
        kind,
        why: why.clone(),
        base: base.to_path_buf(),
        own: false,
        imported_by: None,
        trail: Vec::new(),
    }
}
