//! Commands that were run, how they ended last, and what tests said.

use bethink_transcript::Seq;

use crate::calls::{error_line, first_line, key_of, shorten, verdict};

/// What a command is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Test,
    /// Builds, checks, lints, formats.
    Check,
    /// Records a state of the work: a commit, a push, a release.
    Commit,
    Other,
}

/// One command, however often it was run.
#[derive(Clone, Debug)]
pub struct CommandFact {
    pub purpose: Purpose,
    /// As it was run last, in a line.
    pub line: Box<str>,
    pub runs: u32,
    pub failures: u32,
    pub last: Seq,
    /// How it ended last; `None` while its result is awaited.
    pub failed: Option<bool>,
    /// What its last result says of itself.
    pub verdict: Option<Box<str>>,
    key: Box<str>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Commands {
    pub(crate) all: Vec<CommandFact>,
}

const LINE_BYTES: usize = 140;
/// Commands that are kept; the longest unused go.
const COMMANDS: usize = 200;

impl Commands {
    pub(crate) fn call(&mut self, command: &str, seq: Seq) {
        let first = first_line(command);
        if first.is_empty() {
            return;
        }
        let (key, line) = (key_of(first), shorten(first, LINE_BYTES));
        match self.all.iter_mut().find(|known| *known.key == *key) {
            Some(known) => {
                known.runs += 1;
                known.last = seq;
                known.failed = None;
                known.line = line.into();
            }
            None => self.all.push(CommandFact {
                purpose: purpose(command),
                line: line.into(),
                runs: 1,
                failures: 0,
                last: seq,
                failed: None,
                verdict: None,
                key: key.into(),
            }),
        }
        if self.all.len() > 2 * COMMANDS {
            self.all.sort_by_key(|known| known.last);
            self.all.drain(..COMMANDS);
        }
    }

    pub(crate) fn result(&mut self, command: &str, is_error: bool, text: &str) {
        let first = first_line(command);
        let key = key_of(first);
        let Some(known) = self.all.iter_mut().find(|known| *known.key == *key) else { return };
        let failed = is_error || error_line(text, false).is_some();
        known.failed = Some(failed);
        known.failures += u32::from(failed);
        known.verdict = match known.purpose {
            Purpose::Test | Purpose::Check => verdict(text).map(Into::into),
            Purpose::Commit => committed(text).map(Into::into),
            Purpose::Other => None,
        };
    }
}

/// `[main 1a2b3c4] store: …`, the line with which git tells of a commit.
fn committed(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with('[') && line.contains("] "))?;
    Some(shorten(line, LINE_BYTES))
}

pub(crate) fn purpose(command: &str) -> Purpose {
    const COMMITS: [&str; 5] = ["git commit", "git push", "git tag", "gh pr create", "npm publish"];
    const TESTS: [&str; 10] = [
        "test", "tests", "pytest", "jest", "vitest", "rspec", "phpunit", "nextest", "ctest", "tox",
    ];
    const CHECKS: [&str; 16] = [
        "build",
        "lint",
        "check",
        "clippy",
        "tsc",
        "fmt",
        "format",
        "compile",
        "make",
        "vet",
        "golangci-lint",
        "eslint",
        "ruff",
        "mypy",
        "prettier",
        "typecheck",
    ];
    if COMMITS.iter().any(|mark| command.contains(mark)) {
        return Purpose::Commit;
    }
    let words = || {
        command
            .split(|c: char| c.is_whitespace() || matches!(c, ':' | ';' | '&' | '|' | '(' | ')'))
            .take(24)
    };
    if words().any(|word| TESTS.contains(&word)) {
        Purpose::Test
    } else if words().any(|word| CHECKS.contains(&word)) {
        Purpose::Check
    } else {
        Purpose::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_known_by_their_purpose() {
        let check =
            |command: &str, expect: Purpose| assert_eq!(purpose(command), expect, "{command}");
        check("cd x && cargo test -p store", Purpose::Test);
        check("mise run test:ci", Purpose::Test);
        check("npm run lint", Purpose::Check);
        check("git add -A && git commit -m 'test'", Purpose::Commit);
        check("ls -la", Purpose::Other);
        check("cat latest.txt", Purpose::Other);
    }

    #[test]
    fn a_command_has_the_state_of_its_last_run() {
        let mut commands = Commands::default();
        commands.call("cargo test -p a", Seq(1));
        assert_eq!(commands.all[0].failed, None);
        commands.result(
            "cargo test -p a",
            true,
            "Exit code 101\ntest result: FAILED. 1 passed; 2 failed",
        );
        commands.call("cargo test -p a 2>&1 | tail -3", Seq(3));
        commands.result(
            "cargo test -p a 2>&1 | tail -3",
            false,
            "test result: ok. 3 passed; 0 failed",
        );
        let [only] = &commands.all[..] else { panic!("{commands:?}") };
        assert_eq!((only.runs, only.failures, only.failed), (2, 1, Some(false)));
        assert_eq!(only.verdict.as_deref(), Some("test result: ok. 3 passed; 0 failed"));
    }
}
