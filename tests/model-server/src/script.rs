//! Defines which requests fail, and how.

use std::collections::VecDeque;

use bethink_harness::Rng;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ask::Purpose;
use crate::fault::{Fault, Kind};

/// Default number of requests to keep.
const KEPT: usize = 64;
/// One second, as in the name of the fault.
const DRIP_MS: u64 = 1000;

/// The behavior of the server for each purpose. By default all requests succeed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    pub summary: Plan,
    pub notes: Plan,
    pub recall: Plan,
    pub other: Plan,
    /// Percentage of the other requests that fail with a quick random fault, chosen with `seed`.
    pub fail_percent: u8,
    pub seed: u64,
    /// The model's context window, in tokens as this server counts them.
    pub window: Option<u64>,
    /// How an answer is split into writes.
    pub split: Split,
    /// Delay between two writes of a stream, in milliseconds.
    pub pace_ms: u64,
    /// Every good answer is this one, for all purposes.
    pub recording: Option<Recording>,
    /// A tool that good answers call once in a session, if it is offered.
    pub call: Option<ToolCall>,
    /// Delay between two bytes of [`Fault::OneByteASecond`], in milliseconds.
    pub drip_ms: u64,
    /// Answers begin with thinking, whose signature depends on everything before it. Thinking that is sent back
    /// after another prefix is rejected.
    pub thinking: bool,
    /// Number of requests that are kept, with headers and body.
    pub keep: usize,
}

/// The faults of one purpose: first a list of faults, then always the same fault, or none.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "PlanText")]
pub struct Plan {
    pub first: VecDeque<Fault>,
    pub always: Option<Fault>,
}

/// A plan in a script file: a list, or an object with both parts.
#[derive(Deserialize)]
#[serde(untagged)]
enum PlanText {
    List(VecDeque<Fault>),
    Both {
        #[serde(default)]
        first: VecDeque<Fault>,
        always: Option<Fault>,
    },
}

/// A recorded answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Recording {
    /// The media type.
    pub kind: String,
    pub body: String,
}

/// A call of a tool.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ToolCall {
    /// End of the tool's name. Clients put the name of an MCP server in front.
    pub name_end: String,
    pub arguments: Value,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// One write.
    Whole,
    /// A separate write for each event.
    #[default]
    Events,
    /// Writes of this many bytes.
    Bytes(usize),
    /// Two writes, split at this position.
    At(usize),
}

impl Default for Script {
    fn default() -> Self {
        Self {
            summary: Plan::default(),
            notes: Plan::default(),
            recall: Plan::default(),
            other: Plan::default(),
            fail_percent: 0,
            seed: 1,
            window: None,
            split: Split::default(),
            pace_ms: 0,
            recording: None,
            call: None,
            drip_ms: DRIP_MS,
            thinking: false,
            keep: KEPT,
        }
    }
}

impl Script {
    /// A script without faults.
    pub fn good() -> Self {
        Self::default()
    }

    /// A script in which every request has the same fault.
    pub fn always(fault: Fault) -> Self {
        let plan = Plan { first: VecDeque::new(), always: Some(fault) };
        Self {
            summary: plan.clone(),
            notes: plan.clone(),
            recall: plan.clone(),
            other: plan,
            ..Self::default()
        }
    }

    /// A script in which the first requests of each purpose have these faults.
    pub fn first(faults: &[Fault]) -> Self {
        let plan = Plan { first: faults.iter().copied().collect(), always: None };
        Self {
            summary: plan.clone(),
            notes: plan.clone(),
            recall: plan.clone(),
            other: plan,
            ..Self::default()
        }
    }

    pub(crate) fn plan(&mut self, purpose: Purpose) -> &mut Plan {
        match purpose {
            Purpose::Summary => &mut self.summary,
            Purpose::Notes => &mut self.notes,
            Purpose::Recall => &mut self.recall,
            Purpose::Other => &mut self.other,
        }
    }

    /// Takes the fault for the next request of a purpose.
    pub(crate) fn draw(&mut self, purpose: Purpose, rng: &mut Rng) -> Option<Fault> {
        if let Some(fault) = self.plan(purpose).take(|fault| fault.kind() != Kind::Connection) {
            return Some(fault);
        }
        if rng.below(100) >= usize::from(self.fail_percent) {
            return None;
        }
        let quick = |fault: &Fault| fault.is_quick() && fault.kind() != Kind::Connection;
        let quick: Vec<Fault> = Fault::ALL.iter().copied().filter(quick).collect();
        Some(*rng.pick(&quick))
    }

    /// Takes the fault of a connection whose request has not been read, so its purpose is unknown. The fault counts for
    /// each purpose whose turn it is.
    pub(crate) fn draw_unread(&mut self) -> Option<Fault> {
        let purposes = [Purpose::Summary, Purpose::Notes, Purpose::Recall, Purpose::Other];
        let connection = |fault: Fault| fault.kind() == Kind::Connection;
        let drawn = purposes.into_iter().find_map(|purpose| {
            let fault = self.plan(purpose).take(connection)?;
            Some((purpose, fault))
        });
        let (first, fault) = drawn?;
        for purpose in purposes.into_iter().filter(|purpose| *purpose != first) {
            self.plan(purpose).take(|next| next == fault);
        }
        Some(fault)
    }
}

impl Plan {
    fn take(&mut self, fits: impl Fn(Fault) -> bool) -> Option<Fault> {
        match self.first.front() {
            Some(fault) if fits(*fault) => self.first.pop_front(),
            Some(_) => None,
            None => self.always.filter(|fault| fits(*fault)),
        }
    }
}

impl From<PlanText> for Plan {
    fn from(text: PlanText) -> Self {
        match text {
            PlanText::List(first) => Plan { first, always: None },
            PlanText::Both { first, always } => Plan { first, always },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_a_list_or_both_parts_and_is_used_up() {
        let text = r#"{"summary": ["overloaded", "reset_at_accept"], "notes": {"always": "quota"},
            "split": {"bytes": 1}}"#;
        let mut script: Script = serde_json::from_str(text).unwrap();
        let rng = &mut Rng::new(1);
        assert_eq!(script.split, Split::Bytes(1));
        assert_eq!(script.draw_unread(), None);
        assert_eq!(script.draw(Purpose::Summary, rng), Some(Fault::Overloaded));
        assert_eq!(script.draw(Purpose::Summary, rng), None);
        assert_eq!(script.draw_unread(), Some(Fault::ResetAtAccept));
        assert_eq!(script.draw_unread(), None);
        for _ in 0..3 {
            assert_eq!(script.draw(Purpose::Notes, rng), Some(Fault::Quota));
        }
        assert_eq!(script.draw(Purpose::Other, rng), None);
        assert!(serde_json::from_str::<Script>(r#"{"notes": ["no_such_fault"]}"#).is_err());
    }

    #[test]
    fn a_share_fails_at_random_by_the_seed() {
        let run = |seed| {
            let mut script = Script { fail_percent: 30, ..Script::good() };
            let mut rng = Rng::new(seed);
            (0..1000).map(|_| script.draw(Purpose::Other, &mut rng)).collect::<Vec<_>>()
        };
        let failed = run(7).iter().flatten().count();
        assert!((240..360).contains(&failed), "{failed}");
        assert_eq!(run(7), run(7));
        assert_ne!(run(7), run(8));
    }
}
