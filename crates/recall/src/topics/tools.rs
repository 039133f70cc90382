//! Recognizes topics that are manuals of tools: an agent that has just used a tool does not need its manual.

use super::card::Card;
use super::words::WORDS;

/// Maximum number of bytes of a manual's name and description that are kept.
const MOST_BYTES: usize = 400;

/// Returns the name and the description, in lower case, of a topic that only explains how something is used.
pub(super) fn manual(card: &Card<'_>, body: &str) -> Option<Box<str>> {
    let name = card.name.replace(['-', '_', '/'], " ");
    let head = format!(" {name} {} {} ", card.title, card.description).to_lowercase();
    let words = &*WORDS;
    if has(&head, &words.warning) || !has(&head, &words.usage) || body.lines().any(opens_warning) {
        return None;
    }
    Some(head[..head.floor_char_boundary(MOST_BYTES)].into())
}

fn has(text: &str, signs: &[String]) -> bool {
    signs.iter().any(|sign| {
        text.match_indices(sign).any(|(at, _)| !text[..at].ends_with(|c: char| c.is_alphanumeric()))
    })
}

fn opens_warning(line: &str) -> bool {
    let text = line.trim_start_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    WORDS.opening.iter().any(|sign| text.starts_with(sign))
}

/// Whether a topic is the manual of this tool: its name or description contains the tool's name. For
/// `mcp__github__search`, the server name `github` is enough.
pub(super) fn is_manual_of(manual: Option<&str>, tool: &str) -> bool {
    let Some(manual) = manual else { return false };
    let words: Vec<&str> = words_of(manual).collect();
    let own = tool.strip_prefix("mcp__").unwrap_or(tool);
    own.split("__").any(|part| names(&words, &spelt(part)))
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// Splits a tool's name into words as people write it: `WebFetch` as one word, or as several.
fn spelt(tool: &str) -> [Vec<String>; 2] {
    let mut apart = String::new();
    for c in tool.chars() {
        if c.is_uppercase() && apart.ends_with(|c: char| c.is_lowercase()) {
            apart.push(' ');
        }
        apart.extend(c.to_lowercase());
    }
    let apart: Vec<String> = words_of(&apart).map(str::to_owned).collect();
    [vec![apart.concat()], apart]
}

fn names(words: &[&str], spellings: &[Vec<String>; 2]) -> bool {
    spellings.iter().filter(|spelling| !spelling.is_empty()).any(|spelling| {
        words.windows(spelling.len()).enumerate().any(|(at, window)| {
            let is_said = window.iter().zip(spelling).all(|(word, own)| word == own);
            is_said && (!is_everyday(spelling) || has_use_beside(words, at))
        })
    })
}

fn is_everyday(spelling: &[String]) -> bool {
    matches!(spelling, [word] if WORDS.everyday.contains(word))
}

fn has_use_beside(words: &[&str], at: usize) -> bool {
    let is_use = |word: &&str| WORDS.beside.iter().any(|beside| beside == word);
    at > 0 && is_use(&words[at - 1]) || words.get(at + 1).is_some_and(is_use)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, description: &str, body: &str, tool: &str, expect: bool) {
        let card = Card { name, description, ..Card::default() };
        let told = is_manual_of(manual(&card, body).as_deref(), tool);
        assert_eq!(told, expect, "{name}: {description} | {tool}");
    }

    #[test]
    fn a_manual_of_the_tool_is_known() {
        check("grep-usage", "flags and syntax that we use", "", "Grep", true);
        check("make-usage", "make targets: build, lint", "`make -j4`", "make", true);
        check("github-mcp", "How to use the GitHub server", "", "mcp__github__create_issue", true);
        check("web", "WebFetch parameters", "", "WebFetch", true);
        check("web", "parameters of web fetch", "", "WebFetch", true);
        check("reading", "Options of the Read tool", "", "Read", true);
        check("psql-cheatsheet", "", "", "psql", true);
    }

    #[test]
    fn a_warning_about_it_is_not_its_manual() {
        check("grep-usage", "Gotcha: flags that differ on BSD", "", "Grep", false);
        check("grep-usage", "flags and syntax", "- **Warning:** -P is slow", "Grep", false);
        check("grep-usage", "flags and syntax", "Never run it on the mount.", "Grep", false);
        check("psql", "breaks when the pager waits", "", "psql", false);
    }

    #[test]
    fn other_topics_stay() {
        check("grep-usage", "flags and syntax", "", "Bash", false);
        check("fog", "how far one sees", "grep -r fog", "Grep", false);
        check("grep", "why we left it for ripgrep", "", "Grep", false);
        check("testing", "How to write tests: usage of fixtures", "", "Write", false);
        check("search", "usage of the index in our product's search page", "", "WebSearch", false);
        check("breadth", "usage", "", "Read", false);
    }
}
