//! Maps a path from a model to a file in the memory directory.
//!
//! Only one spelling of each path is accepted: the directory that the model was given, `/`, and a plain name. All others
//! are refused, because resolving them could let a model reach other files.

use bethink_memdir::Name;
use bethink_memdir::name::{INDEX, TEAM};

/// Maximum length of a quotation in a refusal, in characters.
const QUOTED_CHARS: usize = 120;

/// A place in a project's memory. The order is that of a listing: indexes before topics, private before team.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MemorySpot {
    Directory,
    TeamDirectory,
    Index,
    TeamIndex,
    Topic(Name),
    TeamTopic(Name),
}

impl MemorySpot {
    /// Parses a path inside `dir`, which is absolute and has no `/` at its end.
    pub fn parse(dir: &str, path: &str) -> Result<Self, String> {
        let outside =
            || format!("only full paths of files in {dir} are allowed, not {:?}", shown(path));
        let path = path.strip_suffix('/').unwrap_or(path);
        if path == dir {
            return Ok(MemorySpot::Directory);
        }
        let inner = path.strip_prefix(dir).and_then(|rest| rest.strip_prefix('/'));
        let inner = inner.ok_or_else(outside)?;
        if !inner.chars().all(is_plain) {
            return Err(format!(
                "invalid file name in {:?}: use only letters, digits, `-`, `_` and `.`",
                shown(path)
            ));
        }
        let (first, rest) = match inner.split_once('/') {
            Some((first, rest)) => (first, Some(rest)),
            None => (inner, None),
        };
        let is_team = first.to_lowercase() == TEAM;
        match (is_team, rest) {
            (true, None) => Ok(MemorySpot::TeamDirectory),
            (true, Some(inner)) if first == TEAM => {
                file(inner, MemorySpot::TeamIndex, MemorySpot::TeamTopic)
            }
            (true, Some(_)) => Err(outside()),
            (false, _) => file(inner, MemorySpot::Index, MemorySpot::Topic),
        }
    }

    pub(super) fn topic(&self) -> Option<&Name> {
        match self {
            MemorySpot::Topic(name) | MemorySpot::TeamTopic(name) => Some(name),
            _ => None,
        }
    }

    /// Returns the path relative to the directory.
    pub(super) fn path(&self) -> String {
        match self {
            MemorySpot::Directory => String::new(),
            MemorySpot::TeamDirectory => TEAM.to_owned(),
            MemorySpot::Index => INDEX.to_owned(),
            MemorySpot::TeamIndex => format!("{TEAM}/{INDEX}"),
            MemorySpot::Topic(name) => name.file(),
            MemorySpot::TeamTopic(name) => format!("{TEAM}/{}", name.file()),
        }
    }
}

fn file(
    inner: &str,
    index: MemorySpot,
    topic: fn(Name) -> MemorySpot,
) -> Result<MemorySpot, String> {
    if inner == INDEX {
        return Ok(index);
    }
    if !inner.ends_with(".md") {
        return Err(format!(
            "{:?} is not a memory file: the name of a topic's file must end with .md",
            shown(inner)
        ));
    }
    Name::parse(inner).map(topic).map_err(|bad| bad.to_string())
}

fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ' ')
}

pub(crate) fn shown(text: &str) -> String {
    bethink_transcript::text::plain(text).chars().take(QUOTED_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIR: &str = "/home/ada/.bethink/memory/app-1/memory";

    fn topic(name: &str) -> Name {
        Name::parse(name).unwrap()
    }

    #[test]
    fn places_have_one_spelling() {
        let parse = |inner: &str| MemorySpot::parse(DIR, &format!("{DIR}{inner}"));
        assert_eq!(parse(""), Ok(MemorySpot::Directory));
        assert_eq!(parse("/"), Ok(MemorySpot::Directory));
        assert_eq!(parse("/fog.md"), Ok(MemorySpot::Topic(topic("fog"))));
        assert_eq!(parse("/plans/fog.md"), Ok(MemorySpot::Topic(topic("plans/fog"))));
        assert_eq!(parse("/MEMORY.md"), Ok(MemorySpot::Index));
        assert_eq!(parse("/team"), Ok(MemorySpot::TeamDirectory));
        assert_eq!(parse("/team/MEMORY.md"), Ok(MemorySpot::TeamIndex));
        assert_eq!(parse("/team/fog.md"), Ok(MemorySpot::TeamTopic(topic("fog"))));
    }

    #[test]
    fn every_other_spelling_is_refused() {
        let inside = [
            "//fog.md",
            "/./fog.md",
            "/../fog.md",
            "/a/../fog.md",
            "/..",
            "/.",
            "/fog",
            "/fog.txt",
            "/.hidden.md",
            "/fog.md\0",
            "/fog%2emd.md",
            "/a\\b.md",
            "/fog.md ",
            "/ fog.md",
            "/a//b.md",
            "/memory.MD",
            "/memory.md",
            "/Team/fog.md",
            "/TEAM/fog.md",
            "/team/../fog.md",
            "/a/b/c/d/e.md",
            "/fog\u{202E}.md",
            "/fog\n.md",
            "/*.md",
            "/~.md",
            "/$HOME.md",
            "/fog.md/x",
            "/..md/../x.md",
            "x/fog.md",
            "-2/fog.md",
            "/\u{2024}\u{2024}/fog.md",
        ];
        for inner in inside {
            let found = MemorySpot::parse(DIR, &format!("{DIR}{inner}"));
            assert!(found.is_err(), "{inner:?} → {found:?}");
        }
        for path in [
            "",
            "/",
            "fog.md",
            "./fog.md",
            "~/memory/fog.md",
            "/etc/passwd",
            "/proc/self/mem",
            "file:///home/ada",
            "C:\\fog.md",
            "/home/ada/.bethink/memory/app-1",
            "/home/ada/.bethink/memory/app-1/memory2/fog.md",
            "/HOME/ada/.bethink/memory/app-1/memory/fog.md",
            "/home/ada/.bethink/memory/app-1/./memory/fog.md",
            " /home/ada/.bethink/memory/app-1/memory/fog.md",
        ] {
            let found = MemorySpot::parse(DIR, path);
            assert!(found.is_err(), "{path:?} → {found:?}");
        }
        let long = format!("{DIR}/{}.md", "x".repeat(5_000));
        assert!(MemorySpot::parse(DIR, &long).unwrap_err().len() < 400);
    }
}
