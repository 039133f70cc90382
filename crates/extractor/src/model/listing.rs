//! The only shell commands that an extraction may use: those that list files.
//!
//! No command is run. A command is parsed strictly and answered from the copy; a command that is not fully understood is
//! refused.

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The path as written, if any.
    pub path: Option<String>,
    /// A pattern for names, with `*` and `?`.
    pub pattern: Option<String>,
}

/// Maximum length of a command, in characters: enough for a path and a few flags.
const MAX_CHARS: usize = 2_000;

/// Parses `ls [-flags] [DIR]` or `find DIR [-type f] [-name PATTERN] [-maxdepth N]`.
pub fn parse(command: &str) -> Result<Listing, String> {
    let why = || {
        "only the commands `ls DIR` and `find DIR -name PATTERN` are allowed, without pipes, redirects or other commands"
            .to_owned()
    };
    if command.chars().count() > MAX_CHARS {
        return Err(why());
    }
    let words = words(command).ok_or_else(why)?;
    let listing = match words.split_first() {
        Some((program, arguments)) if program == "ls" => ls(arguments),
        Some((program, arguments)) if program == "find" => find(arguments),
        _ => None,
    };
    listing.ok_or_else(why)
}

fn ls(arguments: &[String]) -> Option<Listing> {
    let mut path = None;
    for argument in arguments {
        if let Some(flags) = argument.strip_prefix('-') {
            let is_known = !flags.is_empty() && flags.chars().all(|c| "1aAlhtrRFpSd".contains(c));
            is_known.then_some(())?;
        } else if path.replace(argument.clone()).is_some() {
            return None;
        }
    }
    Some(Listing { path, pattern: None })
}

fn find(arguments: &[String]) -> Option<Listing> {
    let (path, tests) = arguments.split_first()?;
    if path.starts_with('-') {
        return None;
    }
    let mut pattern = None;
    let mut tests = tests.iter();
    while let Some(test) = tests.next() {
        let value = tests.next()?;
        match test.as_str() {
            "-type" if value == "f" => {}
            "-maxdepth" if value.parse::<u8>().is_ok() => {}
            "-name" | "-iname" if pattern.is_none() => pattern = Some(value.clone()),
            _ => return None,
        }
    }
    Some(Listing { path: Some(path.clone()), pattern })
}

/// Splits a command at spaces; a quoted part is one word. Returns `None` if a shell might do anything else with it, such as
/// expand a variable or run a second command.
fn words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut rest = command.trim_matches(' ');
    while let Some(first) = rest.chars().next() {
        let (word, after) = match first {
            '\'' | '"' => {
                let (word, after) = rest.get(1..)?.split_once(first)?;
                let is_inert = word.chars().all(|c| is_plain(c) || "*? ".contains(c));
                (is_inert && (after.is_empty() || after.starts_with(' ')))
                    .then_some((word, after))?
            }
            _ => {
                let (word, after) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
                word.chars().all(is_plain).then_some((word, after))?
            }
        };
        words.push(word.to_owned());
        rest = after.trim_start_matches(' ');
    }
    Some(words)
}

fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || "-_./,@+".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &str, path: Option<&str>, pattern: Option<&str>) {
        let expect = Listing { path: path.map(str::to_owned), pattern: pattern.map(str::to_owned) };
        assert_eq!(parse(command), Ok(expect), "{command}");
    }

    #[test]
    fn listings_are_understood() {
        check("ls", None, None);
        check("ls -la /m/memory", Some("/m/memory"), None);
        check("ls '/m/my memory/'", Some("/m/my memory/"), None);
        check("find /m -type f -name '*.md'", Some("/m"), Some("*.md"));
        check("find \"/m\" -maxdepth 2", Some("/m"), None);
    }

    #[test]
    fn other_commands_are_refused() {
        for command in [
            "",
            "cat /m/a.md",
            "rm -rf /m",
            "ls; rm x",
            "ls && rm x",
            "ls | sh",
            "ls > x",
            "ls `rm x`",
            "ls $(rm x)",
            "ls $HOME",
            "ls\nrm x",
            "ls\trm",
            "find /m -delete",
            "find /m -exec rm {} +",
            "find /m -name a -delete",
            "find /m -fprintf x y",
            "find /m -name *.md",
            "find -name a",
            "find /m -newer x -o -delete x",
            "ls a b",
            "ls --color=always",
            "ls -Z",
            "ls 'a'b",
            "ls \"$(x)\"",
            "ls 'a",
            "ls a&",
            "/bin/ls",
            "LS",
            "sudo ls",
            "ls ~",
            "ls {a,b}",
            "ls a\\ b",
            "ls #x",
            "ls !x",
            "env ls",
            "ls\0",
            "find /m -type d -delete -type f",
            "find /m -ok rm x",
            "find /m -L x -H",
        ] {
            assert!(parse(command).is_err(), "{command:?}");
        }
        assert!(parse(&format!("ls {}", "a".repeat(5_000))).is_err());
    }
}
