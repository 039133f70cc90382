//! Adds dates to relative days: "yesterday" is only right for a day, but a memory is kept for years.
//!
//! The date is added in brackets, so nothing is lost if a sentence is misread. If the words could mean two days, the
//! day on which they were said is added instead.

use std::sync::LazyLock;

use bethink_days::{on_weekday, relative_date};
use bethink_memdir::header::HeaderChange;
use bethink_statement::{StatementWord, words};
use jiff::civil::Date;

use super::timeline::{timeline, whole_day};
use crate::bench::{DreamBench, TopicState, with_header};
use crate::text::{WordList, is_code, word_set};

pub(super) fn add_dates(bench: &mut DreamBench) {
    for name in bench.names() {
        let Some(text) = bench.pages().get(&name).and_then(with_dates) else { continue };
        let why = "such words are correct only on the day they were written";
        bench.write(&name, text, "added dates after words such as \"yesterday\"", why);
    }
}

fn with_dates(page: &TopicState) -> Option<String> {
    if !page.is_own() {
        return None;
    }
    let (old, mut body, mut read) = (page.body(), String::new(), 0);
    for (range, said) in timeline(page) {
        if let Some(new) = dated(&old[range.clone()], said) {
            body.push_str(&old[read..range.start]);
            body.push_str(&new);
            read = range.end;
        }
    }
    body.push_str(&old[read..]);
    let text = page.with_body(&body);
    // The description counts as said on the day of the newest statement.
    let description = whole_day(page).zip(page.header.description.as_deref());
    let text = match description.and_then(|(said, words)| dated(words, said)) {
        Some(words) => with_header(text, HeaderChange::Description(&words)),
        None => text,
    };
    (text != page.text).then_some(text)
}

/// Adds dates after relative days to text that was said on the day `said`. Returns `None` if there are none.
fn dated(text: &str, said: Date) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 32);
    let mut kept = 0;
    for line in lines(text) {
        for (at, date) in in_line(text, &line, said) {
            out.push_str(&text[kept..at]);
            out.push_str(&format!(" ({date})"));
            kept = at;
        }
    }
    if kept == 0 {
        return None;
    }
    out.push_str(&text[kept..]);
    Some(out)
}

/// Returns the ranges of the lines outside code blocks and quotations. Quotations are left out, because their words must stay
/// as they were said.
fn lines(text: &str) -> Vec<std::ops::Range<usize>> {
    let (mut ranges, mut at, mut code) = (Vec::new(), 0, false);
    for line in text.split_inclusive('\n') {
        let fence = line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
        code ^= fence;
        if !code && !fence && !line.trim_start().starts_with('>') {
            ranges.push(at..at + line.len());
        }
        at += line.len();
    }
    ranges
}

/// Words that occur in rules. Rules mean no particular day: "always check yesterday's log".
static HABIT: WordList = LazyLock::new(|| {
    word_set(
        "always never every each usually often daily weekly monthly whenever when if default defaults jeden \
    immer siempre toujours",
    )
});

/// Returns the positions of missing dates, and the dates.
fn in_line(text: &str, line: &std::ops::Range<usize>, said: Date) -> Vec<(usize, String)> {
    let words: Vec<StatementWord> = words(text, line.clone());
    if words.iter().any(|word| HABIT.contains(word.lower.as_str()))
        || text[line.clone()].contains('?')
    {
        return Vec::new();
    }
    let (mut found, mut at) = (Vec::new(), 0);
    let (mut read, mut in_code) = (line.start, false);
    while at < words.len() {
        let next = lowers(text, &words[at..]);
        let named = relative_date(&next, said).or_else(|| {
            let ["on", name, ..] = &next[..] else { return None };
            let before = &words[at.saturating_sub(SENTENCE_WORDS)..at];
            Some((2, on_weekday(name, tense(text, line, before)?, said)?))
        });
        let Some((count, date)) = named else {
            at += 1;
            continue;
        };
        let (first, last) = (&words[at], &words[at + count - 1]);
        at += count;
        let end = possessive(text, last.range.end);
        in_code ^= is_code(&text[read..], first.range.start - read);
        read = first.range.start;
        if !in_code && stands_free(text, first.range.start, end, line) {
            found.push((end, date));
        }
    }
    found
}

/// Maximum number of words before a weekday that are searched for a tense.
const SENTENCE_WORDS: usize = 40;
/// Words that indicate the future.
const COMING: &str =
    "is are be 's ’s will 'll ’ll shall going due scheduled planned moved postponed expected";
/// Words that indicate the past.
const PAST: &str = "was were did had";

/// Returns whether the words before a weekday are about the past (`Some(true)`) or the future (`Some(false)`). Returns
/// `None` if neither is certain, as in "we deploy on Friday", which may be a habit.
fn tense(text: &str, line: &std::ops::Range<usize>, before: &[StatementWord]) -> Option<bool> {
    let ends = |pair: &[StatementWord]| {
        text[pair[0].range.end..pair[1].range.start].contains(['.', '!', ';'])
    };
    let start = before.windows(2).rposition(ends).map_or(0, |at| at + 1);
    let is = |word: &StatementWord, list: &str| {
        let rest = &text[word.range.end..line.end];
        list.split(' ').any(|known| match known.strip_prefix(['\'', '’']) {
            Some(_) => rest.starts_with(known),
            None => known == word.lower,
        })
    };
    before[start..].iter().rev().find_map(|word| match () {
        () if is(word, PAST) => Some(true),
        () if is(word, COMING) => Some(false),
        () => None,
    })
}

/// Returns the next words, in lower case, as long as only spaces separate them.
fn lowers<'a>(text: &str, words: &'a [StatementWord]) -> Vec<&'a str> {
    let mut out = Vec::with_capacity(4);
    for (at, word) in words.iter().take(4).enumerate() {
        let parted =
            at > 0 && !text[words[at - 1].range.end..word.range.start].trim_matches(' ').is_empty();
        if parted {
            break;
        }
        out.push(word.lower.as_str());
    }
    out
}

fn possessive(text: &str, end: usize) -> usize {
    let rest = &text[end..];
    ["'s", "’s"].iter().find(|s| rest.starts_with(**s)).map_or(end, |s| end + s.len())
}

/// Returns whether the words are not part of a name or path, not in quotation marks, and not followed by a date.
fn stands_free(text: &str, start: usize, end: usize, line: &std::ops::Range<usize>) -> bool {
    let before = text[line.start..start].chars().next_back().unwrap_or(' ');
    let rest = &text[end..line.end];
    let after = rest.chars().next().unwrap_or(' ');
    let joined = |c: char| matches!(c, '_' | '-' | '/' | '@' | '#' | '$' | '\\' | '=');
    let dotted = after == '.' && rest.chars().nth(1).is_some_and(char::is_alphanumeric);
    let quote = |c: char| matches!(c, '"' | '\'' | '“' | '”' | '„' | '«' | '»' | '’' | '‘');
    let rest = rest.trim_start_matches([' ', ',', ':']);
    let dated = rest.starts_with('(') || starts_with_year(rest);
    let part_of_a_name = joined(before) || before == '.' || joined(after) || dotted;
    let a_word = quote(before) && quote(after);
    !part_of_a_name && !a_word && !dated
}

fn starts_with_year(text: &str) -> bool {
    text.len() >= 5
        && text.bytes().take(4).all(|byte| byte.is_ascii_digit())
        && text.as_bytes()[4] == b'-'
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks text that was said on a Wednesday.
    fn check(text: &str, expect: &str) {
        let said = jiff::civil::date(2026, 6, 3);
        let once = dated(text, said);
        assert_eq!(once.as_deref().unwrap_or(text), expect);
        assert_eq!(dated(expect, said), None, "the date is added once");
    }

    #[test]
    fn days_in_words_get_their_date() {
        check("We froze main yesterday.", "We froze main yesterday (2026-06-02).");
        check("Today's build is broken", "Today's (2026-06-03) build is broken");
        check("since the day before yesterday", "since the day before yesterday (2026-06-01)");
        check("The demo is tomorrow, at ten", "The demo is tomorrow (2026-06-04), at ten");
        check(
            "Failed last night and this morning",
            "Failed last night (2026-06-02) and this morning (2026-06-03)",
        );
        check("last week we moved", "last week (the week of 2026-05-25) we moved");
        check("next month, or next year", "next month (2026-07), or next year (2027)");
        check("It broke 3 days ago", "It broke 3 days ago (2026-05-31)");
        check("two weeks ago it worked", "two weeks ago (about 2026-05-20) it worked");
        check("about a year ago", "about a year ago (about 2025)");
        check("Freeze until Friday!", "Freeze until Friday (2026-06-05)!");
        check("Seit gestern rot", "Seit gestern (2026-06-02) rot");
        check("We ship next week on Tuesday.", "We ship next week on Tuesday (2026-06-09).");
        check("We met on Monday last week", "We met on Monday last week (2026-05-25)");
    }

    #[test]
    fn a_weekday_gets_its_date_where_the_sentence_has_a_tense() {
        check("The demo is on Friday.", "The demo is on Friday (2026-06-05).");
        check("We will freeze main on Monday", "We will freeze main on Monday (2026-06-08)");
        check("It's due on Friday!", "It's due on Friday (2026-06-05)!");
        check("The outage was on Monday.", "The outage was on Monday (2026-06-01).");
        check("The review is on Wednesday", "The review is on Wednesday (said on 2026-06-03)");
        check("We deploy on Friday", "We deploy on Friday");
        check("The build is red. We deploy on Friday", "The build is red. We deploy on Friday");
        check("The sync is every week on Monday", "The sync is every week on Monday");
    }

    #[test]
    fn a_quotation_keeps_its_words() {
        check(
            "> We ship tomorrow.\n\nSo be ready by Friday.\n",
            "> We ship tomorrow.\n\nSo be ready by Friday (2026-06-05).\n",
        );
        check("  > next week on Tuesday", "  > next week on Tuesday");
    }

    #[test]
    fn what_fits_two_days_is_told_with_the_day_it_was_said() {
        check("due next Friday", "due next Friday (said on 2026-06-03)");
        check("due next Tuesday", "due next Tuesday (2026-06-09)");
        check("since last Friday", "since last Friday (2026-05-29)");
        check("since last Monday", "since last Monday (said on 2026-06-03)");
        check("this Friday", "this Friday (2026-06-05)");
        check("this Monday", "this Monday (said on 2026-06-03)");
    }

    #[test]
    fn what_names_no_day_stays() {
        for text in [
            "Always read yesterday's log first",
            "the flag `yesterday` and `--since last week`",
            "sum_yesterday and src/today.rs, today_total, next-week",
            "say \"tomorrow\" rather than a date",
            "```\nyesterday\n```\n",
            "the next step, last resort, this way",
            "yesterday (2026-06-02) and last Friday, 2026-05-29",
            "was it yesterday?",
            "9999999 days ago",
            "",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn the_ends_of_time_are_no_panic() {
        for said in [Date::MIN, Date::MAX] {
            let _ = dated(
                "yesterday, tomorrow, last month, next year, 900 days ago, next Friday",
                said,
            );
        }
        assert_eq!(
            dated("last month", jiff::civil::date(2026, 1, 9)).unwrap_or_default(),
            "last month (2025-12)"
        );
    }
}
