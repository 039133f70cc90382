//! The session as turns: what was asked, the steps that followed, how it ended.

use std::collections::BTreeMap;

use bethink_facts::{Action, Facts, Said};
use bethink_transcript::Seq;

/// From one thing that the user said to the next.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    /// Missing where the session begins without a word of the user's.
    pub(super) ask: Option<&'a Said>,
    pub(super) steps: Vec<Step<'a>>,
}

/// What the assistant said, and what it did then.
#[derive(Debug, Default)]
pub(super) struct Step<'a> {
    pub(super) said: Option<&'a Said>,
    pub(super) actions: Vec<&'a Action>,
}

impl<'a> Turn<'a> {
    /// The assistant's last words, if nothing was done after them.
    pub(super) fn closing(&self) -> Option<&'a Said> {
        self.steps.last().filter(|step| step.actions.is_empty()).and_then(|step| step.said)
    }
}

impl Step<'_> {
    pub(super) fn seq(&self) -> Seq {
        let done = self.actions.first().map(|action| action.seq);
        self.said.map(|said| said.seq).or(done).unwrap_or(Seq::ZERO)
    }
}

enum Event<'a> {
    Ask(&'a Said),
    Said(&'a Said),
    Action(&'a Action),
}

pub(super) fn of(facts: &Facts) -> Vec<Turn<'_>> {
    let mut events: BTreeMap<(Seq, u8, usize), Event<'_>> = BTreeMap::new();
    for (at, said) in facts.user.iter().enumerate() {
        events.insert((said.seq, 0, at), Event::Ask(said));
    }
    for (at, said) in facts.assistant.iter().enumerate() {
        events.insert((said.seq, 1, at), Event::Said(said));
    }
    for (at, action) in facts.tools.actions.iter().enumerate() {
        events.insert((action.seq, 2, at), Event::Action(action));
    }
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for event in events.into_values() {
        if let Event::Ask(said) = event {
            turns.push(Turn { ask: Some(said), steps: Vec::new() });
            continue;
        }
        if turns.is_empty() {
            turns.push(Turn { ask: None, steps: Vec::new() });
        }
        let Some(turn) = turns.last_mut() else { continue };
        match event {
            Event::Ask(_) => {}
            Event::Said(said) => {
                turn.steps.push(Step { said: Some(said), actions: Vec::new() });
            }
            Event::Action(action) => {
                if turn.steps.is_empty() {
                    turn.steps.push(Step::default());
                }
                if let Some(step) = turn.steps.last_mut() {
                    step.actions.push(action);
                }
            }
        }
    }
    turns
}
