//! Describes ages in words.

use bethink_transcript::UnixMicros;

/// Age, in microseconds, from which memories are shown with advice to verify them.
pub const FRESH_MICROS: i64 = 86_400_000_000;

/// Returns an age such as `today`, `yesterday`, `12 days ago` or `5 months ago`. Future times count as today, because clocks
/// differ.
pub fn age(then: UnixMicros, now: UnixMicros) -> String {
    let days = now.0.saturating_sub(then.0).max(0) / FRESH_MICROS;
    match days {
        0 => "today".to_owned(),
        1 => "yesterday".to_owned(),
        2..=59 => format!("{days} days ago"),
        60..=729 => format!("{} months ago", days / 30),
        _ => format!("{} years ago", days / 365),
    }
}
