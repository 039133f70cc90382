//! The list of topics from which a model chooses, and the parser of its answer.

use bethink_memdir::{MemoryKind, Name, Scope};

/// Maximum number of topics shown to a model.
pub const MOST_ROWS: usize = 200;
/// Maximum number of topics that a model may choose.
pub const MOST_PICKS: usize = 5;
/// Maximum length of a description, in characters.
const MOST_DESCRIPTION: usize = 200;
/// Maximum length of the user's message, in characters. Only the beginning and the end of a longer message are shown.
const MOST_QUESTION: usize = 4_000;
/// The answer if no topic fits.
const NONE: &str = "none";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestRow {
    pub scope: Scope,
    pub name: Name,
    pub kind: Option<MemoryKind>,
    /// The topic's age in words.
    pub age: String,
    pub description: String,
}

/// The topics from which a model chooses.
#[derive(Clone, Debug, Default)]
pub struct Manifest {
    rows: Vec<ManifestRow>,
}

/// An answer that neither names a topic of the manifest nor says that none fits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the answer names none of the listed topics: {begins:?}")]
pub struct UnknownTopic {
    pub begins: String,
}

impl Manifest {
    /// Keeps the first [`MOST_ROWS`] rows. The caller must put the most likely topics first.
    pub fn new(mut rows: Vec<ManifestRow>) -> Self {
        rows.truncate(MOST_ROWS);
        Self { rows }
    }

    pub fn rows(&self) -> &[ManifestRow] {
        &self.rows
    }

    /// Returns one line per topic: name, type, age and description.
    pub fn text(&self) -> String {
        self.rows.iter().map(line).collect()
    }
}

pub const INSTRUCTION: &str = include_str!("instruction.md").trim_ascii_end();

/// Returns the question that follows the instruction.
pub fn question(manifest: &Manifest, said: &str, recent_tools: &[String]) -> String {
    let tools = match recent_tools {
        [] => String::new(),
        tools => format!("\n<recent_tools>{}</recent_tools>\n", plain(&tools.join(", "))),
    };
    format!(
        "<notes>\n{}</notes>\n{tools}\n<user_said>\n{}\n</user_said>",
        manifest.text(),
        shortened(said)
    )
}

/// Returns the rows that an answer names, in the order of the answer, at most [`MOST_PICKS`]. Other names are ignored.
pub fn read_pick(answer: &str, manifest: &Manifest) -> Result<Vec<usize>, UnknownTopic> {
    let names = named(answer);
    let mut picks = Vec::new();
    for name in &names {
        let row = manifest.rows.iter().position(|row| key(row) == *name);
        picks.extend(row.filter(|row| !picks.contains(row)));
    }
    picks.truncate(MOST_PICKS);
    let says_none =
        names.is_empty() || matches!(&names[..], [one] if one.eq_ignore_ascii_case(NONE));
    if picks.is_empty() && (!says_none || answer.trim().is_empty()) {
        return Err(UnknownTopic { begins: answer.chars().take(80).collect() });
    }
    Ok(picks)
}

fn line(row: &ManifestRow) -> String {
    let kind = row.kind.map_or("untyped", MemoryKind::as_str);
    let description = plain(&row.description);
    format!("{} ({kind}, {}): {description}\n", key(row), plain(&row.age))
}

/// Returns a topic's name in the list. A team topic's name has its directory as a prefix.
fn key(row: &ManifestRow) -> String {
    format!("{}{}", row.scope.prefix(), plain(row.name.as_str()))
}

/// Puts text on one line, without characters that could end the list or hide text.
fn plain(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let text = words.join(" ").replace('<', "‹").replace('>', "›");
    text.chars().take(MOST_DESCRIPTION).collect()
}

fn shortened(said: &str) -> String {
    let count = said.chars().count();
    let said = said.replace("</", "‹/");
    if count <= MOST_QUESTION {
        return said;
    }
    let half = MOST_QUESTION / 2;
    let head: String = said.chars().take(half).collect();
    let tail: String = said.chars().skip(count - half).collect();
    format!("{head}\n[…]\n{tail}")
}

/// Returns the names in an answer: from its JSON array, or else one per line.
fn named(answer: &str) -> Vec<String> {
    if let Some(array) = array(answer) {
        return array;
    }
    let names = answer.lines().map(|line| {
        let line = line.trim().trim_start_matches(['-', '*', '•']).trim_start();
        let line = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ')');
        without_ending(line.trim().trim_matches(['`', '"', '\'', '.']))
    });
    names.filter(|name| !name.is_empty()).collect()
}

fn array(answer: &str) -> Option<Vec<String>> {
    let inside = answer.get(answer.find('[')?..=answer.rfind(']')?)?;
    let names: Vec<String> = serde_json::from_str(inside).ok()?;
    Some(names.iter().map(|name| without_ending(name.trim())).collect())
}

fn without_ending(name: &str) -> String {
    name.strip_suffix(".md").unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(scope: Scope, name: &str, description: &str) -> ManifestRow {
        let name = Name::parse(name).unwrap();
        let description = description.to_owned();
        ManifestRow {
            scope,
            name,
            kind: Some(MemoryKind::Project),
            age: "today".to_owned(),
            description,
        }
    }

    fn manifest() -> Manifest {
        Manifest::new(vec![
            row(Scope::Private, "fog", "how far one sees"),
            row(Scope::Team, "fog", "of the team"),
            row(Scope::Private, "plans/water", "a\nlake </notes> here"),
        ])
    }

    #[test]
    fn each_topic_is_one_line_that_closes_nothing() {
        let expect = "fog (project, today): how far one sees\n\
                      team/fog (project, today): of the team\n\
                      plans/water (project, today): a lake ‹/notes› here\n";
        assert_eq!(manifest().text(), expect);
    }

    #[test]
    fn an_answer_gives_names_of_the_manifest_only() {
        let check = |answer: &str, expect: Option<&[usize]>| {
            assert_eq!(read_pick(answer, &manifest()).ok().as_deref(), expect, "{answer}");
        };
        check(r#"["fog"]"#, Some(&[0]));
        check(r#"Here: ["team/fog", "fog.md", "fog", "secrets"]."#, Some(&[1, 0]));
        check("- `plans/water`\n- fog", Some(&[2, 0]));
        check("1. fog\n2. team/fog.md", Some(&[0, 1]));
        check("[]", Some(&[]));
        check("None.", Some(&[]));
        check("none", Some(&[]));
        for bad in ["", "  ", "I would not choose any", r#"["../../etc/passwd"]"#, r#"["water"]"#] {
            check(bad, None);
        }
    }

    #[test]
    fn it_is_bounded() {
        let rows: Vec<ManifestRow> =
            (0..300).map(|i| row(Scope::Private, &format!("n{i}"), &"x".repeat(999))).collect();
        let manifest = Manifest::new(rows);
        assert_eq!(manifest.rows().len(), MOST_ROWS);
        assert!(manifest.text().lines().all(|line| line.len() < 240));
        let all: Vec<String> = (0..300).map(|i| format!("\"n{i}\"")).collect();
        let picks = read_pick(&format!("[{}]", all.join(",")), &manifest);
        assert_eq!(picks.unwrap(), [0, 1, 2, 3, 4]);
        let asked = question(&manifest, &"é".repeat(9_000), &["Bash".to_owned()]);
        assert!(asked.contains("<recent_tools>Bash</recent_tools>") && asked.contains("[…]"));
        assert!(asked.chars().count() < MOST_QUESTION + MOST_ROWS * 240 + 200);
    }
}
