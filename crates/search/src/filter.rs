//! The conditions of a search. Most of them are marks in the index; the others need the messages.

use bethink_api as api;
use bethink_recall::days::{Day, day_of};
use bethink_recall::marks;
use bethink_service::{Result, ServiceError, parse_rfc3339};
use bethink_store::StoredMessage;
use bethink_transcript::{Message, Role, UnixMicros};

/// Maximum length, in days, of a period whose days are looked up one by one.
pub(crate) const MAX_FILTER_DAYS: i64 = 100;

/// Conditions that a hit must meet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    role: Option<Role>,
    tool: Option<String>,
    path: Option<String>,
    after: Option<UnixMicros>,
    before: Option<UnixMicros>,
    /// Groups of marks that the ranking could not apply, because a list is too long to read.
    pub(crate) unranked: Vec<Vec<String>>,
}

impl Filter {
    pub(crate) fn of(request: &api::SearchQuery) -> Result<Self> {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        let role = match given(&request.role).as_deref() {
            None => None,
            Some("user") => Some(Role::User),
            Some("assistant") => Some(Role::Assistant),
            Some(other) => {
                let problem = format!("{other:?} is not a role: use \"user\" or \"assistant\"");
                return Err(ServiceError::invalid("role", problem));
            }
        };
        Ok(Self {
            role,
            tool: given(&request.tool),
            path: given(&request.path),
            after: time("after", given(&request.after))?,
            before: time("before", given(&request.before))?,
            unranked: Vec::new(),
        })
    }

    /// Returns whether messages must be read to apply the filter. Marks contain neither the hour nor the order of a
    /// path's parts.
    pub(crate) fn must_be_read(&self) -> bool {
        self.needs_calls() || self.after.is_some() || self.before.is_some()
    }

    /// Returns whether the filter depends on what a message says, and on the call before it.
    pub(crate) fn needs_calls(&self) -> bool {
        self.path.is_some() || !self.unranked.is_empty()
    }

    pub(crate) fn admits(&self, stored: &StoredMessage) -> bool {
        self.after.is_none_or(|after| stored.created_at >= after)
            && self.before.is_none_or(|before| stored.created_at < before)
    }

    /// Returns whether a message meets the conditions that depend on what it says. `call` has the calls whose results it contains.
    pub(crate) fn admits_content(&self, message: &Message, call: Option<&Message>) -> bool {
        let is_about = |path: &String| {
            let mut about = [Some(message), call].into_iter().flatten().flat_map(marks::paths_of);
            about.any(|named| marks::path_holds(&named, path))
        };
        self.path.as_ref().is_none_or(is_about)
            && (self.unranked.is_empty() || has_marks(&marks::marks(message, call), &self.unranked))
    }

    /// Returns groups of marks. A hit must have one mark from each group.
    pub(crate) fn marks(&self, today: Day) -> Vec<Vec<String>> {
        let mut groups = Vec::new();
        groups.extend(self.role.map(|role| vec![marks::by_role(role)]));
        groups.extend(self.tool.as_deref().map(|tool| vec![marks::by_tool(tool)]));
        if let Some(path) = &self.path {
            groups.extend(marks::path_parts(path).map(|part| vec![marks::by_path_part(part)]));
        }
        groups.extend(self.days(today));
        groups
    }

    /// Returns the days of the period, or `None` if there are too many to list. Such a long period excludes little.
    fn days(&self, today: Day) -> Option<Vec<String>> {
        let first = day_of(self.after?);
        // The clock of another machine may be ahead.
        let last = self.before.map_or(Day(today.0 + 1), day_of);
        let count = last.0.checked_sub(first.0)?;
        let listed = (first.0..=last.0).map(|day| marks::by_day(Day(day)));
        (count < MAX_FILTER_DAYS).then(|| listed.collect())
    }
}

fn time(field: &'static str, text: Option<String>) -> Result<Option<UnixMicros>> {
    let wrong = "must be an RFC 3339 time such as 2026-01-31T12:00:00Z";
    let read =
        |text: String| parse_rfc3339(&text).ok_or_else(|| ServiceError::invalid(field, wrong));
    text.map(read).transpose()
}

/// Whether a message with these marks has one of each group.
fn has_marks(marks: &str, groups: &[Vec<String>]) -> bool {
    groups.iter().all(|group| marks.split(' ').any(|mark| group.iter().any(|one| one == mark)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_a_mark_of_each_group() {
        let groups = [
            vec![marks::by_role(Role::User)],
            vec![marks::by_tool("Bash"), marks::by_tool("Edit")],
        ];
        let marked = format!("{} {}", marks::by_role(Role::User), marks::by_tool("Edit"));
        assert!(has_marks(&marked, &groups));
        assert!(!has_marks(&marks::by_role(Role::User), &groups));
        assert!(!has_marks(&marks::by_role(Role::Assistant), &groups[..1]));
    }
}
