//! A search hit: where it is, which call it answers, and the text with the matches.

use bethink_api::{SearchHit, Session};
use bethink_terminal::words::ago;
use bethink_terminal::{StyledText, TerminalLook, Tone};
use jiff::Timestamp;

use crate::ids::short_id;

const INDENT: &str = "    ";
const LINES: usize = 4;

pub fn hit(hit: &SearchHit, across: bool, look: TerminalLook, now: Timestamp) -> Vec<StyledText> {
    // Tool results are in user messages, but the user did not write them.
    let who = match &hit.answers {
        Some(call) => format!("{} result", call.tool),
        None => hit.role.to_string(),
    };
    let mut head = StyledText::new()
        .strong(format!("#{}", hit.seq))
        .plain(" ")
        .put(Tone::Accent, who)
        .dim(format!("  {}", ago(&hit.created_at, now)));
    if across {
        head = head.dim(format!("  {}", name(hit)));
    }
    let mut lines = vec![head.fitted(look.width)];
    if let Some(call) = &hit.answers {
        let said = StyledText::from(INDENT).dim(format!("of #{}: {}", call.seq, call.input));
        lines.push(said.fitted(look.width));
    }
    lines.extend(wrapped(&pieces(&hit.snippet, &hit.highlights), look.width));
    lines
}

/// The short id, which `--session` accepts, and the title.
fn name(hit: &SearchHit) -> String {
    let id = short_id(hit.session_id);
    match &hit.title {
        Some(title) if !title.is_empty() => format!("{id}  {title}"),
        _ => id,
    }
}

/// What was searched, for the last line.
pub fn place(session: Option<&Session>, project: &str) -> String {
    match session.and_then(|session| session.title.as_deref()) {
        Some(title) if !title.is_empty() => format!("session “{title}”"),
        _ if session.is_some() => "this session".to_owned(),
        _ => format!("the sessions of {project}"),
    }
}

/// The words of a snippet, with the matches in bold.
fn pieces(snippet: &str, highlights: &[[usize; 2]]) -> Vec<StyledText> {
    let is_found = |at| highlights.iter().any(|[start, end]| (*start..*end).contains(&at));
    let tone = |at| if is_found(at) { Tone::Strong } else { Tone::Plain };
    let chars: Vec<_> = snippet.chars().enumerate().map(|(at, c)| (tone(at), c)).collect();
    let words = chars.split(|(_, c)| *c == ' ').filter(|word| !word.is_empty());
    words.map(StyledText::of_chars).collect()
}

fn wrapped(words: &[StyledText], width: usize) -> Vec<StyledText> {
    let mut lines: Vec<StyledText> = Vec::new();
    for word in words {
        match lines.last_mut().filter(|line| line.width() + 1 + word.width() <= width) {
            Some(line) => *line = std::mem::take(line).plain(" ").then(word.clone()),
            None => lines.push(StyledText::from(INDENT).then(word.clone())),
        }
    }
    let more = lines.len() > LINES;
    lines.truncate(LINES);
    let mut lines: Vec<StyledText> = lines.into_iter().map(|line| line.fitted(width)).collect();
    if more && let Some(last) = lines.pop() {
        lines.push(last.dim(" …").fitted(width));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use bethink_terminal::LineMode;

    fn check(snippet: &str, highlights: &[[usize; 2]], width: usize, expect: &[&str]) {
        let lines = wrapped(&pieces(snippet, highlights), width);
        let lines: Vec<_> = lines.iter().map(|line| line.render(LineMode::One, true)).collect();
        assert_eq!(lines, expect);
    }

    #[test]
    fn a_snippet_is_wrapped_between_words() {
        check("one two three", &[], 12, &["    one two", "    three"]);
        check("one", &[], 80, &["    one"]);
        check("", &[], 80, &[]);
        check("中文 中文", &[], 9, &["    中文", "    中文"]);
    }

    #[test]
    fn what_was_found_is_strong_even_within_a_word() {
        check("a SessionFile b", &[[2, 9]], 80, &["    a \u{1b}[1mSession\u{1b}[0mFile b"]);
    }

    #[test]
    fn a_long_snippet_ends_with_an_ellipsis() {
        let lines = wrapped(&pieces(&"word ".repeat(100), &[]), 20);
        assert_eq!(lines.len(), LINES);
        assert!(lines.iter().all(|line| line.width() <= 20));
        assert!(lines[LINES - 1].render(LineMode::One, false).ends_with('…'));
    }
}
