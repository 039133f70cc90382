//! Numbers and times as text.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Formats a number as `12,345`.
pub fn count(n: u64) -> String {
    match n {
        0..1_000 => n.to_string(),
        _ => format!("{},{:03}", count(n / 1_000), n % 1_000),
    }
}

/// Formats a count as `1 message` or `2 messages`.
pub fn plural(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// Formats a share as a percentage with one decimal; 0 if the whole is 0.
pub fn percent(part: u64, whole: u64) -> String {
    let share = if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 };
    format!("{share:.1}%")
}

/// Formats a token count for a narrow column: `9,999`, `12k`, `3.4M`.
pub fn short(n: u64) -> String {
    match n {
        0..=9_999 => count(n),
        10_000..=999_499 => format!("{:.0}k", n as f64 / 1e3),
        999_500..=99_949_999 => format!("{:.1}M", n as f64 / 1e6),
        _ => format!("{}M", count((n + 500_000) / 1_000_000)),
    }
}

/// Formats US dollars, to the cent. An amount below one cent becomes `<$0.01`.
pub fn dollars(amount: f64) -> String {
    match amount {
        n if n <= 0.0 => "$0".into(),
        n if n < 0.005 => "<$0.01".into(),
        n => format!("${n:.2}"),
    }
}

pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    let (mut size, mut unit) = (n as f64, "B");
    for next in UNITS {
        if size < 1000.0 {
            break;
        }
        (size, unit) = (size / 1000.0, next);
    }
    if unit == "B" { format!("{n} B") } else { format!("{size:.1} {unit}") }
}

/// Formats a length of time: `45 s`, `12 min`, `3 h`, `9 days`.
pub fn span(seconds: u64) -> String {
    match seconds {
        0..=89 => format!("{seconds} s"),
        90..=5_399 => format!("{} min", (seconds + 30) / 60),
        5_400..=129_599 => format!("{} h", (seconds + 1_800) / 3_600),
        _ => format!("{} days", (seconds + 43_200) / 86_400),
    }
}

/// Seconds after which a time is shown as a date.
const WEEK: u64 = 7 * 86_400;

/// Formats an RFC 3339 time as its distance from now, or as its date in this machine's time zone if that is more than a week
/// ago. A time in the future and any other text are returned unchanged.
pub fn ago(time: &str, now: Timestamp) -> String {
    ago_in(time, now, TimeZone::system)
}

fn ago_in(time: &str, now: Timestamp, zone: impl Fn() -> TimeZone) -> String {
    let Ok(then) = time.parse::<Timestamp>() else { return time.to_owned() };
    match u64::try_from(now.as_second() - then.as_second()) {
        Ok(0..=4) => "just now".into(),
        Ok(seconds @ 5..=WEEK) => format!("{} ago", span(seconds)),
        Ok(_) => then.to_zoned(zone()).strftime("%Y-%m-%d").to_string(),
        Err(_) => time.to_owned(),
    }
}

/// Returns the first line that is not blank.
pub fn first_line(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_formatted() {
        for (n, expect) in [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345_678, "12,345,678")] {
            assert_eq!(count(n), expect);
        }
        assert_eq!(percent(1, 3), "33.3%");
        assert_eq!(percent(1, 0), "0.0%");
        for (n, expect) in [
            (9_999, "9,999"),
            (10_000, "10k"),
            (999_499, "999k"),
            (999_500, "1.0M"),
            (1_234_567_890, "1,235M"),
        ] {
            assert_eq!(short(n), expect);
        }
        for (n, expect) in [(0.0, "$0"), (0.001, "<$0.01"), (0.005, "$0.01"), (12.345, "$12.35")] {
            assert_eq!(dollars(n), expect);
        }
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1_500), "1.5 KB");
        assert_eq!(bytes(34_000_000), "34.0 MB");
    }

    #[test]
    fn times_are_distances_or_dates() {
        let now: Timestamp = "2026-01-02T00:00:00Z".parse().unwrap();
        let zone = || TimeZone::fixed(jiff::tz::offset(-5));
        let check =
            |then: &str, expect: &str| assert_eq!(ago_in(then, now, zone), expect, "{then}");
        check("2026-01-01T23:59:58Z", "just now");
        check("2026-01-01T23:59:00Z", "60 s ago");
        check("2026-01-01T23:00:00Z", "60 min ago");
        check("2026-01-01T00:00:00Z", "24 h ago");
        check("2025-12-26T00:00:00Z", "7 days ago");
        check("2025-12-20T00:00:00Z", "2025-12-19");
        check("2025-12-20T05:00:00Z", "2025-12-20");
        check("2027-01-01T00:00:00Z", "2027-01-01T00:00:00Z");
        check("yesterday", "yesterday");
    }
}
