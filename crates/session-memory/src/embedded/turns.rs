//! The session as turns: a request, the steps that followed, and the answer.

use bethink_facts::{Action, Facts, RecordedStatement};
use bethink_transcript::Seq;

/// The part of a session from one user message to the next.
#[derive(Debug, Default)]
pub(super) struct NotesTurn<'a> {
    /// `None` if the session begins without a user message.
    pub(super) ask: Option<&'a RecordedStatement>,
    pub(super) steps: Vec<TurnStep<'a>>,
}

/// The assistant's text, and the calls after it.
#[derive(Debug)]
pub(super) struct TurnStep<'a> {
    pub(super) said: Option<&'a RecordedStatement>,
    pub(super) actions: Vec<&'a Action>,
}

impl<'a> NotesTurn<'a> {
    /// Returns the assistant's last text, if no call follows it.
    pub(super) fn closing(&self) -> Option<&'a RecordedStatement> {
        self.steps.last().filter(|step| step.actions.is_empty()).and_then(|step| step.said)
    }
}

impl TurnStep<'_> {
    pub(super) fn seq(&self) -> Seq {
        let done = self.actions.first().map(|action| action.seq);
        self.said.map(|said| said.seq).or(done).unwrap_or(Seq::ZERO)
    }
}

enum TurnEvent<'a> {
    Ask(&'a RecordedStatement),
    Said(&'a RecordedStatement),
    Action(&'a Action),
}

pub(super) fn of(facts: &Facts) -> Vec<NotesTurn<'_>> {
    let asked = facts.user.iter().map(|said| (said.seq, TurnEvent::Ask(said)));
    let said = facts.assistant.iter().map(|said| (said.seq, TurnEvent::Said(said)));
    let done = facts.tools.actions.iter().map(|action| (action.seq, TurnEvent::Action(action)));
    let mut events: Vec<_> = asked.chain(said).chain(done).collect();
    // The sort is stable: events of one message stay in this order.
    events.sort_by_key(|(seq, _)| *seq);
    let mut turns = Vec::new();
    let mut turn = NotesTurn::default();
    for (_, event) in events {
        match (event, turn.steps.last_mut()) {
            (TurnEvent::Ask(said), _) => {
                turns.push(std::mem::replace(
                    &mut turn,
                    NotesTurn { ask: Some(said), ..NotesTurn::default() },
                ));
            }
            (TurnEvent::Said(said), _) => {
                turn.steps.push(TurnStep { said: Some(said), actions: Vec::new() });
            }
            (TurnEvent::Action(action), Some(step)) => step.actions.push(action),
            (TurnEvent::Action(action), None) => {
                turn.steps.push(TurnStep { said: None, actions: vec![action] });
            }
        }
    }
    turns.push(turn);
    turns.retain(|turn| turn.ask.is_some() || !turn.steps.is_empty());
    turns
}
