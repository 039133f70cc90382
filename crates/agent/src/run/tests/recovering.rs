//! How a run handles failures and incomplete answers.

use super::*;

#[test]
fn failures_are_recovered_from_and_every_step_is_told() {
    let figures = Figures { input: Some(1_000), limit: Some(900), ..Figures::default() };
    let overflow = ModelError { figures, ..ModelError::new(ErrorClass::Overflow, "too long") };
    let script =
        Script::new([fails(ErrorClass::Overloaded), Err(overflow.clone()), says("a summary")]);
    let (world, request) = (World::default(), long_instruction());
    let fork = Fork { request: &request, budget: BUDGET, tools: &[] };
    let done = finish(run(fork, &script, &world)).unwrap();
    assert_eq!((done.text.as_str(), done.turns), ("a summary", 1));
    let asked = script.asked();
    assert_eq!(asked[0].messages_json(), asked[1].messages_json());
    assert!(asked[2].prompt.tokens() + 100 <= asked[1].prompt.tokens());
    assert_eq!(*world.waits.lock().unwrap(), [Duration::from_secs(1)]);
    let weight = |n: usize| asked[n].weight();
    let change = "retried";
    let overloaded = ModelError::new(ErrorClass::Overloaded, "it failed");
    let expected = [
        AgentStep::Failed { error: overloaded, attempt: 1 },
        AgentStep::Again { change, wait: Duration::from_secs(1), weight: weight(1) },
        AgentStep::Failed { error: overflow, attempt: 2 },
        AgentStep::Again {
            change: "oldest messages left out",
            wait: Duration::ZERO,
            weight: weight(2),
        },
    ];
    assert_eq!(*world.steps.lock().unwrap(), expected);
}

#[test]
fn the_instruction_and_what_followed_it_outlive_every_drop() {
    let figures = Figures { over: Some(u64::MAX), ..Figures::default() };
    let overflow =
        || Err(ModelError { figures, ..ModelError::new(ErrorClass::Overflow, "too long") });
    let part = || Ok(reply(Stop::MaxTokens, &[text("half, ")]));
    let first = [text("a half"), call("t1", "edit", NOTES)];
    let budget = Budget { max_output: 1, ..BUDGET };
    for script in [
        Script::new([overflow(), part(), calls(&first), says("done")]),
        Script::new([part(), overflow(), calls(&first), says("done")]),
        Script::new([part(), calls(&first), overflow(), says("done")]),
    ] {
        let (world, edit, request) = (World::default(), Edit::default(), long_instruction());
        let fork = Fork { request: &request, budget, tools: &[&edit] };
        finish(run(fork, &script, &world)).unwrap();
        let last = script.asked().pop().unwrap();
        assert_eq!(last.prompt.messages().len(), 7);
        insta::allow_duplicates! {
            insta::assert_snapshot!(reads(&last, 2), @r#"
            2 user: Summarise.
            3 assistant: half, 
            4 user: Your answer was cut off. Continue exactly where you stopped, without repeating anything.
            5 assistant: a half
            5 assistant: {"type":"tool_use","id":"t1","name":"edit","input":{"path":"notes.md"}}
            6 user: t1 ok: edited
            "#);
        }
    }
}

#[test]
fn a_first_call_that_fails_for_good_is_an_error_and_a_later_one_an_end() {
    let world = World::default();
    let error = forked(&Script::new([fails(ErrorClass::Auth)]), &world, &[], BUDGET).unwrap_err();
    assert_eq!(error.class, ErrorClass::Auth);
    assert!(matches!(
        world.steps.lock().unwrap()[..],
        [AgentStep::Failed { .. }, AgentStep::GaveUp { .. }]
    ));
    let first = [text("I edit."), call("t1", "edit", NOTES)];
    let script = Script::new([calls(&first), fails(ErrorClass::Quota)]);
    let edit = Edit::default();
    let done = forked(&script, &world, &[&edit], BUDGET).unwrap();
    assert!(matches!(&done.ended, Ended::Failed(error) if error.class == ErrorClass::Quota));
    assert_eq!(
        (done.text.as_str(), done.turns, edit.made.lock().unwrap().len()),
        ("I edit.", 1, 1)
    );
}

#[test]
fn a_long_answer_is_put_together_from_its_parts() {
    let part = |words: &str| Ok(reply(Stop::MaxTokens, &[text(words)]));
    let script = Script::new([part("one, "), part("two, "), says("three")]);
    let budget = Budget { turns: 1, max_output: 1, ..BUDGET };
    let done = forked(&script, &World::default(), &[], budget).unwrap();
    assert_eq!((done.text.as_str(), &done.ended, done.turns), ("one, two, three", &Ended::Done, 1));
    let limits: Vec<u64> = script.asked().iter().map(|request| request.max_tokens).collect();
    assert_eq!(limits, [1_000, 1_000, 1_000]);
    assert_eq!(done.usage.total(), 45);
    insta::assert_snapshot!(reads(&script.asked()[2], 1), @r"
    1 assistant: one, 
    2 user: Your answer was cut off. Continue exactly where you stopped, without repeating anything.
    3 assistant: two, 
    4 user: Your answer was cut off. Continue exactly where you stopped, without repeating anything.
    ");
    // If a continuation fails, the text before it is kept.
    let script = Script::new([part("one, "), fails(ErrorClass::Invalid)]);
    let done = forked(&script, &World::default(), &[], budget).unwrap();
    assert_eq!(done.text, "one, ");
    assert!(matches!(done.ended, Ended::Failed(_)));
}
