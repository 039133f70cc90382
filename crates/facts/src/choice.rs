//! Options that the assistant offered, and the one that the user chose.

use std::borrow::Cow;
use std::ops::Range;

use crate::prose::plain;

/// An option of a list or table: `**B. Nested** | allows a future model |`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OfferedOption<'a> {
    /// A capital letter or a number.
    label: &'a str,
    line: &'a str,
    /// Position of the line in the text.
    range: Range<usize>,
}

/// Returns the option that a reply chooses, with its label and without formatting; `None` if it chooses none.
pub fn chosen(offer: &str, reply: &str) -> Option<String> {
    let options = options(offer);
    let option = choice(&options, reply)?;
    let text = plain(option.line);
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || "-*+•(#>".contains(c));
    Some(text.to_owned())
}

/// Removes the options that the reply did not choose from an offer.
pub fn without_others<'a>(offer: &'a str, reply: &str) -> Cow<'a, str> {
    let options = options(offer);
    let Some(chosen) = choice(&options, reply) else { return Cow::Borrowed(offer) };
    let mut text = String::with_capacity(offer.len());
    let mut at = 0;
    for option in options.iter().filter(|option| *option != chosen) {
        text.push_str(&offer[at..option.range.start]);
        at = option.range.end;
    }
    text.push_str(&offer[at..]);
    Cow::Owned(text)
}

/// Returns the option that a reply names by its label, or by its title: `keep it local!`.
fn choice<'a, 'b>(options: &'b [OfferedOption<'a>], reply: &str) -> Option<&'b OfferedOption<'a>> {
    const TITLE_BYTES: usize = 8;
    let by_label = label_of_reply(reply);
    if let Some(option) = options.iter().find(|option| Some(option.label) == by_label) {
        return Some(option);
    }
    let reply = reply.to_lowercase();
    let mut named = options.iter().filter(|option| {
        let title = title(option.line).to_lowercase();
        title.len() >= TITLE_BYTES && title.contains(' ') && reply.contains(&title)
    });
    named.next().filter(|_| named.next().is_none())
}

/// Returns the bold words at the beginning of a line, without a label: `Now` for `1. **Now** - cheap`.
fn title(line: &str) -> &str {
    let bold = line.split("**").nth(1).unwrap_or_default();
    let title = match split_label(bold) {
        Some((_, rest)) => rest.trim_start_matches(['.', ')', ':']),
        None => bold,
    };
    title.split(" (").next().unwrap_or_default().trim().trim_end_matches(':')
}

/// Returns the last list in the text that has at least two options with consecutive labels.
fn options(text: &str) -> Vec<OfferedOption<'_>> {
    let mut found: Vec<OfferedOption<'_>> = Vec::new();
    let mut complete = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let range = at..at + line.len();
        at = range.end;
        let Some(label) = label_of_option(line) else { continue };
        let follows =
            found.last().is_some_and(|before| next(before.label).as_deref() == Some(label));
        if !follows {
            found.clear();
        }
        if follows || label == "A" || label == "1" {
            found.push(OfferedOption { label, line: line.trim(), range });
        }
        if found.len() > 1 {
            complete.clone_from(&found);
        }
    }
    complete
}

fn next(label: &str) -> Option<String> {
    match label.parse::<u8>() {
        Ok(number) => Some((number + 1).to_string()),
        Err(_) => label.bytes().next().map(|letter| char::from(letter + 1).to_string()),
    }
}

/// Returns the label at the beginning of a line of a list or table: `B` for `- **Option B:** nested`.
fn label_of_option(line: &str) -> Option<&str> {
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || "|*-(#>".contains(c));
    let line =
        ["Option ", "Approach "].iter().find_map(|word| line.strip_prefix(word)).unwrap_or(line);
    let (label, rest) = split_label(line)?;
    rest.starts_with(['.', ')', ':', '*']).then_some(label)
}

/// Returns the label of the option that a reply picks, such as `B` in `I think B, nested`.
fn label_of_reply(reply: &str) -> Option<&str> {
    const OPENINGS: [&str; 14] = [
        "yes, ",
        "ok, ",
        "okay, ",
        "i think ",
        "i prefer ",
        "i'd go with ",
        "let's go with ",
        "let's do ",
        "let's use ",
        "go with ",
        "use ",
        "option ",
        "approach ",
        "(",
    ];
    let mut rest = reply.trim();
    while let Some(opening) = OPENINGS.iter().find(|opening| {
        rest.get(..opening.len()).is_some_and(|start| start.eq_ignore_ascii_case(opening))
    }) {
        rest = rest[opening.len()..].trim_start();
    }
    let (label, after) = split_label(rest)?;
    // A capital A or a number followed by another word may begin a sentence.
    let is_whole = after.is_empty() || after.starts_with(['.', ',', ')', ':', ';', '\n', '!']);
    (is_whole || [" is ", " - ", " please", " but "].iter().any(|word| after.starts_with(word)))
        .then_some(label)
}

/// Splits a text after a capital letter or a number of up to two digits.
fn split_label(text: &str) -> Option<(&str, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let length = if digits > 0 {
        digits
    } else {
        usize::from(text.starts_with(|c: char| c.is_ascii_uppercase()))
    };
    (1..=2).contains(&length).then(|| text.split_at(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "Two ways:\n\n| Option | What |\n|---|---|\n\
        | **A. At commit (Recommended)** | Only committed work. |\n| **B. At each save** | More calls. |\n\nWhich?";
    const LIST: &str = "1. **Here** - one agent\n2. **Apart** - a new session\n\nWhich approach?";

    #[track_caller]
    fn check(offer: &str, reply: &str, expect: Option<&str>) {
        assert_eq!(chosen(offer, reply).as_deref(), expect, "{reply}");
    }

    #[test]
    fn a_reply_chooses_an_option() {
        let commit = "A. At commit (Recommended): Only committed work.";
        check(TABLE, "A.", Some(commit));
        check(TABLE, "A. is fine, but log it", Some(commit));
        check(TABLE, "I think B, it leaves room", Some("B. At each save: More calls."));
        check(LIST, "2", Some("2. Apart - a new session"));
        check(LIST, "let's go with option 1, please", Some("1. Here - one agent"));
        check(
            "1. **Keep it local** (as now)\n2. **Move it**",
            "Fine - keep it local!",
            Some("1. Keep it local (as now)"),
        );
        check("- **Option A:** now\n- **Option B:** later", "B", Some("Option B: later"));
    }

    #[test]
    fn other_replies_choose_nothing() {
        check(TABLE, "A third way would be better", None);
        check(TABLE, "C", None);
        check(LIST, "2 files are wrong", None);
        check(LIST, "", None);
        check("1. only one", "1", None);
        check("No list. A. B.", "A", None);
    }

    #[test]
    fn options_that_were_not_chosen_are_left_out() {
        let text = without_others(TABLE, "A.");
        assert!(
            text.contains("At commit") && text.contains("Which?") && !text.contains("At each save")
        );
        assert_eq!(without_others(TABLE, "both"), TABLE);
    }

    #[test]
    fn the_last_list_counts() {
        check("1. old\n2. older\n\n1. new\n2. newer", "2", Some("2. newer"));
        check("1. a\n2. b\n\n7. c", "2", Some("2. b"));
    }
}
