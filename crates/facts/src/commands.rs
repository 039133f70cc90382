//! Commands that were run, and how the last run of each ended.

use bethink_transcript::Seq;
use bethink_transcript::text::shorten;

use crate::calls::{error_line, first_line, key_of, verdict, was_not_run, without_plumbing};

/// What a command is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommandPurpose {
    Test,
    /// Builds, checks, lints, formats.
    Check,
    /// Commits, pushes, releases.
    Commit,
    #[default]
    Other,
}

/// A command and all its runs.
#[derive(Clone, Debug, Default)]
pub struct CommandFact {
    pub purpose: CommandPurpose,
    /// The command line of the last run, on one line.
    pub line: Box<str>,
    pub runs: u32,
    pub failures: u32,
    pub last: Seq,
    /// Whether the last run failed; `None` until its result arrives.
    pub failed: Option<bool>,
    /// The line that summarizes the last result.
    pub verdict: Option<Box<str>>,
    key: Box<str>,
}

impl CommandFact {
    /// Whether this is a command for working on the project, rather than for looking at it.
    pub fn is_habit(&self) -> bool {
        const LOOKS: &str = "ls cat head tail grep rg find sed awk wc echo cd pwd which sleep rm mv cp mkdir \
            tree stat file diff jq sort chmod kill ps";
        const GIT_LOOKS: &str =
            "status diff log show branch remote rev-parse fetch stash ls-files blame";
        let mut words = self.key.split(' ');
        let first = words.next().unwrap_or_default();
        let looks = match first {
            "git" => words.next().is_none_or(|second| GIT_LOOKS.split(' ').any(|l| l == second)),
            first => LOOKS.split(' ').any(|look| look == first),
        };
        self.runs > 1 && self.failed == Some(false) && !looks
    }
}

const LINE_BYTES: usize = 140;
/// Number of commands kept. Once there are twice as many, the least recently used half is dropped.
const COMMANDS: usize = 200;

/// Records that a command was started.
pub(crate) fn called(all: &mut Vec<CommandFact>, command: &str, seq: Seq) {
    let first = first_line(command);
    if first.is_empty() {
        return;
    }
    let (key, line) = (key_of(first), shorten(without_plumbing(first), LINE_BYTES));
    match all.iter_mut().find(|known| *known.key == *key) {
        Some(known) => {
            known.runs += 1;
            known.last = seq;
            known.failed = None;
            known.line = line.into();
        }
        None => all.push(CommandFact {
            purpose: purpose(command),
            line: line.into(),
            runs: 1,
            last: seq,
            key: key.into(),
            ..CommandFact::default()
        }),
    }
    if all.len() > 2 * COMMANDS {
        all.sort_by_key(|known| known.last);
        all.drain(..COMMANDS);
    }
}

/// Records how a command ended.
pub(crate) fn ended(all: &mut Vec<CommandFact>, command: &str, is_error: bool, text: &str) {
    let first = first_line(command);
    let key = key_of(first);
    let Some(at) = all.iter().position(|known| *known.key == *key) else { return };
    if was_not_run(text) {
        // The command was not run, so the run does not count.
        let known = &mut all[at];
        known.runs -= 1;
        if known.runs == 0 {
            all.remove(at);
        }
        return;
    }
    let known = &mut all[at];
    let failed = is_error || error_line(text, false).is_some();
    known.failed = Some(failed);
    known.failures += u32::from(failed);
    known.verdict = match known.purpose {
        CommandPurpose::Test | CommandPurpose::Check => verdict(text).map(Into::into),
        CommandPurpose::Commit => commit(command, text),
        CommandPurpose::Other => None,
    };
}

/// Returns the line with which git reports a commit, `[main 1a2b3c4] store: …`, or the address of a new pull request.
pub(crate) fn commit(command: &str, text: &str) -> Option<Box<str>> {
    if purpose(command) != CommandPurpose::Commit {
        return None;
    }
    let is_report =
        |line: &&str| line.starts_with('[') && line.contains("] ") || line.starts_with("https://");
    text.lines().find(is_report).map(|line| shorten(line, LINE_BYTES).into())
}

/// Returns the branch that git says is checked out.
pub(crate) fn branch<'a>(command: &str, text: &'a str) -> Option<&'a str> {
    const SIGNS: [&str; 4] =
        ["On branch ", "Switched to branch '", "Switched to a new branch '", "Already on '"];
    const HEAD: usize = 20;
    if !command.contains("git") {
        return None;
    }
    let named = |line: &'a str| {
        let rest = SIGNS.iter().find_map(|sign| line.strip_prefix(sign))?;
        Some(rest.split(['\'', ' ']).next().unwrap_or(rest))
    };
    let committed = |line: &'a str| {
        let (place, _) = line.strip_prefix('[')?.split_once("] ")?;
        let (branch, hash) = place.split_once(' ')?;
        (hash.len() >= 7 && hash.bytes().all(|b| b.is_ascii_hexdigit())).then_some(branch)
    };
    text.lines().take(HEAD).find_map(|line| named(line).or_else(|| committed(line)))
}

/// Returns what a command is for, judging by its words.
pub fn purpose(command: &str) -> CommandPurpose {
    const COMMITS: [&str; 5] = ["git commit", "git push", "git tag", "gh pr create", "npm publish"];
    const TESTS: [&str; 10] = [
        "test", "tests", "pytest", "jest", "vitest", "rspec", "phpunit", "nextest", "ctest", "tox",
    ];
    const CHECKS: &str = "build lint check clippy tsc fmt format compile make vet golangci-lint \
        eslint ruff mypy prettier typecheck";
    if COMMITS.iter().any(|mark| command.contains(mark)) {
        return CommandPurpose::Commit;
    }
    let words = || {
        command
            .split(|c: char| c.is_whitespace() || matches!(c, ':' | ';' | '&' | '|' | '(' | ')'))
            .take(24)
    };
    if words().any(|word| TESTS.contains(&word)) {
        CommandPurpose::Test
    } else if words().any(|word| CHECKS.split(' ').any(|check| check == word)) {
        CommandPurpose::Check
    } else {
        CommandPurpose::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_known_by_their_purpose() {
        let check = |command: &str, expect: CommandPurpose| {
            assert_eq!(purpose(command), expect, "{command}");
        };
        check("cd x && cargo test -p store", CommandPurpose::Test);
        check("mise run test:ci", CommandPurpose::Test);
        check("npm run lint", CommandPurpose::Check);
        check("git add -A && git commit -m 'test'", CommandPurpose::Commit);
        check("ls -la", CommandPurpose::Other);
        check("cat latest.txt", CommandPurpose::Other);
    }

    #[test]
    fn a_command_has_the_state_of_its_last_run() {
        let mut commands = Vec::new();
        called(&mut commands, "cargo test -p a", Seq(1));
        assert_eq!(commands[0].failed, None);
        ended(
            &mut commands,
            "cargo test -p a",
            true,
            "Exit code 101\ntest result: FAILED. 1 passed; 2 failed",
        );
        called(&mut commands, "cargo test -p a 2>&1 | tail -3", Seq(3));
        ended(
            &mut commands,
            "cargo test -p a 2>&1 | tail -3",
            false,
            "test result: ok. 3 passed; 0 failed",
        );
        let [only] = &commands[..] else { panic!("{commands:?}") };
        assert_eq!((only.runs, only.failures, only.failed), (2, 1, Some(false)));
        assert_eq!(only.verdict.as_deref(), Some("test result: ok. 3 passed; 0 failed"));
        called(&mut commands, "mise run lint | tail -5", Seq(5));
        ended(&mut commands, "mise run lint | tail -5", false, "[lint] ERROR task failed");
        assert_eq!(commands[1].failed, Some(true));
        ended(&mut commands, "mise run lint | tail -5", false, "12 passed, 0 ERRORS");
        assert_eq!(commands[1].failed, Some(false));
    }
}
