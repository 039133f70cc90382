//! What an extraction may do: the permission table of the specification, section 7, as code.
//!
//! | call | the directory | its index | a topic | the team's topics | anything else |
//! |---|---|---|---|---|---|
//! | read | | yes | yes | yes | no |
//! | grep, glob, list | yes | yes | yes | yes | no |
//! | write, edit | | no: it follows the topics | yes | a proposal | no |
//! | delete, or any command but a listing | no | no | no | no | no |

use super::listing;
use super::shape::Ask;
use super::spot::Spot;

/// The table for one directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Absolute, as it is named to the model, without a `/` at its end.
    pub dir: String,
    /// Whether there is a team that proposals can be made to.
    pub proposals: bool,
}

/// A call that is allowed, with its places understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    Read(Spot),
    Write {
        spot: Spot,
        text: String,
    },
    Edit {
        spot: Spot,
        old: String,
        new: String,
        all: bool,
    },
    /// Lines that hold a pattern, below a place.
    Grep {
        pattern: String,
        below: Spot,
    },
    /// Names below a place that look like a pattern, or all of them.
    List {
        pattern: Option<String>,
        below: Spot,
    },
}

impl Table {
    /// The decision on one call; the reason is for the model.
    pub fn judge(&self, ask: Ask) -> Result<Allowed, String> {
        match ask {
            Ask::Read { path } => self.readable(&path).map(Allowed::Read),
            Ask::Write { path, text } => {
                self.writable(&path).map(|spot| Allowed::Write { spot, text })
            }
            Ask::Edit { path, old, new, all } => {
                self.writable(&path).map(|spot| Allowed::Edit { spot, old, new, all })
            }
            Ask::Grep { pattern, path } => {
                self.below(path.as_deref()).map(|below| Allowed::Grep { pattern, below })
            }
            Ask::Glob { pattern, path } => {
                let below = self.below(path.as_deref())?;
                Ok(Allowed::List { pattern: Some(self.within(&pattern)?), below })
            }
            Ask::List { path } => {
                self.below(path.as_deref()).map(|below| Allowed::List { pattern: None, below })
            }
            Ask::Shell { command } => {
                let listing = listing::parse(&command)?;
                let path =
                    listing.path.ok_or_else(|| format!("name the directory: `ls {}`", self.dir))?;
                let below = self.below(Some(&path))?;
                Ok(Allowed::List {
                    pattern: listing.pattern.map(|name| format!("**/{name}")),
                    below,
                })
            }
        }
    }

    fn readable(&self, path: &str) -> Result<Spot, String> {
        match Spot::parse(&self.dir, path)? {
            Spot::Directory | Spot::TeamDirectory => {
                Err("it is a directory: list it, or read one of its files".to_owned())
            }
            spot => Ok(spot),
        }
    }

    fn writable(&self, path: &str) -> Result<Spot, String> {
        match Spot::parse(&self.dir, path)? {
            spot @ Spot::Topic(_) => Ok(spot),
            spot @ Spot::TeamTopic(_) if self.proposals => Ok(spot),
            Spot::Index | Spot::TeamIndex => Err(
                "the index is brought up to date by itself, from each topic's description; write the topic".to_owned(),
            ),
            Spot::TeamTopic(_) => Err(format!("nothing is written for a team here; write a topic in {}", self.dir)),
            Spot::Directory | Spot::TeamDirectory => Err("it is a directory: name a topic's file".to_owned()),
        }
    }

    /// Without a path a client means the directory that it works in, which is not ours to look through.
    fn below(&self, path: Option<&str>) -> Result<Spot, String> {
        let path = path.ok_or_else(|| format!("name the path: {}", self.dir))?;
        Spot::parse(&self.dir, path)
    }

    /// A pattern of names, relative to a place or from the directory on.
    fn within(&self, pattern: &str) -> Result<String, String> {
        let relative =
            pattern.strip_prefix(&self.dir).map_or(pattern, |rest| rest.trim_start_matches('/'));
        let is_inside =
            !relative.starts_with(['/', '~']) && relative.split('/').all(|part| part != "..");
        is_inside
            .then(|| relative.to_owned())
            .ok_or_else(|| format!("the pattern leads out of {}", self.dir))
    }
}

#[cfg(test)]
mod tests {
    use bethink_memdir::Name;

    use super::*;

    const DIR: &str = "/m/memory";

    fn asks(path: &str) -> Vec<(&'static str, Ask)> {
        let path = path.to_owned();
        let text = "x".to_owned();
        vec![
            ("read", Ask::Read { path: path.clone() }),
            ("write", Ask::Write { path: path.clone(), text: text.clone() }),
            (
                "edit",
                Ask::Edit {
                    path: path.clone(),
                    old: text.clone(),
                    new: "y".to_owned(),
                    all: false,
                },
            ),
            ("grep", Ask::Grep { pattern: text.clone(), path: Some(path.clone()) }),
            ("glob", Ask::Glob { pattern: text, path: Some(path.clone()) }),
            ("list", Ask::List { path: Some(path.clone()) }),
            ("ls", Ask::Shell { command: format!("ls {path}") }),
            ("rm", Ask::Shell { command: format!("rm {path}") }),
            ("cat", Ask::Shell { command: format!("cat {path}") }),
            ("find", Ask::Shell { command: format!("find {path} -delete") }),
        ]
    }

    /// What is allowed of all the calls on a path.
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
            table.judge(Ask::Glob { pattern: pattern.to_owned(), path })
        };
        let list = |pattern: &str| {
            Ok(Allowed::List { pattern: Some(pattern.to_owned()), below: Spot::Directory })
        };
        assert_eq!(glob("**/*.md"), list("**/*.md"));
        assert_eq!(glob("/m/memory/*.md"), list("*.md"));
        assert!(glob("/etc/*").is_err() && glob("../*").is_err() && glob("a/../../b").is_err());
        for ask in [
            Ask::Grep { pattern: "x".to_owned(), path: None },
            Ask::Glob { pattern: "x".to_owned(), path: None },
            Ask::List { path: None },
            Ask::Shell { command: "ls".to_owned() },
        ] {
            assert!(table.judge(ask.clone()).is_err(), "{ask:?}");
        }
        let fog = Spot::Topic(Name::parse("fog").unwrap());
        assert_eq!(
            table.judge(Ask::Read { path: "/m/memory/fog.md".to_owned() }),
            Ok(Allowed::Read(fog))
        );
    }
}
