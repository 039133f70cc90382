//! A person at a terminal, with a home and a directory of their own.

use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) struct Terminal {
    dir: TempDir,
}

impl Terminal {
    pub(crate) fn new() -> Self {
        Self { dir: TempDir::new().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn run(&self, words: &[&str]) -> Ended {
        self.run_with(words, &[])
    }

    pub(crate) fn run_with(&self, words: &[&str], settings: &[(&str, &str)]) -> Ended {
        self.run_in_with(self.path(), words, settings)
    }

    pub(crate) fn run_in(&self, dir: &Path, words: &[&str]) -> Ended {
        self.run_in_with(dir, words, &[])
    }

    pub(crate) fn run_in_with(
        &self,
        dir: &Path,
        words: &[&str],
        settings: &[(&str, &str)],
    ) -> Ended {
        let output = Command::new(env!("CARGO_BIN_EXE_bethink"))
            .args(words)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path())
            .env("TZ", "UTC")
            .env("BETHINK_HOME", self.path().join("home"))
            .env("BETHINK_DAEMON__LISTEN", "127.0.0.1:0")
            .envs(settings.iter().copied())
            .current_dir(dir)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        Ended {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.run(&["down"]);
    }
}

/// What was printed by a command that did what it was asked.
pub(crate) fn done(ended: Ended) -> String {
    assert_eq!(ended.code, 0, "{ended:?}");
    ended.out
}
