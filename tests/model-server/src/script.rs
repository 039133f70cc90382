//! Which requests fail, and how.

use std::collections::VecDeque;

use bethink_harness::Rng;
use serde::{Deserialize, Serialize};

use crate::ask::Purpose;
use crate::fault::{Fault, Kind};

/// Requests that are kept to look at, unless a script says otherwise.
const KEPT: usize = 64;
/// A second: what the name of the fault says.
const DRIP_MS: u64 = 1000;

/// What a server does, by what is asked. The default answers everything well.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    pub summary: Plan,
    pub notes: Plan,
    pub recall: Plan,
    pub other: Plan,
    /// Of the requests that no plan fails, this many of a hundred fail in a quick way drawn by `seed`.
    pub fail_percent: u8,
    pub seed: u64,
    /// The model's window in tokens of this server's count; what is longer is refused with the figures.
    pub window: Option<u64>,
    /// How an answer is cut into writes.
    pub split: Split,
    /// Between two writes of a stream; 0 is at once.
    pub pace_ms: u64,
    /// Every good answer is this one, whatever was asked.
    pub recording: Option<Recording>,
    /// Between two bytes of [`Fault::OneByteASecond`].
    pub drip_ms: u64,
    /// Answers begin with thinking that is signed over all that came before it; what comes back with
    /// another prefix is refused.
    pub thinking: bool,
    /// The newest requests are kept with headers and body.
    pub keep: usize,
}

/// Faults of one purpose: first these in turn, then always that one, or good answers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "PlanText")]
pub struct Plan {
    pub first: VecDeque<Fault>,
    pub always: Option<Fault>,
}

/// A plan as a script file has it: a list, or both parts.
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

/// An answer as it was recorded.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Recording {
    /// The media type.
    pub kind: String,
    pub body: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// One write.
    Whole,
    /// One write for each event.
    #[default]
    Events,
    /// So many bytes a write.
    Bytes(usize),
    /// Two writes, cut here.
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
            drip_ms: DRIP_MS,
            thinking: false,
            keep: KEPT,
        }
    }
}

impl Script {
    /// Everything is answered well.
    pub fn good() -> Self {
        Self::default()
    }

    /// Every request fails in one way.
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

    /// The first requests of each purpose fail in turn, then all is well.
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

    /// The fault of the next request of a purpose, used up.
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

    /// The fault of a connection whose request is not read yet, and so belongs to no purpose: each whose turn it is
    /// has had it.
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
