//! A search hit: where it is, which tool call it answers, and the lines that match.

use bethink_api::SearchHit;
use bethink_terminal::words::ago;
use bethink_terminal::{StyledText, TerminalLook, Tone};
use jiff::Timestamp;

use crate::ids::short_id;

const INDENT: &str = "    ";
/// Maximum number of lines of one snippet.
const LINES: usize = 5;

pub fn hit(hit: &SearchHit, across: bool, look: TerminalLook, now: Timestamp) -> Vec<StyledText> {
    // Tool results are in user messages, although the user did not write them.
    let who = match &hit.answers {
        Some(call) => format!("{} result", call.tool),
        None => hit.role.to_string(),
    };
    let mut head = StyledText::new()
        .strong(format!("#{}", hit.seq))
        .plain(" ")
        .put(Tone::Accent, who)
        .dim(format!("  {}", ago(&hit.created_at, now)));
    if let Some(person) = &hit.person {
        head = head.plain("  ").strong(person.clone());
    }
    if across {
        head = head.dim(format!("  {}", name(hit)));
    }
    let mut lines = vec![head.fitted(look.width)];
    if let Some(call) = &hit.answers {
        let said = StyledText::from(INDENT).dim(format!("of #{}: {}", call.seq, call.input));
        lines.push(said.fitted(look.width));
    }
    lines.extend(excerpt(&hit.snippet, &hit.highlights, look.width));
    lines
}

/// Returns the short id, which `--session` accepts, and the title.
fn name(hit: &SearchHit) -> String {
    let id = short_id(hit.session_id);
    match &hit.title {
        Some(title) if !title.is_empty() => format!("{id}  {title}"),
        _ => id,
    }
}

/// Returns the lines of the snippet, with the matches in bold.
fn excerpt(snippet: &str, highlights: &[[usize; 2]], width: usize) -> Vec<StyledText> {
    let is_match = |at| highlights.iter().any(|[start, end]| (*start..*end).contains(&at));
    let tone = |at| if is_match(at) { Tone::Strong } else { Tone::Plain };
    let chars: Vec<_> = snippet.chars().enumerate().map(|(at, c)| (tone(at), c)).collect();
    let wrapped = chars.split(|(_, c)| *c == '\n').flat_map(|line| {
        StyledText::from(INDENT).then(StyledText::of_chars(line)).wrapped(width, 0)
    });
    let mut lines: Vec<StyledText> = wrapped.map(|line| line.fitted(width)).collect();
    let is_longer = lines.len() > LINES;
    lines.truncate(LINES);
    if is_longer && let Some(last) = lines.pop() {
        lines.push(last.dim(" …").fitted(width));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use bethink_terminal::LineMode;

    fn check(snippet: &str, highlights: &[[usize; 2]], width: usize, expect: &[&str]) {
        let lines = excerpt(snippet, highlights, width);
        let lines: Vec<_> = lines.iter().map(|line| line.render(LineMode::One, true)).collect();
        assert_eq!(lines, expect);
    }

    #[test]
    fn a_snippet_is_wrapped_between_words() {
        check("one two three", &[], 12, &["    one two", "    three"]);
        check("one", &[], 80, &["    one"]);
        check(
            "fn a() {\n    one two three\n}",
            &[],
            18,
            &["    fn a() {", "        one two", "        three", "    }"],
        );
        check("中文 中文", &[], 9, &["    中文", "    中文"]);
    }

    #[test]
    fn a_match_is_strong_even_within_a_word() {
        check("a SessionFile b", &[[2, 9]], 80, &["    a \u{1b}[1mSession\u{1b}[0mFile b"]);
    }

    #[test]
    fn a_long_snippet_ends_with_an_ellipsis() {
        let lines = excerpt(&"word ".repeat(100), &[], 20);
        assert_eq!(lines.len(), LINES);
        assert!(lines.iter().all(|line| line.width() <= 20));
        assert!(lines[LINES - 1].render(LineMode::One, false).ends_with('…'));
    }
}
