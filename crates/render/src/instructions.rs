//! The instruction files that are loaded, in order, and those that are not, with the reasons.

use bethink_api::{InstructionChain, InstructionFile, SkipKind, SkippedInstruction};
use bethink_terminal::words::{bytes, count, plural};
use bethink_terminal::{StyledText, TextTable, Tone, hanging};

/// Shortens paths by making them relative to the project or to the user's home directory.
#[derive(Clone, Copy, Debug)]
pub struct ShortPaths<'a> {
    pub root: &'a str,
    pub home: &'a str,
}

impl ShortPaths<'_> {
    /// Returns a path relative to the project, or to the home directory.
    pub fn short(&self, path: &str) -> String {
        let below = |root: &str| match root {
            "" | "/" => None,
            root => path.strip_prefix(root)?.strip_prefix('/').map(str::to_owned),
        };
        below(self.root)
            .or_else(|| below(self.home).map(|path| format!("~/{path}")))
            .unwrap_or_else(|| path.to_owned())
    }

    /// Shortens the project's paths in text.
    pub fn in_text(&self, words: &str) -> String {
        match self.root {
            "" | "/" => words.to_owned(),
            root => words.replace(&format!("{root}/"), ""),
        }
    }
}

pub fn files(chain: &InstructionChain, places: &ShortPaths<'_>, width: usize) -> Vec<StyledText> {
    if chain.files.is_empty() {
        return vec![
            StyledText::new().dim(format!("no instruction files are loaded in {}", chain.cwd)),
        ];
    }
    let mut table = TextTable::new(&["kind", "file", ">lines", ">tokens", "why"]);
    for file in &chain.files {
        let tone = if file.touched { Tone::Accent } else { Tone::Plain };
        table.row(vec![
            StyledText::new().dim(file.kind.to_string()),
            StyledText::new().put(tone, places.short(&file.path)),
            count(file.lines).into(),
            count(file.tokens).into(),
            StyledText::new().dim(why(file, places)),
        ]);
    }
    let mut lines = table.lines(width).into_iter();
    let mut out: Vec<StyledText> = lines.next().into_iter().collect();
    for (line, file) in lines.zip(&chain.files) {
        out.push(line);
        let mark = StyledText::from("  ").put(Tone::Warn, "! ");
        let warning = |said: &String| hanging(&mark, Tone::Warn, said, width.max(24));
        out.extend(file.warnings.iter().flat_map(warning));
    }
    out
}

fn why(file: &InstructionFile, places: &ShortPaths<'_>) -> String {
    match &file.imported_by {
        Some(by) => format!("by {}", places.short(by)),
        None if file.touched => places.in_text(&file.why),
        None => match &file.real_path {
            Some(real) => format!("links to {}", places.short(real)),
            None => String::new(),
        },
    }
}

/// Lists the files that are not loaded; those that the user may expect come first.
pub fn skipped(chain: &InstructionChain, places: &ShortPaths<'_>, width: usize) -> Vec<StyledText> {
    let mut all: Vec<_> = chain.skipped.iter().collect();
    all.sort_by_key(|skipped| skipped.harmless);
    let mut out = Vec::new();
    if !all.is_empty() {
        out.extend([StyledText::new(), StyledText::new().dim("skipped")]);
    }
    out.extend(all.into_iter().flat_map(|skipped| one_skipped(skipped, places, width)));
    if chain.skipped_more > 0 {
        out.push(StyledText::new().dim(format!("and {} more", chain.skipped_more)));
    }
    out
}

/// Lists the files that a person approved for the project.
pub fn approved(chain: &InstructionChain, places: &ShortPaths<'_>) -> Vec<StyledText> {
    if chain.approved.is_empty() {
        return Vec::new();
    }
    let heading = [StyledText::new(), StyledText::new().dim("approved")];
    let paths = chain.approved.iter().map(|path| StyledText::from("  ").plain(places.short(path)));
    heading.into_iter().chain(paths).collect()
}

fn one_skipped(
    skipped: &SkippedInstruction,
    places: &ShortPaths<'_>,
    width: usize,
) -> Vec<StyledText> {
    let (tone, mark) = match (skipped.harmless, skipped.approve) {
        (true, _) => (Tone::Dim, "· "),
        (false, true) => (Tone::Accent, "? "),
        (false, false) => (Tone::Warn, "! "),
    };
    let by = skipped.imported_by.as_ref().map(|by| format!(" (imported by {})", places.short(by)));
    let head = format!("{}{}", places.short(&skipped.path), by.unwrap_or_default());
    let why = hanging(&"    ".into(), Tone::Dim, &places.in_text(&skipped.why), width.max(24));
    std::iter::once(StyledText::new().put(tone, format!("{mark}{head}"))).chain(why).collect()
}

pub fn hints(chain: &InstructionChain) -> Vec<String> {
    let mut hints = Vec::new();
    if !chain.enabled {
        hints.push(
            "the setting `memory.instructions` is false, so these files are not part of prompts"
                .to_owned(),
        );
    }
    if let Some(waits) = chain.skipped.iter().find(|skipped| skipped.approve) {
        hints.push(format!(
            "to load a file that needs approval, run `bethink instructions approve {}`",
            waits.path
        ));
    }
    if chain.skipped.iter().any(|skipped| skipped.reason == SkipKind::Waiting) {
        hints.push(
            "to see which rules apply to a file, run `bethink instructions --touch PATH`"
                .to_owned(),
        );
    }
    hints
}

pub fn summary(chain: &InstructionChain) -> String {
    let tokens: u64 = chain.files.iter().filter(|file| !file.touched).map(|file| file.tokens).sum();
    let files = plural(chain.files.len() as u64, "file", "files");
    format!("{files} for {}, about {} tokens", chain.cwd, count(tokens))
}

/// Describes a file with its size, for `doctor`.
pub fn loaded(file: &InstructionFile, places: &ShortPaths<'_>) -> String {
    let by = file.imported_by.as_ref().map(|by| format!(", imported by {}", places.short(by)));
    format!(
        "{} {}: {}, {}{}",
        file.kind,
        places.short(&file.path),
        bytes(file.bytes),
        plural(file.lines, "line", "lines"),
        by.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use bethink_terminal::LineMode;

    #[test]
    fn paths_are_relative_to_project_or_home() {
        let places = ShortPaths { root: "/home/u/p", home: "/home/u" };
        assert_eq!(places.short("/home/u/p/CLAUDE.md"), "CLAUDE.md");
        assert_eq!(places.short("/home/u/.claude/CLAUDE.md"), "~/.claude/CLAUDE.md");
        assert_eq!(places.short("/home/u/pp/x"), "~/pp/x");
        assert_eq!(places.short("/etc/x"), "/etc/x");
        assert_eq!(ShortPaths { root: "/", home: "" }.short("/etc/x"), "/etc/x");
    }

    #[test]
    fn files_that_may_be_expected_come_first() {
        let skipped = |path: &str, harmless, approve| SkippedInstruction {
            path: path.to_owned(),
            reason: SkipKind::Outside,
            why: "because".to_owned(),
            harmless,
            approve,
            imported_by: None,
        };
        let chain = InstructionChain {
            skipped: vec![
                skipped("/p/well", true, false),
                skipped("/q/waits", false, true),
                skipped("/p/\x1b[31mlost", false, false),
            ],
            ..InstructionChain::default()
        };
        let places = ShortPaths { root: "/p", home: "" };
        let lines: Vec<String> = super::skipped(&chain, &places, 40)
            .iter()
            .map(|line| line.render(LineMode::One, false))
            .collect();
        let expect = [
            "",
            "skipped",
            "? /q/waits",
            "    because",
            "! ␛[31mlost",
            "    because",
            "· well",
            "    because",
        ];
        assert_eq!(lines, expect);
        assert_eq!(hints(&InstructionChain { enabled: true, ..chain }).len(), 1);
    }
}
