//! Dates for words such as "yesterday" and "next Friday".

use jiff::civil::{Date, Weekday};

use crate::{number, singular, weekday};

/// Returns how many of the first words name a date, and that date; `None` if they do not name one.
pub fn relative_date(words: &[&str], said: Date) -> Option<(usize, String)> {
    let day = |days: i64| shifted(said, days).map(|date| date.to_string());
    Some(match words {
        ["day", "before", "yesterday", ..] => (3, day(-2)?),
        ["day", "after", "tomorrow", ..] => (3, day(2)?),
        ["the", ..] => return None,
        ["yesterday" | "gestern" | "ayer", ..] => (1, day(-1)?),
        ["today" | "tonight" | "heute" | "hoy", ..] => (1, day(0)?),
        ["tomorrow" | "demain", ..] => (1, day(1)?),
        ["last", "night", ..] => (2, day(-1)?),
        ["this", "morning" | "afternoon" | "evening", ..] => (2, day(0)?),
        [which, "week", "on", name, ..] | ["on", name, which, "week", ..]
            if away(which).is_some() && weekday(name).is_some() =>
        {
            (4, in_week(weekday(name)?, away(which)?, said)?.to_string())
        }
        [which, unit, ..] if away(which).is_some() => (2, relative(unit, away(which)?, said)?),
        ["by" | "until" | "till" | "before", name, ..] => {
            (2, said.nth_weekday(1, weekday(name)?).ok()?.to_string())
        }
        [count, unit, "ago", ..] => (3, ago(number(count)?, unit, said)?),
        _ => return None,
    })
}

/// Returns the date that "on Friday" means: the nearest Friday in the past or in the future, depending on the tense. If
/// it was said on a Friday, it could be today or a week away, so the result is the day on which it was said.
pub fn on_weekday(name: &str, is_past: bool, said: Date) -> Option<String> {
    let name = weekday(name)?;
    if name == said.weekday() {
        return Some(format!("said on {said}"));
    }
    said.nth_weekday(if is_past { -1 } else { 1 }, name).ok().map(|date| date.to_string())
}

/// Returns the number of weeks, months or years that a word such as "next" adds to the present.
fn away(word: &str) -> Option<i64> {
    match word {
        "last" => Some(-1),
        "this" => Some(0),
        "next" => Some(1),
        _ => None,
    }
}

fn in_week(name: Weekday, away: i64, said: Date) -> Option<Date> {
    shifted(monday(said)?, 7 * away + i64::from(name.to_monday_zero_offset()))
}

/// Returns the date of a phrase such as `last week` or `next Friday`: the week, month, year or weekday that is `away`
/// units from `said`.
fn relative(unit: &str, away: i64, said: Date) -> Option<String> {
    match unit {
        "week" => shifted(monday(said)?, 7 * away).map(|date| format!("the week of {date}")),
        "month" => months(said, away),
        "year" => Some((i64::from(said.year()) + away).to_string()),
        name => Some(near(weekday(name)?, away, said)?),
    }
}

/// Returns the date of a phrase such as "next Friday", which is ambiguous unless both ways of counting give the same
/// day.
fn near(name: Weekday, away: i64, said: Date) -> Option<String> {
    let of_week = in_week(name, away, said)?;
    let by_distance = match away {
        0 if of_week >= said => of_week,
        0 => said,
        away => said.nth_weekday(if away > 0 { 1 } else { -1 }, name).ok()?,
    };
    if of_week == by_distance {
        return Some(of_week.to_string());
    }
    Some(format!("said on {said}"))
}

fn ago(count: i64, word: &str, said: Date) -> Option<String> {
    if count == 0 {
        return None;
    }
    match singular(word) {
        "day" => shifted(said, -count).map(|date| date.to_string()),
        "week" => shifted(said, -7 * count).map(|date| format!("about {date}")),
        "month" => months(said, -count).map(|month| format!("about {month}")),
        "year" => Some(format!("about {}", i64::from(said.year()) - count)),
        _ => None,
    }
}

/// Returns the month that is `away` months from `said`, such as `2026-05`.
fn months(said: Date, away: i64) -> Option<String> {
    let months = i64::from(said.year()) * 12 + i64::from(said.month()) - 1 + away;
    (months > 0).then(|| format!("{:04}-{:02}", months.div_euclid(12), months.rem_euclid(12) + 1))
}

fn monday(date: Date) -> Option<Date> {
    shifted(date, -i64::from(date.weekday().to_monday_zero_offset()))
}

pub(crate) fn shifted(date: Date, days: i64) -> Option<Date> {
    date.checked_add(jiff::Span::new().try_days(days).ok()?).ok()
}
