//! One hit of a search: where it is, what it answers, and the words that were found.

use bethink_api::{SearchHit, Session};
use jiff::Timestamp;

use crate::screen::text::columns;
use crate::screen::words::ago;
use crate::screen::{Look, Text, Tone};

const INDENT: &str = "    ";
/// Lines that a snippet takes at most.
const LINES: usize = 4;
/// Characters of a session's id that tell it from others.
const ID_CHARS: usize = 8;

pub(crate) fn hit(hit: &SearchHit, across: bool, look: Look, now: Timestamp) -> Vec<Text> {
    // Results stand in the user's turns, but nobody said them.
    let who = match &hit.answers {
        Some(call) => format!("{} result", call.tool),
        None => hit.role.clone(),
    };
    let mut head = Text::new()
        .strong(format!("#{}", hit.seq))
        .plain(" ")
        .put(Tone::Accent, who)
        .dim(format!("  {}", ago(&hit.created_at, now)));
    if across {
        head = head.dim(format!("  {}", name(hit)));
    }
    let mut lines = vec![head.fitted(look.width)];
    if let Some(call) = &hit.answers {
        let said = Text::from(INDENT).dim(format!("of #{}: {}", call.seq, call.input));
        lines.push(said.fitted(look.width));
    }
    lines.extend(wrapped(&pieces(&hit.snippet, &hit.highlights), look.width));
    lines
}

/// Title and the beginning of the id, which `--session` takes.
fn name(hit: &SearchHit) -> String {
    let id: String = hit.session_id.to_string().chars().take(ID_CHARS).collect();
    match &hit.title {
        Some(title) if !title.is_empty() => format!("{id}  {title}"),
        _ => id,
    }
}

/// What a search was made in, for the closing line.
pub(crate) fn place(session: Option<&Session>, project: &str) -> String {
    match session.and_then(|session| session.title.as_deref()) {
        Some(title) if !title.is_empty() => format!("session “{title}”"),
        _ if session.is_some() => "this session".to_owned(),
        _ => format!("the sessions of {project}"),
    }
}

/// Words with the space before them left out; a word may have several tones.
type Word = Vec<(Tone, String)>;

fn pieces(snippet: &str, highlights: &[[usize; 2]]) -> Vec<Word> {
    let mut words: Vec<Word> = vec![Vec::new()];
    for (at, c) in snippet.chars().enumerate() {
        if c == ' ' {
            words.push(Vec::new());
            continue;
        }
        let found = highlights.iter().any(|[start, end]| (*start..*end).contains(&at));
        let tone = if found { Tone::Strong } else { Tone::Plain };
        let Some(word) = words.last_mut() else { continue };
        match word.last_mut() {
            Some((last, text)) if *last == tone => text.push(c),
            _ => word.push((tone, c.to_string())),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn wrapped(words: &[Word], width: usize) -> Vec<Text> {
    let room = width.saturating_sub(INDENT.len()).max(1);
    let mut lines: Vec<(Text, usize)> = Vec::new();
    for word in words {
        let wide: usize = word.iter().map(|(_, text)| columns(text)).sum();
        let fits = lines.last().is_some_and(|(_, used)| used + 1 + wide <= room);
        let (line, used) = match lines.pop() {
            Some((line, used)) if fits => (line.plain(" "), used + 1),
            Some(full) => {
                lines.push(full);
                (Text::from(INDENT), 0)
            }
            None => (Text::from(INDENT), 0),
        };
        let line = word.iter().fold(line, |line, (tone, text)| line.put(*tone, text.clone()));
        lines.push((line, used + wide));
    }
    let more = lines.len() > LINES;
    lines.truncate(LINES);
    let mut lines: Vec<Text> = lines.into_iter().map(|(line, _)| line.fitted(width)).collect();
    if more && let Some(last) = lines.pop() {
        lines.push(last.dim(" …").fitted(width));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::escape::Lines;

    fn check(snippet: &str, highlights: &[[usize; 2]], width: usize, expect: &[&str]) {
        let lines = wrapped(&pieces(snippet, highlights), width);
        let lines: Vec<_> = lines.iter().map(|line| line.render(Lines::One, true)).collect();
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
        assert!(lines[LINES - 1].render(Lines::One, false).ends_with('…'));
    }
}
