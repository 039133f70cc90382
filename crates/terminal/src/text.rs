//! Text with tones, which determine how it looks on a terminal with colours.

use anstyle::{AnsiColor, Color, Style};
use unicode_width::UnicodeWidthStr;

use crate::escape::{LineMode, visible};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Strong,
    Dim,
    Good,
    Warn,
    Bad,
    Accent,
    /// A part of the prompt, in one of the sixteen colours that every terminal theme makes readable.
    Part(AnsiColor),
}

impl Tone {
    fn style(self) -> Style {
        let colour = |c: AnsiColor| Style::new().fg_color(Some(Color::Ansi(c)));
        match self {
            Self::Plain => Style::new(),
            Self::Strong => Style::new().bold(),
            Self::Dim => Style::new().dimmed(),
            Self::Good => colour(AnsiColor::Green),
            Self::Warn => colour(AnsiColor::Yellow),
            Self::Bad => colour(AnsiColor::Red).bold(),
            Self::Accent => colour(AnsiColor::Cyan),
            Self::Part(c) => colour(c),
        }
    }
}

/// A piece of output, to be printed through [`crate::Screen`].
#[derive(Clone, Debug, Default)]
pub struct StyledText(Vec<(Tone, String)>);

impl StyledText {
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates text from characters. Adjacent characters of one tone become one piece.
    pub fn of_chars(chars: &[(Tone, char)]) -> Self {
        chars.chunk_by(|a, b| a.0 == b.0).fold(Self::new(), |text, run| {
            let tone = run.first().map_or(Tone::Plain, |(tone, _)| *tone);
            text.put(tone, run.iter().map(|(_, c)| c).collect::<String>())
        })
    }

    pub fn put(mut self, tone: Tone, text: impl Into<String>) -> Self {
        self.0.push((tone, text.into()));
        self
    }

    pub fn plain(self, text: impl Into<String>) -> Self {
        self.put(Tone::Plain, text)
    }

    pub fn strong(self, text: impl Into<String>) -> Self {
        self.put(Tone::Strong, text)
    }

    pub fn dim(self, text: impl Into<String>) -> Self {
        self.put(Tone::Dim, text)
    }

    pub fn then(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|(_, text)| text.is_empty())
    }

    /// Returns the width of the text on one line, in columns.
    pub fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| columns(text)).sum()
    }

    /// Pads with spaces to `width`.
    pub fn padded(self, width: usize) -> Self {
        let missing = width.saturating_sub(self.width());
        self.plain(" ".repeat(missing))
    }

    /// Cuts to `width` columns, with an ellipsis if something was cut.
    pub fn fitted(self, width: usize) -> Self {
        if self.width() <= width {
            return self;
        }
        let mut room = width.saturating_sub(1);
        let mut out = Self::new();
        for (tone, text) in self.0 {
            let (head, whole) = cut(&text, room);
            room -= columns(&head);
            out = out.put(tone, head);
            if !whole {
                break;
            }
        }
        out.dim("…")
    }

    /// Shows line feeds as symbols, so that untrusted text cannot begin a line of its own when it is wrapped.
    pub fn on_one_line(self) -> Self {
        Self(
            self.0
                .into_iter()
                .map(|(tone, text)| (tone, visible(&text, LineMode::One).into()))
                .collect(),
        )
    }

    /// Breaks the text at spaces into lines of at most `width` columns; a longer word stays whole. Later lines begin
    /// with `indent` spaces, or with the text's own leading spaces if there are more of them.
    pub fn wrapped(self, width: usize, indent: usize) -> Vec<Self> {
        let chars = || self.0.iter().flat_map(|(tone, text)| text.chars().map(|c| (*tone, c)));
        let indent = chars().take_while(|(_, c)| *c == ' ').count().max(indent);
        let (mut out, mut used, mut space) = (Vec::new(), 0, None);
        for (tone, c) in chars() {
            out.push((tone, c));
            match c {
                '\n' => (used, space) = (0, None),
                _ => used += columns(c.encode_utf8(&mut [0; 4])),
            }
            if c == ' ' && used > indent {
                space = Some(out.len() - 1);
            }
            if used > width
                && let Some(at) = space.take()
            {
                let below = std::iter::once('\n').chain(std::iter::repeat_n(' ', indent));
                out.splice(at..=at, below.map(|c| (tone, c)));
                let line = out.get(at + 1..).unwrap_or_default();
                used = line.iter().map(|(_, c)| columns(c.encode_utf8(&mut [0; 4]))).sum();
            }
        }
        out.split(|(_, c)| *c == '\n').map(Self::of_chars).collect()
    }

    /// Returns the characters to print: escaped, and coloured if `colour` is set.
    pub fn render(&self, lines: LineMode, colour: bool) -> String {
        let mut out = String::new();
        for (tone, text) in &self.0 {
            let (style, text) = (tone.style(), visible(text, lines));
            match colour && !style.is_plain() {
                true => out.push_str(&format!("{style}{text}{style:#}")),
                false => out.push_str(&text),
            }
        }
        out
    }
}

impl From<&str> for StyledText {
    fn from(text: &str) -> Self {
        Self::new().plain(text)
    }
}

impl From<String> for StyledText {
    fn from(text: String) -> Self {
        Self::new().plain(text)
    }
}

/// Breaks a line between words into lines of at most `width` columns.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let more = columns(word);
        match lines.last_mut().filter(|_| used + 1 + more <= width) {
            Some(line) => {
                line.push(' ');
                line.push_str(word);
                used += 1 + more;
            }
            None => {
                lines.push(word.to_owned());
                used = more;
            }
        }
    }
    lines
}

/// Breaks text as [`wrapped`] does. The first line begins with `mark`, the others with as many spaces.
pub fn hanging(mark: &StyledText, tone: Tone, text: &str, width: usize) -> Vec<StyledText> {
    let indent = mark.width();
    let lines = wrapped(text, width.saturating_sub(indent)).into_iter().enumerate();
    let begin = |at| if at == 0 { mark.clone() } else { StyledText::new().padded(indent) };
    lines.map(|(at, line)| begin(at).put(tone, line)).collect()
}

/// Breaks lines of Markdown between words and indents list items. Lines that fit are not changed.
pub fn paragraphs(text: &str, width: usize) -> String {
    let broken = text.lines().map(|line| {
        let body = line.trim_start();
        if columns(line) <= width || body.is_empty() {
            return line.to_owned();
        }
        let indent = " ".repeat((line.len() - body.len()).min(width / 2));
        let (mark, rest) = match body.strip_prefix("- ") {
            Some(rest) => ("- ", rest),
            None => ("", body),
        };
        let below = format!("\n{indent}{}", " ".repeat(mark.len()));
        let room = width.saturating_sub(indent.len() + mark.len());
        format!("{indent}{mark}{}", wrapped(rest, room).join(&below))
    });
    broken.collect::<Vec<_>>().join("\n")
}

/// Returns the width of a line after escaping, in columns.
pub fn columns(text: &str) -> usize {
    visible(text, LineMode::One).width()
}

/// Returns as much of the escaped text as fits, and whether that is all of it.
fn cut(text: &str, room: usize) -> (String, bool) {
    let text = visible(text, LineMode::One);
    let (mut used, mut out) = (0, String::new());
    for c in text.chars() {
        used += c.to_string().width();
        if used > room {
            return (out, false);
        }
        out.push(c);
    }
    (out, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_is_added_around_escaped_text_only() {
        let text = StyledText::new().strong("\x1b[0m").plain("x");
        assert_eq!(text.render(LineMode::One, false), "␛[0mx");
        assert_eq!(text.render(LineMode::One, true), "\x1b[1m␛[0m\x1b[0mx");
    }

    #[test]
    fn styled_text_is_wrapped_at_words() {
        let check = |text: &str, indent, expect: &str| {
            let lines = StyledText::new().strong("> ").plain(text).wrapped(10, indent);
            let lines: Vec<_> =
                lines.iter().map(|line| line.render(LineMode::One, false)).collect();
            assert_eq!(lines.join("\n"), expect);
        };
        check("one two three", 2, "> one two\n  three");
        check("one two three", 0, "> one two\nthree");
        check("one two\nthree four five", 0, "> one two\nthree four\nfive");
        check("endless-words stay", 2, "> endless-words\n  stay");
        check("exactly8", 0, "> exactly8");
        let own = StyledText::from("  one two three").wrapped(10, 0);
        assert_eq!(own[1].render(LineMode::One, false), "  three");
    }

    #[test]
    fn wrapping_breaks_between_words() {
        assert_eq!(wrapped("one two  three", 7), ["one two", "three"]);
        assert_eq!(wrapped("endless-word is cut later", 5), ["endless-word", "is", "cut", "later"]);
        assert!(wrapped("  ", 5).is_empty());
    }

    #[test]
    fn later_lines_of_an_item_are_indented() {
        let check = |text: &str, expect: &str| assert_eq!(paragraphs(text, 12), expect);
        check("# A\n\n- one two three", "# A\n\n- one two\n  three");
        check("  - one two three", "  - one two\n    three");
        check("plain words go here", "plain words\ngo here");
        check("x  y", "x  y");
    }

    #[test]
    fn fitting_counts_columns_not_characters() {
        let fitted =
            |text: &str, width| StyledText::from(text).fitted(width).render(LineMode::One, false);
        assert_eq!(fitted("abcdef", 6), "abcdef");
        assert_eq!(fitted("abcdef", 5), "abcd…");
        assert_eq!(fitted("中文中文", 6), "中文…");
        assert_eq!(fitted("\u{202e}abc", 6), "\\u{20…");
    }
}
