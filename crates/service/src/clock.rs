//! The clock, which tests can replace.

use bethink_transcript::UnixMicros;

/// A clock, chosen at boot.
pub trait Clock: Send + Sync + std::fmt::Debug {
    fn now(&self) -> UnixMicros;
}

/// The system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> UnixMicros {
        UnixMicros(jiff::Timestamp::now().as_microsecond())
    }
}

pub fn rfc3339(at: UnixMicros) -> String {
    jiff::Timestamp::from_microsecond(at.0).map_or_else(|_| String::new(), |t| t.to_string())
}

pub fn parse_rfc3339(text: &str) -> Option<UnixMicros> {
    text.parse::<jiff::Timestamp>().ok().map(|t| UnixMicros(t.as_microsecond()))
}
