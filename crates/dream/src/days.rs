//! Days in words, told as dates: "yesterday" is true for a day, and stands in a memory for years.
//!
//! The words stay, and the date follows them in brackets: a sentence that was misread loses nothing. Where
//! the words fit two days, the day on which they were said follows instead.

use jiff::civil::{Date, Weekday};

use crate::words::{Word, is_code, words};

/// `text` with dates after its days in words, as of the day on which it was said; `None`: there is nothing to
/// tell.
pub(crate) fn dated(text: &str, said: Date) -> Option<String> {
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

/// Lines outside code blocks, as ranges.
fn lines(text: &str) -> Vec<std::ops::Range<usize>> {
    let (mut ranges, mut at, mut code) = (Vec::new(), 0, false);
    for line in text.split_inclusive('\n') {
        let fence = line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
        code ^= fence;
        if !code && !fence {
            ranges.push(at..at + line.len());
        }
        at += line.len();
    }
    ranges
}

/// A rule speaks of every day: "always check yesterday's log" names none.
const HABIT: [&str; 18] = [
    "always", "never", "every", "each", "usually", "often", "daily", "weekly", "monthly",
    "whenever", "when", "if", "default", "defaults", "jeden", "immer", "siempre", "toujours",
];

/// Where a date belongs, and which.
fn in_line(text: &str, line: &std::ops::Range<usize>, said: Date) -> Vec<(usize, String)> {
    let words: Vec<Word> = words(text, line.clone());
    if words.iter().any(|word| HABIT.contains(&word.lower.as_str()))
        || text[line.clone()].contains('?')
    {
        return Vec::new();
    }
    let (mut found, mut at) = (Vec::new(), 0);
    while at < words.len() {
        let Some((count, date)) = phrase(&lowers(text, &words[at..]), said) else {
            at += 1;
            continue;
        };
        let (first, last) = (&words[at], &words[at + count - 1]);
        at += count;
        let end = possessive(text, last.range.end);
        if stands_free(text, first.range.start, end, line) {
            found.push((end, date));
        }
    }
    found
}

/// The next words up to one that something else than a space parts from the one before.
fn lowers<'a>(text: &str, words: &'a [Word]) -> Vec<&'a str> {
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

/// Neither part of a name or a path, nor quoted as a word, nor followed by what explains it already.
fn stands_free(text: &str, start: usize, end: usize, line: &std::ops::Range<usize>) -> bool {
    let before = text[line.start..start].chars().next_back().unwrap_or(' ');
    let rest = &text[end..line.end];
    let after = rest.chars().next().unwrap_or(' ');
    let joined = |c: char| matches!(c, '_' | '-' | '/' | '@' | '#' | '$' | '\\' | '=');
    let dotted = after == '.' && rest.chars().nth(1).is_some_and(char::is_alphanumeric);
    let quote = |c: char| matches!(c, '"' | '\'' | '“' | '”' | '„' | '«' | '»' | '’' | '‘');
    let told = rest.trim_start_matches([' ', ',', ':']);
    let dated = told.starts_with('(') || starts_with_year(told);
    let inside_code = is_code(&text[line.clone()], start - line.start);
    let part_of_a_name = joined(before) || before == '.' || joined(after) || dotted;
    let a_word = quote(before) && quote(after);
    !part_of_a_name && !a_word && !dated && !inside_code
}

fn starts_with_year(text: &str) -> bool {
    text.len() >= 5
        && text.bytes().take(4).all(|byte| byte.is_ascii_digit())
        && text.as_bytes()[4] == b'-'
}

/// How many words name a day, and what day it is.
fn phrase(words: &[&str], said: Date) -> Option<(usize, String)> {
    let day = |days: i64| shifted(said, days).map(|date| date.to_string());
    let found = match words {
        ["day", "before", "yesterday", ..] => (3, day(-2)?),
        ["day", "after", "tomorrow", ..] => (3, day(2)?),
        ["the", ..] => return None,
        ["yesterday" | "gestern" | "ayer", ..] => (1, day(-1)?),
        ["today" | "tonight" | "heute" | "hoy", ..] => (1, day(0)?),
        ["tomorrow" | "demain", ..] => (1, day(1)?),
        ["last", "night", ..] => (2, day(-1)?),
        ["this", "morning" | "afternoon" | "evening", ..] => (2, day(0)?),
        ["last", unit, ..] => (2, relative(unit, -1, said)?),
        ["this", unit, ..] => (2, relative(unit, 0, said)?),
        ["next", unit, ..] => (2, relative(unit, 1, said)?),
        ["by" | "until" | "till" | "before", name, ..] => {
            (2, first_after(said, weekday(name)?)?.to_string())
        }
        [count, unit, "ago", ..] => (3, ago(number(count)?, unit, said)?),
        _ => return None,
    };
    Some(found)
}

/// `last week`, `next Friday`: a week, a month, a year or a day of the week, so many away.
fn relative(unit: &str, away: i64, said: Date) -> Option<String> {
    match unit {
        "week" => shifted(monday(said)?, 7 * away).map(|date| format!("the week of {date}")),
        "month" => months(said, away),
        "year" => Some((i64::from(said.year()) + away).to_string()),
        name => Some(near(weekday(name)?, away, said)?),
    }
}

/// People differ on what "next Friday" is, unless both ways of counting come to the same day.
fn near(name: Weekday, away: i64, said: Date) -> Option<String> {
    let of_week = shifted(monday(said)?, 7 * away + i64::from(name.to_monday_zero_offset()))?;
    let by_distance = match away {
        0 if of_week >= said => of_week,
        0 => said,
        1 => first_after(said, name)?,
        _ => last_before(said, name)?,
    };
    if of_week == by_distance {
        return Some(of_week.to_string());
    }
    Some(format!("said on {said}"))
}

fn ago(count: i64, unit: &str, said: Date) -> Option<String> {
    match unit.strip_suffix('s').unwrap_or(unit) {
        "day" => shifted(said, -count).map(|date| date.to_string()),
        "week" => shifted(said, -7 * count).map(|date| format!("about {date}")),
        "month" => months(said, -count).map(|month| format!("about {month}")),
        "year" => Some(format!("about {}", i64::from(said.year()) - count)),
        _ => None,
    }
}

/// `2026-05`.
fn months(said: Date, away: i64) -> Option<String> {
    let months = i64::from(said.year()) * 12 + i64::from(said.month()) - 1 + away;
    (months > 0).then(|| format!("{:04}-{:02}", months.div_euclid(12), months.rem_euclid(12) + 1))
}

fn number(word: &str) -> Option<i64> {
    const WORDS: [&str; 10] =
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    if matches!(word, "a" | "an") {
        return Some(1);
    }
    let spelled = WORDS.iter().position(|known| *known == word);
    let spelled = spelled.and_then(|at| i64::try_from(at + 1).ok());
    spelled.or_else(|| word.parse().ok()).filter(|count| (1..=1_000).contains(count))
}

fn weekday(word: &str) -> Option<Weekday> {
    Some(match word {
        "monday" => Weekday::Monday,
        "tuesday" => Weekday::Tuesday,
        "wednesday" => Weekday::Wednesday,
        "thursday" => Weekday::Thursday,
        "friday" => Weekday::Friday,
        "saturday" => Weekday::Saturday,
        "sunday" => Weekday::Sunday,
        _ => return None,
    })
}

fn monday(date: Date) -> Option<Date> {
    shifted(date, -i64::from(date.weekday().to_monday_zero_offset()))
}

fn first_after(date: Date, day: Weekday) -> Option<Date> {
    let ahead = i64::from(day.to_monday_zero_offset() - date.weekday().to_monday_zero_offset());
    shifted(date, if ahead > 0 { ahead } else { ahead + 7 })
}

fn last_before(date: Date, day: Weekday) -> Option<Date> {
    let back = i64::from(date.weekday().to_monday_zero_offset() - day.to_monday_zero_offset());
    shifted(date, -(if back > 0 { back } else { back + 7 }))
}

fn shifted(date: Date, days: i64) -> Option<Date> {
    date.checked_add(jiff::Span::new().try_days(days).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Wednesday.
    fn check(text: &str, expect: &str) {
        let said = jiff::civil::date(2026, 6, 3);
        let once = dated(text, said);
        assert_eq!(once.as_deref().unwrap_or(text), expect);
        assert_eq!(dated(expect, said), None, "told once");
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
