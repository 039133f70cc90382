//! A finding of `doctor`: what was checked, what was found, and what to do about it.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verdict {
    Ok,
    Warn,
    Fail,
}

#[derive(Debug, Serialize)]
pub(super) struct DoctorFinding {
    pub(super) check: &'static str,
    pub(super) verdict: Verdict,
    pub(super) found: String,
    /// What to do about the finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) todo: Option<String>,
}

pub(super) fn ok(check: &'static str, found: impl Into<String>) -> DoctorFinding {
    DoctorFinding { check, verdict: Verdict::Ok, found: found.into(), todo: None }
}

/// Returns a finding that is not a problem but suggests a next step.
pub(super) fn tip(
    check: &'static str,
    found: impl Into<String>,
    todo: impl Into<String>,
) -> DoctorFinding {
    DoctorFinding { todo: Some(todo.into()), ..ok(check, found) }
}

pub(super) fn warn(
    check: &'static str,
    found: impl Into<String>,
    todo: impl Into<String>,
) -> DoctorFinding {
    DoctorFinding { verdict: Verdict::Warn, todo: Some(todo.into()), ..ok(check, found) }
}

pub(super) fn fail(
    check: &'static str,
    found: impl Into<String>,
    todo: impl Into<String>,
) -> DoctorFinding {
    DoctorFinding { verdict: Verdict::Fail, ..warn(check, found, todo) }
}
