//! Maps a path of the tool to a file or folder in a project's memory.

use super::ROOT;
use super::error::{ToolError, quoted};
use crate::name::{INDEX, Name, Scope, TEAM, fold};

/// A file or folder, and its scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolSpot {
    pub scope: Scope,
    pub at: At,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// Path relative to the directory of its scope; empty for that directory itself.
    Folder(String),
    Index,
    Topic(Name),
}

impl ToolSpot {
    /// Parses a path. Other spellings of the same path are rejected, because they could lead out of the directory.
    pub fn parse(path: &str) -> Result<Self, ToolError> {
        let inner = match path.strip_prefix(ROOT) {
            Some("") => "",
            Some(rest) => rest.strip_prefix('/').ok_or_else(|| outside(path))?,
            None => return Err(outside(path)),
        };
        let inner = inner.strip_suffix('/').unwrap_or(inner);
        if leads_out(inner) {
            return Err(ToolError::Escapes(quoted(path)));
        }
        let (first, rest) = inner.split_once('/').unwrap_or((inner, ""));
        if fold(first) == TEAM {
            if first != TEAM {
                let why = format!("the team's folder is spelled {ROOT}/{TEAM}");
                return Err(ToolError::BadName { path: quoted(path), why });
            }
            return Ok(Self { scope: Scope::Team, at: at(path, rest)? });
        }
        Ok(Self { scope: Scope::Private, at: at(path, inner)? })
    }

    /// Parses the path of a file to write.
    pub fn file(path: &str) -> Result<Self, ToolError> {
        let spot = Self::parse(path)?;
        match &spot.at {
            At::Folder(folder) if folder.is_empty() => Err(ToolError::NotAFile(quoted(path))),
            At::Folder(folder) => Err(ToolError::NotMarkdown {
                path: quoted(path),
                instead: format!("{}/{}.md", root_of(spot.scope), stem(folder)),
            }),
            At::Index | At::Topic(_) => Ok(spot),
        }
    }

    /// Parses the path of a file or folder to remove or rename.
    pub fn movable(path: &str, deed: &'static str) -> Result<Self, ToolError> {
        let spot = Self::parse(path)?;
        match (&spot.at, spot.scope) {
            (_, Scope::Team) => Err(ToolError::Team(quoted(path))),
            (At::Folder(folder), _) if folder.is_empty() => Err(ToolError::Root { deed }),
            (At::Index, _) => Err(ToolError::Index { deed, path: quoted(path) }),
            _ => Ok(spot),
        }
    }
}

/// Returns the tool's path for a scope's directory.
pub fn root_of(scope: Scope) -> String {
    match scope {
        // The tool only reaches a project's own files.
        Scope::Private | Scope::Person => ROOT.to_owned(),
        Scope::Team => format!("{ROOT}/{TEAM}"),
    }
}

fn at(path: &str, inner: &str) -> Result<At, ToolError> {
    if inner.is_empty() {
        return Ok(At::Folder(String::new()));
    }
    if inner == INDEX {
        return Ok(At::Index);
    }
    let bad = |why: String| ToolError::BadName { path: quoted(path), why };
    let name = Name::parse(inner).map_err(|error| bad(error.to_string()))?;
    match inner.ends_with(".md") {
        true => Ok(At::Topic(name)),
        false => Ok(At::Folder(inner.to_owned())),
    }
}

/// Whether the path has a backslash, an empty, `.` or `..` component, or a percent-encoded dot, separator, percent sign
/// or NUL.
fn leads_out(inner: &str) -> bool {
    let folded = inner.to_ascii_lowercase();
    let encoded = ["%2e", "%2f", "%5c", "%25", "%00"].iter().any(|code| folded.contains(code));
    let odd = !inner.is_empty() && inner.split('/').any(|part| matches!(part, "" | "." | ".."));
    encoded || odd || inner.contains('\\')
}

/// Returns a file's name without its extension.
fn stem(folder: &str) -> &str {
    let name = folder.rsplit('/').next().unwrap_or(folder);
    match name.rfind('.') {
        Some(dot) if dot > 0 => &folder[..folder.len() - name.len() + dot],
        _ => folder,
    }
}

fn outside(path: &str) -> ToolError {
    ToolError::Outside(quoted(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(name: &str) -> At {
        At::Topic(Name::parse(name).unwrap())
    }

    fn folder(name: &str) -> At {
        At::Folder(name.to_owned())
    }

    #[test]
    fn places_have_one_spelling() {
        let check = |path: &str, scope: Scope, at: At| {
            assert_eq!(ToolSpot::parse(path), Ok(ToolSpot { scope, at }), "{path}");
        };
        check("/memories", Scope::Private, folder(""));
        check("/memories/", Scope::Private, folder(""));
        check("/memories/fog.md", Scope::Private, topic("fog"));
        check("/memories/plans/fog.md", Scope::Private, topic("plans/fog"));
        check("/memories/plans", Scope::Private, folder("plans"));
        check("/memories/plans/", Scope::Private, folder("plans"));
        check("/memories/MEMORY.md", Scope::Private, At::Index);
        check("/memories/team", Scope::Team, folder(""));
        check("/memories/team/fog.md", Scope::Team, topic("fog"));
        check("/memories/team/MEMORY.md", Scope::Team, At::Index);
        check("/memories/teams.md", Scope::Private, topic("teams"));
    }

    #[test]
    fn nothing_leads_out() {
        for path in [
            "",
            "/",
            "memories/a.md",
            "/etc/passwd",
            "/memoriesx/a.md",
            "/MEMORIES/a.md",
            "~/a.md",
            "file:///memories/a.md",
            " /memories/a.md",
            "/memories\\a.md",
            "//memories/a.md",
        ] {
            assert!(matches!(ToolSpot::parse(path), Err(ToolError::Outside(_))), "{path}");
        }
        for path in [
            "/memories/../a.md",
            "/memories/a/../../b.md",
            "/memories/./a.md",
            "/memories//a.md",
            "/memories/..",
            "/memories/%2e%2e/a.md",
            "/memories/%2E%2E%2Fa.md",
            "/memories/%252e/a.md",
            "/memories/..\\a.md",
            "/memories/a%00.md",
        ] {
            assert!(matches!(ToolSpot::parse(path), Err(ToolError::Escapes(_))), "{path}");
        }
        for path in [
            "/memories/.hidden.md",
            "/memories/a\0.md",
            "/memories/a\n.md",
            "/memories/\u{ff0e}\u{ff0e}/a.md",
            "/memories/\u{2024}\u{2024}/a.md",
            "/memories/a\u{202e}.md",
            "/memories/~a.md",
            "/memories/-rf.md",
            "/memories/a:b.md",
            "/memories/memory.md",
            "/memories/Team/a.md",
            "/memories/\u{ff54}eam/a.md",
            "/memories/a/b/c/d/e.md",
            "/memories/a.md.md",
        ] {
            assert!(matches!(ToolSpot::parse(path), Err(ToolError::BadName { .. })), "{path}");
        }
        let long = format!("/memories/{}.md", "x".repeat(5_000));
        assert!(ToolSpot::parse(&long).unwrap_err().to_string().len() < 1_000);
    }

    #[test]
    fn who_writes_another_ending_is_told_the_name() {
        let told = ToolSpot::file("/memories/plans/fog.txt").unwrap_err().to_string();
        assert!(told.ends_with("such as /memories/plans/fog.md"), "{told}");
        let told = ToolSpot::file("/memories/v1.2/fog").unwrap_err().to_string();
        assert!(told.ends_with("such as /memories/v1.2/fog.md"), "{told}");
        assert!(matches!(ToolSpot::file("/memories"), Err(ToolError::NotAFile(_))));
    }

    #[test]
    fn root_index_and_team_stay() {
        let refused = |path| ToolSpot::movable(path, "delete").unwrap_err();
        assert_eq!(
            refused("/memories/").to_string(),
            "Cannot delete the /memories directory itself"
        );
        assert!(matches!(refused("/memories/MEMORY.md"), ToolError::Index { .. }));
        assert!(matches!(refused("/memories/team"), ToolError::Team(_)));
        assert!(matches!(refused("/memories/team/a.md"), ToolError::Team(_)));
        assert!(ToolSpot::movable("/memories/plans", "delete").is_ok());
    }
}
