//! The prefix is stable: unless a decision is made between two turns, the new prompt begins with the old one.

use bethink_context::budget::{self, BudgetLimits};
use bethink_context::{Attachment, Decision, Decisions, History, PromptShape, ViewOptions, todos};
use proptest::prelude::*;
use serde_json::Value;

use crate::histories::{answer, apply, call, hints, prompt, push, result, say, thought};

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Say,
    Answer,
    Round { calls: usize, chars: usize, think: bool },
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => Just(Step::Say),
        1 => Just(Step::Answer),
        4 => (1..4usize, prop_oneof![0..200usize, 40_000..70_000usize], any::<bool>())
            .prop_map(|(calls, chars, think)| Step::Round { calls, chars, think }),
    ]
}

pub(crate) fn messages(n: usize, step: &Step) -> Vec<Value> {
    match step {
        Step::Say => vec![say(&format!("say {n}"))],
        Step::Answer => vec![answer(&format!("answer {n}")), say("go on")],
        Step::Round { calls, chars, think } => {
            let of = format!("A{n}");
            let mut out = if *think { vec![thought(&of, "hm")] } else { Vec::new() };
            let ids: Vec<String> = (0..*calls).map(|i| format!("t{n}_{i}")).collect();
            out.extend(ids.iter().map(|id| call(&of, id, "Bash", "")));
            out.extend(ids.iter().map(|id| result(id, &"x".repeat(*chars))));
            out
        }
    }
}

fn decide(history: &History, decisions: &mut Decisions) {
    let (records, _) = budget::decide(history, decisions, &BudgetLimits::default(), &hints());
    apply(decisions, history, &records);
    let todo = todos::Todo {
        id: "1".into(),
        content: format!("after {}", history.last_seq()),
        status: todos::TodoStatus::Pending,
        priority: todos::TodoPriority::Medium,
    };
    let text = todos::reminder(&[todo], true, 1_000).unwrap();
    let after = history.last_seq();
    let reminder = Attachment { after, what: "todos".into(), name: String::new(), text, tokens: 9 };
    apply(decisions, history, &[Decision::Attached(reminder), Decision::Shown { through: after }]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_prompt_starts_with_the_one_before(steps in proptest::collection::vec(step(), 1..12)) {
        let mut history = History::default();
        let mut decisions = Decisions::default();
        push(&mut history, &say("start"));
        let mut before: Option<PromptShape> = None;
        for (n, step) in steps.iter().enumerate() {
            for message in messages(n, step) {
                push(&mut history, &message);
            }
            decide(&history, &mut decisions);
            let shape = PromptShape::new(prompt(&history, &decisions, ViewOptions::default()).messages(), None, None);
            if let Some(before) = &before {
                let difference = shape.difference(before);
                prop_assert_eq!(difference.first_changed, None, "{:?} at {}", steps, n);
            }
            before = Some(shape);
        }
    }
}
