//! What must not be recorded: everything during a pause, and projects and transcripts below excluded paths.
//!
//! Pauses are kept after they end, because a transcript may be read long after it was written. If a client sends the
//! whole conversation with each request, later requests repeat what was said during a pause, so that conversation is no
//! longer recorded.

use std::collections::HashSet;
use std::fmt;
use std::path::Path;
use std::sync::{Mutex, PoisonError, RwLock};

use bethink_api as api;
use bethink_config::{PathPattern, Settings};
use bethink_store::PauseRecord;
use bethink_transcript::UnixMicros;

use crate::clock::rfc3339;
use crate::context::ServiceContext;
use crate::error::{Result, ServiceError};
use crate::locked::locked;

/// Maximum length of a pause for which an end is set, in seconds: 30 days. A longer pause would probably be forgotten.
const MOST_SECONDS: u64 = 30 * 24 * 3_600;

/// The reason why something is not recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unrecorded {
    Paused {
        until: Option<UnixMicros>,
    },
    Excluded {
        /// The pattern as it is in the settings.
        pattern: String,
    },
}

impl fmt::Display for Unrecorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Paused { until: Some(until) } => {
                write!(f, "recording is paused until {}", rfc3339(*until))
            }
            Self::Paused { until: None } => f.write_str("recording is paused"),
            Self::Excluded { pattern } => {
                write!(f, "the project is excluded from recording by {pattern:?}")
            }
        }
    }
}

impl From<Unrecorded> for ServiceError {
    fn from(why: Unrecorded) -> Self {
        let hint = match why {
            Unrecorded::Paused { .. } => "run `bethink resume` first",
            Unrecorded::Excluded { .. } => {
                "change `exclude` in the `[capture]` section of the settings"
            }
        };
        Self::conflict(why.to_string()).hint(hint)
    }
}

/// What must not be recorded.
#[derive(Debug, Default)]
pub struct RecordingRules {
    excluded: Vec<PathPattern>,
    /// Sorted by start time.
    pauses: RwLock<Vec<PauseRecord>>,
    unrecorded: Mutex<HashSet<u128>>,
}

impl RecordingRules {
    pub(crate) fn new(settings: &Settings) -> Self {
        let (texts, person) = (&settings.capture.exclude, settings.person.as_deref());
        let excluded = texts.iter().filter_map(|text| PathPattern::new(text, person)).collect();
        Self { excluded, ..Self::default() }
    }

    fn pauses(&self) -> Vec<PauseRecord> {
        self.pauses.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the pause during which this time falls, if any.
    pub fn pause_at(&self, at: UnixMicros) -> Option<PauseRecord> {
        let covers =
            |pause: &PauseRecord| pause.since <= at && pause.until.is_none_or(|end| at < end);
        self.pauses().into_iter().rev().find(covers)
    }

    /// Whether recording was paused at any time in this period.
    pub fn was_paused_between(&self, from: UnixMicros, to: UnixMicros) -> bool {
        let meets =
            |pause: &PauseRecord| pause.since <= to && pause.until.is_none_or(|end| end > from);
        self.pauses().iter().any(meets)
    }

    /// Whether any path is excluded.
    pub fn has_exclusions(&self) -> bool {
        !self.excluded.is_empty()
    }

    /// Returns the pattern that excludes a path.
    pub fn excluded(&self, path: &str) -> Option<Unrecorded> {
        let found = self.excluded.iter().find(|pattern| pattern.matches(Path::new(path)))?;
        Some(Unrecorded::Excluded { pattern: found.as_str().to_owned() })
    }

    /// Whether every conversation is recorded now, so that requests that contain a whole conversation need not be
    /// checked.
    pub fn records_everything(&self, now: UnixMicros) -> bool {
        self.excluded.is_empty()
            && self.pause_at(now).is_none()
            && locked(&self.unrecorded).is_empty()
    }

    /// Whether one of these marks belongs to a conversation that is not recorded.
    pub fn has_unrecorded(&self, marks: &[u128]) -> bool {
        let known = locked(&self.unrecorded);
        !known.is_empty() && marks.iter().any(|mark| known.contains(mark))
    }
}

impl ServiceContext {
    /// Reads the stored pauses.
    pub async fn load_recording(&self) -> Result<()> {
        let (pauses, marks) =
            (self.store().pauses().await?, self.store().unrecorded_marks().await?);
        *self.recording().pauses.write().unwrap_or_else(PoisonError::into_inner) = pauses;
        locked(&self.recording().unrecorded).extend(marks);
        Ok(())
    }

    /// Returns why nothing may be recorded or learned in a project now.
    pub fn unrecorded(&self, project_dir: &str) -> Option<Unrecorded> {
        let pause = self.recording().pause_at(self.now());
        let paused = pause.map(|pause| Unrecorded::Paused { until: pause.until });
        paused.or_else(|| self.recording().excluded(project_dir))
    }

    pub fn recording_pause(&self) -> Option<api::RecordingPause> {
        let pause = self.recording().pause_at(self.now())?;
        Some(api::RecordingPause { since: rfc3339(pause.since), until: pause.until.map(rfc3339) })
    }

    pub fn recording_status(&self) -> api::RecordingStatus {
        let exclude = self.settings().capture.exclude.clone();
        api::RecordingStatus { pause: self.recording_pause(), exclude }
    }

    /// Pauses recording and learning, or changes the end of the current pause.
    ///
    /// # Errors
    /// `Invalid` if the time is 0 or too long.
    pub async fn pause_recording(
        &self,
        request: api::PauseRequest,
    ) -> Result<api::RecordingStatus> {
        let now = self.now();
        if let Some(seconds) = request.seconds.filter(|n| !(1..=MOST_SECONDS).contains(n)) {
            let detail = format!(
                "a pause of {seconds} seconds is not allowed; it must be from 1 second to 30 days ({MOST_SECONDS} seconds)"
            );
            return Err(ServiceError::invalid("seconds", detail)
                .hint("to pause until you run `bethink resume`, omit the duration"));
        }
        let seconds = request.seconds.and_then(|seconds| i64::try_from(seconds).ok());
        let until = seconds.map(|seconds| UnixMicros(now.0 + seconds * 1_000_000));
        let since = self.recording().pause_at(now).map_or(now, |pause| pause.since);
        self.put_pause(PauseRecord { since, until }).await?;
        Ok(self.recording_status())
    }

    /// Ends the current pause, if there is one.
    pub async fn resume_recording(&self) -> Result<api::RecordingStatus> {
        if let Some(pause) = self.recording().pause_at(self.now()) {
            self.put_pause(PauseRecord { until: Some(self.now()), ..pause }).await?;
        }
        Ok(self.recording_status())
    }

    async fn put_pause(&self, pause: PauseRecord) -> Result<()> {
        self.store().put_pause(pause).await?;
        let mut pauses = self.recording().pauses.write().unwrap_or_else(PoisonError::into_inner);
        pauses.retain(|known| known.since != pause.since);
        pauses.push(pause);
        pauses.sort_by_key(|pause| pause.since);
        Ok(())
    }

    /// Notes that the conversation with this mark must not be recorded, now or later.
    pub async fn leave_unrecorded(&self, mark: u128) -> Result<()> {
        if locked(&self.recording().unrecorded).insert(mark) {
            self.store().add_unrecorded_mark(mark, self.now()).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_cover_their_time_and_exclusions_their_paths() {
        let mut settings = Settings::at("/home/ada/.bethink");
        settings.person = Some("/home/ada".into());
        settings.capture.exclude = vec!["~/secret/**".to_owned()];
        let rules = RecordingRules::new(&settings);
        let of = |since, until: Option<i64>| PauseRecord {
            since: UnixMicros(since),
            until: until.map(UnixMicros),
        };
        *rules.pauses.write().unwrap() = vec![of(10, Some(20)), of(40, None)];
        let is_paused = |at| rules.pause_at(UnixMicros(at)).is_some();
        let times = [9, 10, 19, 20, 39, 40, 1_000].map(is_paused);
        assert_eq!(times, [false, true, true, false, false, true, true]);
        let between = |from, to| rules.was_paused_between(UnixMicros(from), UnixMicros(to));
        assert_eq!(
            [between(0, 9), between(0, 10), between(20, 39), between(25, 60)],
            [false, true, false, true]
        );
        let why = rules.excluded("/home/ada/secret/client").unwrap();
        assert!(why.to_string().contains("~/secret/**"), "{why}");
        assert_eq!(rules.excluded("/home/ada/app"), None);
    }
}
