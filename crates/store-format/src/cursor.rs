//! Cursors of a list of sessions, newest first: when a page's last session was updated, and its id.

use bethink_store::{StoreError, StoreResult};
use bethink_transcript::{SessionId, UnixMicros};

pub fn read_cursor(cursor: &str) -> StoreResult<(UnixMicros, SessionId)> {
    let ours = cursor
        .split_once('.')
        .and_then(|(at, id)| Some((UnixMicros(at.parse().ok()?), id.parse::<SessionId>().ok()?)));
    ours.ok_or_else(|| {
        StoreError::Conflict(format!(
            "{cursor:?} is not a valid cursor for this list; start again without one"
        ))
    })
}

/// Returns the first `wanted` sessions, and the cursor after them if there are more.
pub fn page_of<T>(
    mut sessions: Vec<T>,
    wanted: usize,
    place: impl Fn(&T) -> (UnixMicros, SessionId),
) -> (Vec<T>, Option<String>) {
    let more = sessions.len() > wanted;
    sessions.truncate(wanted);
    let last = sessions.last().filter(|_| more).map(place);
    let cursor = last.map(|(updated_at, id)| format!("{}.{}", updated_at.0, id.0.simple()));
    (sessions, cursor)
}
