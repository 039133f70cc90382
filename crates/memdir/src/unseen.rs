//! Characters that a person doesn't see and a model reads: the way in which a harmless line says
//! something else.
//!
//! Honest writing has some of them, so what an honest use needs is let through: joiners within words of
//! scripts that join and within emoji, one variation selector behind a character, flags of regions,
//! directions that are closed again on their line.

use std::borrow::Cow;
use std::fmt;

/// What a character does that it should not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// Shows other words, or another order of words, than there are.
    Direction,
    /// Letters that no screen shows.
    Tag,
    /// Nothing to see, between letters that then are no word.
    Invisible,
    /// Steers a terminal.
    Control,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Direction => "changes the direction of text",
            Reason::Tag => "is an invisible letter",
            Reason::Invisible => "is invisible",
            Reason::Control => "is a control character",
        })
    }
}

/// One such character and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unseen {
    /// In bytes.
    pub at: usize,
    /// From 1.
    pub line: usize,
    pub c: char,
    pub reason: Reason,
}

impl fmt::Display for Unseen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "U+{:04X} in line {} {}", self.c as u32, self.line, self.reason)
    }
}

/// All of them, in order. The mark of an encoding at the beginning of a file is none.
pub fn find(text: &str) -> Vec<Unseen> {
    if !text.chars().any(suspect) {
        return Vec::new();
    }
    let mut out = Vec::new();
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let found = in_line(line, at == 0);
        out.extend(found.into_iter().map(|(offset, c, reason)| Unseen {
            at: at + offset,
            line: number + 1,
            c,
            reason,
        }));
        at += line.len();
    }
    out
}

/// The text as a model gets it: without them.
pub fn strip(text: &str) -> Cow<'_, str> {
    let found = find(text);
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for unseen in found {
        out.push_str(&text[from..unseen.at]);
        from = unseen.at + unseen.c.len_utf8();
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

/// Whether a character is one of them wherever it stands, honest uses included.
pub fn suspect(c: char) -> bool {
    reason(c).is_some() || is_selector(c)
}

fn in_line(line: &str, first: bool) -> Vec<(usize, char, Reason)> {
    let chars: Vec<(usize, char)> = line.char_indices().collect();
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(&(offset, c)) = chars.get(at) {
        if let Some(length) = flag(&chars[at..]) {
            at += length;
            continue;
        }
        let before = at.checked_sub(1).map(|at| chars[at].1);
        let after = chars.get(at + 1).map(|(_, c)| *c);
        let mark = first && at == 0 && c == '\u{feff}';
        if !mark && !is_honest(before, c, after) {
            let reason = if is_selector(c) { Some(Reason::Invisible) } else { reason(c) };
            out.extend(reason.map(|reason| (offset, c, reason)));
        }
        at += 1;
    }
    // Beside an override nothing that changes directions is honest, its own end least of all.
    if directions_close(&chars) && !chars.iter().any(|(_, c)| is_override(*c)) {
        out.retain(|(_, _, reason)| *reason != Reason::Direction);
    }
    out
}

fn reason(c: char) -> Option<Reason> {
    Some(match c {
        '\n' | '\t' | '\r' => return None,
        '\0'..='\x1f' | '\x7f'..='\u{9f}' => Reason::Control,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Reason::Direction,
        '\u{e0000}'..='\u{e007f}' => Reason::Tag,
        '\u{ad}'
        | '\u{34f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200d}'
        | '\u{2028}'
        | '\u{2029}'
        | '\u{2060}'..='\u{2065}'
        | '\u{206a}'..='\u{206f}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1d173}'..='\u{1d17a}' => Reason::Invisible,
        _ => return None,
    })
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

fn is_override(c: char) -> bool {
    matches!(c, '\u{202d}' | '\u{202e}')
}

fn is_honest(before: Option<char>, c: char, after: Option<char>) -> bool {
    let writing = |c: Option<char>| c.is_some_and(|c| !c.is_ascii() && reason(c).is_none());
    match c {
        '\u{200c}' | '\u{200d}' => writing(before) && writing(after),
        _ if is_selector(c) => {
            before.is_some_and(|before| !is_selector(before) && !before.is_whitespace())
        }
        _ => false,
    }
}

/// The flag of a region: a black flag, two to six letters or digits as tags, and the end of tags.
fn flag(chars: &[(usize, char)]) -> Option<usize> {
    let [(_, '\u{1f3f4}'), rest @ ..] = chars else { return None };
    let letter = |c: char| matches!(c, '\u{e0030}'..='\u{e0039}' | '\u{e0061}'..='\u{e007a}');
    let letters = rest.iter().take_while(|(_, c)| letter(*c)).count();
    let ends = rest.get(letters).is_some_and(|(_, c)| *c == '\u{e007f}');
    ((2..=6).contains(&letters) && ends).then_some(letters + 2)
}

/// Whether every embedding and isolate of a line is closed on it, in order.
fn directions_close(chars: &[(usize, char)]) -> bool {
    let mut open = Vec::new();
    for (_, c) in chars {
        let closes = match c {
            '\u{202a}'..='\u{202b}' | '\u{202d}'..='\u{202e}' => {
                open.push('\u{202c}');
                true
            }
            '\u{2066}'..='\u{2068}' => {
                open.push('\u{2069}');
                true
            }
            '\u{202c}' | '\u{2069}' => open.pop() == Some(*c),
            _ => true,
        };
        if !closes {
            return false;
        }
    }
    open.is_empty()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reasons(text: &str) -> Vec<Reason> {
        find(text).into_iter().map(|unseen| unseen.reason).collect()
    }

    #[test]
    fn what_hides_is_found() {
        let check = |text: &str, expect: &[Reason]| assert_eq!(reasons(text), expect, "{text:?}");
        check("user\u{202e}txt.exe", &[Reason::Direction]);
        check("\u{202e}abc\u{202c}", &[Reason::Direction, Reason::Direction]);
        check("a \u{2067}b", &[Reason::Direction]);
        check("a \u{2067}b\u{202c}", &[Reason::Direction, Reason::Direction]);
        check("say\u{e0068}\u{e0069}", &[Reason::Tag, Reason::Tag]);
        check("\u{1f3f4}\u{e0068}\u{e007f}", &[Reason::Tag, Reason::Tag]);
        check("pass\u{200b}word", &[Reason::Invisible]);
        check("pass\u{200d}word", &[Reason::Invisible]);
        check("a\u{feff}b", &[Reason::Invisible]);
        check("a\u{fe00}\u{fe01}\u{fe02}", &[Reason::Invisible, Reason::Invisible]);
        check("\u{e0101}a", &[Reason::Invisible]);
        check("\x1b[2J\u{9b}\x7f", &[Reason::Control, Reason::Control, Reason::Control]);
        let second = find("a\n\u{200b}")[0];
        assert_eq!(second.to_string(), "U+200B in line 2 is invisible");
    }

    #[test]
    fn honest_writing_passes() {
        for text in [
            "plain\r\n\ttext, é, 中文, ✓",
            "می\u{200c}خواهم", // Persian
            "क्\u{200d}ष",      // Hindi
            "👩\u{200d}👩\u{200d}👧 ❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3}", // families, keycaps
            "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}", // Scotland
            "שלום \u{2067}abc\u{2069} \u{200f}ו", // isolates that close, marks
            "\u{feff}the mark of an encoding",
            "葛\u{e0100}",
        ] {
            assert_eq!(find(text), [], "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_stripped_is_clean(text in "([a-z\n]|[\u{200b}-\u{200f}]|[\u{202a}-\u{202e}]|[\u{2060}-\u{2069}]|[\u{e0020}-\u{e007f}]|[\u{fe00}-\u{fe0f}]|[👩🏴é]){0,30}") {
            let mut once = strip(&text).into_owned();
            // A joiner may have had only a hidden neighbour.
            while !find(&once).is_empty() {
                let next = strip(&once).into_owned();
                prop_assert!(next.len() < once.len());
                once = next;
            }
            let visible = |text: &str| text.chars().filter(|c| !suspect(*c)).collect::<String>();
            prop_assert_eq!(visible(&once), visible(&text));
        }
    }
}
