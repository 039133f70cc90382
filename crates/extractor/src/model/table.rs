//! The permissions of an extraction, as a table.
//!
//! | call | the directory | its index | a topic | the team's topics | anything else |
//! |---|---|---|---|---|---|
//! | read | | yes | yes | yes | no |
//! | grep, glob, list | yes | yes | yes | yes | no |
//! | write, edit | | no: it follows the topics | yes | a proposal | no |
//! | delete, or any command but a listing | no | no | no | no | no |

use super::listing::{self, Listing};
use super::shape::FileCall;
use super::spot::MemorySpot;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The absolute path that the model was given, without a trailing `/`.
    pub dir: String,
    /// Whether there is a team to make proposals to.
    pub proposals: bool,
}

/// An allowed call with resolved paths. `Grep` finds lines that match a pattern; `List` finds names that match one, or
/// all names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    Read(MemorySpot),
    Write { spot: MemorySpot, text: String },
    Edit { spot: MemorySpot, old: String, new: String, all: bool },
    Grep { pattern: String, below: MemorySpot },
    List { pattern: Option<String>, below: MemorySpot },
}

impl Table {
    /// Decides on one call. The reason for a refusal is a message to the model.
    pub fn judge(&self, ask: FileCall) -> Result<Allowed, String> {
        Ok(match ask {
            FileCall::Read { path } => Allowed::Read(self.readable(&path)?),
            FileCall::Write { path, text } => Allowed::Write { spot: self.writable(&path)?, text },
            FileCall::Edit { path, old, new, all } => {
                Allowed::Edit { spot: self.writable(&path)?, old, new, all }
            }
            FileCall::Grep { pattern, path } => Allowed::Grep { below: self.below(path)?, pattern },
            FileCall::Glob { pattern, path } => {
                let below = self.below(path)?;
                Allowed::List { pattern: Some(self.within(&pattern)?), below }
            }
            FileCall::List { path } => Allowed::List { below: self.below(path)?, pattern: None },
            FileCall::Shell { command } => {
                let Listing { path, pattern } = listing::parse(&command)?;
                let path = path.ok_or_else(|| {
                    format!("the command has no directory; use `ls {}`", self.dir)
                })?;
                let pattern = pattern.map(|name| format!("**/{name}"));
                Allowed::List { below: self.below(Some(path))?, pattern }
            }
        })
    }

    fn readable(&self, path: &str) -> Result<MemorySpot, String> {
        match MemorySpot::parse(&self.dir, path)? {
            MemorySpot::Directory | MemorySpot::TeamDirectory => {
                Err("the path is a directory: list it, or read one of its files".to_owned())
            }
            spot => Ok(spot),
        }
    }

    fn writable(&self, path: &str) -> Result<MemorySpot, String> {
        match MemorySpot::parse(&self.dir, path)? {
            spot @ MemorySpot::Topic(_) => Ok(spot),
            spot @ MemorySpot::TeamTopic(_) if self.proposals => Ok(spot),
            MemorySpot::Index | MemorySpot::TeamIndex => Err(
                "the index is updated automatically from the topics' descriptions; write the topic instead".to_owned(),
            ),
            MemorySpot::TeamTopic(_) => Err(format!("team memory cannot be written here; write the topic in {} instead", self.dir)),
            MemorySpot::Directory | MemorySpot::TeamDirectory => Err("the path is a directory: name a topic's file".to_owned()),
        }
    }

    /// Requires a path: without one, a client's tool would search its working directory.
    fn below(&self, path: Option<String>) -> Result<MemorySpot, String> {
        let path = path.ok_or_else(|| format!("the path is missing; use {}", self.dir))?;
        MemorySpot::parse(&self.dir, &path)
    }

    /// Makes the pattern relative to the memory directory; it must not lead outside.
    fn within(&self, pattern: &str) -> Result<String, String> {
        let relative =
            pattern.strip_prefix(&self.dir).map_or(pattern, |rest| rest.trim_start_matches('/'));
        let is_inside =
            !relative.starts_with(['/', '~']) && relative.split('/').all(|part| part != "..");
        is_inside
            .then(|| relative.to_owned())
            .ok_or_else(|| format!("the pattern leads outside {}", self.dir))
    }
}

#[cfg(test)]
mod tests {
    use bethink_memdir::Name;

    use super::*;

    const DIR: &str = "/m/memory";

    fn asks(path: &str) -> Vec<(&'static str, FileCall)> {
        let path = path.to_owned();
        let text = "x".to_owned();
        vec![
            ("read", FileCall::Read { path: path.clone() }),
            ("write", FileCall::Write { path: path.clone(), text: text.clone() }),
            (
                "edit",
                FileCall::Edit {
                    path: path.clone(),
                    old: text.clone(),
                    new: "y".to_owned(),
                    all: false,
                },
            ),
            ("grep", FileCall::Grep { pattern: text.clone(), path: Some(path.clone()) }),
            ("glob", FileCall::Glob { pattern: text, path: Some(path.clone()) }),
            ("list", FileCall::List { path: Some(path.clone()) }),
            ("ls", FileCall::Shell { command: format!("ls {path}") }),
            ("rm", FileCall::Shell { command: format!("rm {path}") }),
            ("cat", FileCall::Shell { command: format!("cat {path}") }),
            ("find", FileCall::Shell { command: format!("find {path} -delete") }),
        ]
    }

    /// Checks which of all calls on a path are allowed.
    fn check(proposals: bool, path: &str, expect: &[&str]) {
        let table = Table { dir: DIR.to_owned(), proposals };
        let asks = asks(path).into_iter();
        let allowed: Vec<&str> = asks
            .filter(|(_, ask)| table.judge(ask.clone()).is_ok())
            .map(|(name, _)| name)
            .collect();
        assert_eq!(allowed, expect, "{path}");
    }

    #[test]
    fn the_table() {
        let looks = ["grep", "glob", "list", "ls"];
        let reads = ["read", "grep", "glob", "list", "ls"];
        let writes = ["read", "write", "edit", "grep", "glob", "list", "ls"];
        check(false, "/m/memory", &looks);
        check(false, "/m/memory/", &looks);
        check(false, "/m/memory/MEMORY.md", &reads);
        check(false, "/m/memory/fog.md", &writes);
        check(false, "/m/memory/plans/fog.md", &writes);
        check(false, "/m/memory/team", &looks);
        check(false, "/m/memory/team/MEMORY.md", &reads);
        check(false, "/m/memory/team/fog.md", &reads);
        check(true, "/m/memory/team/fog.md", &writes);
        check(true, "/m/memory/team/MEMORY.md", &reads);
        for path in [
            "/m",
            "/m/memory2/a.md",
            "/m/memory/../x.md",
            "/m/other/MEMORY.md",
            "fog.md",
            "/etc/passwd",
            "~/.ssh/id",
        ] {
            check(true, path, &[]);
        }
    }

    #[test]
    fn a_search_is_bound_to_the_directory() {
        let table = Table { dir: DIR.to_owned(), proposals: false };
        let glob = |pattern: &str| {
            let path = Some(DIR.to_owned());
            table.judge(FileCall::Glob { pattern: pattern.to_owned(), path })
        };
        let list = |pattern: &str| {
            Ok(Allowed::List { pattern: Some(pattern.to_owned()), below: MemorySpot::Directory })
        };
        assert_eq!(glob("**/*.md"), list("**/*.md"));
        assert_eq!(glob("/m/memory/*.md"), list("*.md"));
        assert!(glob("/etc/*").is_err() && glob("../*").is_err() && glob("a/../../b").is_err());
        for ask in [
            FileCall::Grep { pattern: "x".to_owned(), path: None },
            FileCall::Glob { pattern: "x".to_owned(), path: None },
            FileCall::List { path: None },
            FileCall::Shell { command: "ls".to_owned() },
        ] {
            assert!(table.judge(ask.clone()).is_err(), "{ask:?}");
        }
        let fog = MemorySpot::Topic(Name::parse("fog").unwrap());
        assert_eq!(
            table.judge(FileCall::Read { path: "/m/memory/fog.md".to_owned() }),
            Ok(Allowed::Read(fog))
        );
    }
}
