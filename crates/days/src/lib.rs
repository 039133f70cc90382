//! Dates in English words, such as "last week" and "20 November 2026".
//!
//! A question about "last week" means a range of days ([`named_days`]); a memory that says "yesterday" needs the date next to
//! it ([`relative_date`]). The two functions share the vocabulary, but each has its own rules. Days are in UTC, because a
//! message does not record a time zone.

mod relative;

use std::ops::RangeInclusive;

use bethink_transcript::UnixMicros;
use jiff::ToSpan as _;
use jiff::civil::{Date, Weekday};

pub use relative::{on_weekday, relative_date};

const DAY_MICROS: i64 = 86_400_000_000;

/// Days since 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(pub i64);

pub fn day_of(at: UnixMicros) -> Day {
    Day(at.0.div_euclid(DAY_MICROS))
}

/// Number of days after an event during which people still talk about it.
pub const DAYS_AFTER: i64 = 7;

/// Words that refer to a time. `may` is left out, because it is usually the verb.
#[rustfmt::skip]
const TIME_WORDS: &[&str] = &[
    "ago", "april", "august", "autumn", "december", "evening", "february", "friday", "january",
    "july", "june", "last", "march", "monday", "month", "months", "morning", "next", "night",
    "november", "october", "recently", "saturday", "september", "spring", "summer", "sunday",
    "thursday", "today", "tomorrow", "tonight", "tuesday", "wednesday", "week", "weekend", "weeks",
    "winter", "year", "years", "yesterday",
];

pub fn is_time_word(word: &str) -> bool {
    TIME_WORDS.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// Returns the first day or range of days that a question names, relative to `today`: `yesterday`, `last week`,
/// `3 days ago`, `on Tuesday`, `2026-11-20`, `20 November 2026`, `November 2026`.
pub fn named_days(question: &str, today: Day) -> Option<RangeInclusive<Day>> {
    let lower = question.to_lowercase();
    let words = words_of(&lower);
    let named = |at: usize| written(&words[at..]).or_else(|| days_at(&words[at..], today));
    (0..words.len()).find_map(named)
}

/// Returns the day of a date or timestamp.
pub fn stamped_day(stamp: &str) -> Option<Day> {
    let lower = stamp.to_lowercase();
    let words = words_of(&lower);
    let written = (0..words.len()).find_map(|at| written(&words[at..]))?;
    (written.start() == written.end()).then_some(*written.start())
}

fn words_of(lower: &str) -> Vec<&str> {
    lower
        .split(|c: char| !c.is_alphanumeric() && c != '-')
        .filter(|word| !word.is_empty())
        .collect()
}

/// Parses `20 november 2026`, `november 20th 2026`, `november 2026`, `2026-11-20` or `2026-11-20t10:00:00`.
fn written(words: &[&str]) -> Option<RangeInclusive<Day>> {
    let one = |year, month, day| civil_day(year, month, day).map(|day| day..=day);
    match *words {
        [day, name, of, ..] | [name, day, of, ..]
            if month(name).is_some() && day_of_month(day).is_some() =>
        {
            one(year(of)?, month(name)?, day_of_month(day)?)
        }
        [name, of, ..] if month(name).is_some() => {
            let (year, month) = (year(of)?, month(name)?);
            let last = Date::new(year, month, 1).ok()?.last_of_month().day();
            Some(civil_day(year, month, 1)?..=civil_day(year, month, last)?)
        }
        [date, ..] => iso_day(date.split('t').next()?).map(|day| day..=day),
        [] => None,
    }
}

/// Parses the name of a month, or its first three letters.
fn month(word: &str) -> Option<i8> {
    #[rustfmt::skip]
    const MONTHS: [&str; 12] = [
        "january", "february", "march", "april", "may", "june", "july", "august", "september",
        "october", "november", "december",
    ];
    let is = |month: &&str| word == *month || (word.len() == 3 && month.starts_with(word));
    (1..).zip(&MONTHS).find(|(_, month)| is(month)).map(|(number, _)| number)
}

fn day_of_month(word: &str) -> Option<i8> {
    let digits = ["st", "nd", "rd", "th"].iter().find_map(|end| word.strip_suffix(end));
    digits.unwrap_or(word).parse().ok().filter(|day| (1..=31).contains(day))
}

fn year(word: &str) -> Option<i16> {
    word.parse().ok().filter(|year| word.len() == 4 && (1900..2200).contains(year))
}

fn days_at(words: &[&str], today: Day) -> Option<RangeInclusive<Day>> {
    let back = |from: i64, to: i64| Day(today.0 - from)..=Day(today.0 - to);
    match words {
        ["today" | "tonight", ..] => Some(back(0, 0)),
        ["yesterday", ..] => Some(back(1, 1)),
        ["this", "week", ..] => Some(back(6, 0)),
        ["last" | "past", unit, ..] if unit_days(unit).is_some() => {
            unit_days(unit).map(|days| back(2 * days - 1, 1))
        }
        ["last" | "on", day, ..] => last_before(weekday(day)?, today).map(|day| day..=day),
        [count, unit, "ago", ..] => {
            let (count, days) = (number(count)?, unit_days(unit)?);
            Some(back(count * days + days / 2, count * days - days / 2))
        }
        _ => None,
    }
}

fn unit_days(word: &str) -> Option<i64> {
    Some(match singular(word) {
        "day" => 1,
        "week" => 7,
        "month" => 31,
        "year" => 365,
        _ => return None,
    })
}

fn singular(word: &str) -> &str {
    word.strip_suffix('s').unwrap_or(word)
}

fn number(word: &str) -> Option<i64> {
    const WORDS: [&str; 11] =
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    if matches!(word, "a" | "an") {
        return Some(1);
    }
    let spelled = WORDS.iter().position(|known| *known == word).and_then(|n| i64::try_from(n).ok());
    spelled.or_else(|| word.parse().ok()).filter(|n| (0..=1_000).contains(n))
}

fn weekday(word: &str) -> Option<Weekday> {
    const NAMES: [&str; 7] =
        ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let offset = NAMES.iter().position(|name| *name == word)?;
    Weekday::from_monday_zero_offset(i8::try_from(offset).ok()?).ok()
}

fn last_before(wanted: Weekday, today: Day) -> Option<Day> {
    relative::shifted(EPOCH, today.0)?.nth_weekday(-1, wanted).ok().map(number_of)
}

/// Parses `2026-11-20`.
fn iso_day(word: &str) -> Option<Day> {
    let mut parts = word.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || year.len() != 4 {
        return None;
    }
    civil_day(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?)
}

const EPOCH: Date = jiff::civil::date(1970, 1, 1);

/// Accepts a day after the end of a month: `31 June` is 1 July.
fn civil_day(year: i16, month: i8, day: i8) -> Option<Day> {
    if !(1..=31).contains(&day) {
        return None;
    }
    Date::new(year, month, 1).ok()?.checked_add((day - 1).days()).ok().map(number_of)
}

fn number_of(date: Date) -> Day {
    Day(date.duration_since(EPOCH).as_hours() / 24)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-20, a Friday.
    const TODAY: Day = Day(20_777);

    fn check(question: &str, expect: Option<(i64, i64)>) {
        let days =
            named_days(question, TODAY).map(|d| (d.start().0 - TODAY.0, d.end().0 - TODAY.0));
        assert_eq!(days, expect, "{question}");
    }

    #[test]
    fn days_are_named_by_words_and_dates() {
        check("what failed yesterday?", Some((-1, -1)));
        check("the parser, last week", Some((-13, -1)));
        check("what I said 3 days ago", Some((-3, -3)));
        check("two weeks ago", Some((-17, -11)));
        check("the build on Tuesday", Some((-3, -3)));
        check("last Friday", Some((-7, -7)));
        check("the log of 2026-11-19", Some((-1, -1)));
        check("what was said on 19 November, 2026?", Some((-1, -1)));
        check("on November 18th, 2026", Some((-2, -2)));
        check("who may 2 help", None);
        check("the plans of Nov 2026", Some((-19, 10)));
        check("in December 2025", Some((-354, -324)));
        check("31 31 2026", None);
        check("on call", None);
        check("last resort", None);
        check("2026-13-40 and 1-2-3", None);
        check("99999999999999999999 days ago", None);
        check("", None);
    }

    #[test]
    fn a_day_is_the_one_of_its_time() {
        assert_eq!(stamped_day("1970-01-01"), Some(Day(0)));
        assert_eq!(stamped_day("2026-11-20"), Some(TODAY));
        assert_eq!(day_of(UnixMicros(-1)), Day(-1));
        assert_eq!(day_of(UnixMicros(TODAY.0 * DAY_MICROS)), TODAY);
    }

    #[test]
    fn a_stamp_names_its_day() {
        let day = Some(Day(TODAY.0));
        assert_eq!(stamped_day("1:56 pm on 20 November, 2026"), day);
        assert_eq!(stamped_day("2026-11-20T10:00:00Z"), day);
        assert_eq!(stamped_day("2026-11-20 10:00"), day);
        assert_eq!(stamped_day("November 2026"), None);
        assert_eq!(stamped_day("12:34:56"), None);
    }

    #[test]
    fn time_words_are_sorted_and_known() {
        assert!(TIME_WORDS.is_sorted());
        assert!(TIME_WORDS.iter().all(|word| word.len() <= 9 && is_time_word(word)));
        assert!(is_time_word("Yesterday") && !is_time_word("may") && !is_time_word("Ü"));
    }
}
