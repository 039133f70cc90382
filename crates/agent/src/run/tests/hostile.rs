//! A model that makes invalid and forbidden calls.

use super::*;

/// Pseudo-random numbers, the same in every run.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

const ANSWERS: usize = 200;
const CALLS: usize = 50;

fn answer(dice: &mut Dice, n: usize) -> Result<Reply, ModelError> {
    let calls: Vec<String> = (0..CALLS).map(|i| one(dice, n * CALLS + i)).collect();
    let stop = if dice.throw(10) == 0 { Stop::MaxTokens } else { Stop::ToolUse };
    Ok(reply(stop, &calls))
}

fn one(dice: &mut Dice, n: usize) -> String {
    let id = if dice.throw(12) == 0 { "t1".to_owned() } else { format!("t{n}") };
    let name = match dice.throw(8) {
        0 => "bash",
        1 => "",
        2 => "Edit",
        3 => "edit\\u0000",
        _ => "edit",
    };
    let input = match dice.throw(12) {
        0 => r#"{"path":"../notes.md"}"#.to_owned(),
        1 => r#"{"path":"notes.md/../../x"}"#.to_owned(),
        2 => r#"{"path":"/etc/passwd"}"#.to_owned(),
        3 => r#"{"path":"notes.md\u0000"}"#.to_owned(),
        4 => r#"{"path":"notes.md","path":"other.md"}"#.to_owned(),
        5 => "\"notes.md\"".to_owned(),
        6 => "[]".to_owned(),
        7 if dice.throw(50) == 0 => format!(r#"{{"path":"{}"}}"#, "notes.md/".repeat(40_000)),
        _ => NOTES.to_owned(),
    };
    call(&id, name, &input)
}

#[test]
fn of_ten_thousand_calls_none_runs_that_was_not_permitted() {
    let mut dice = Dice(7);
    let script = Script::new((0..ANSWERS).map(|n| answer(&mut dice, n)));
    let (world, edit) = (World::default(), Edit::default());
    let budget =
        Budget { turns: ANSWERS as u32, tokens: u64::MAX, calls: 30, max_output: 1, ..BUDGET };
    let done = forked(&script, &world, &[&edit], budget).unwrap();
    assert_eq!((done.turns as usize, done.ended), (ANSWERS, Ended::OutOf("turns")));
    let made = edit.made.lock().unwrap();
    assert!(made.iter().all(|input| input == NOTES));
    assert_eq!(made.len() + done.denials.len(), ANSWERS * CALLS);
    // Both allowed and denied calls occurred often.
    assert!(made.len() > 500 && done.denials.len() > 5_000, "{} made", made.len());
    let recorded = world.steps.lock().unwrap();
    let denied = recorded.iter().filter(|step| matches!(step, AgentStep::Denied(_))).count();
    assert_eq!((denied, recorded.len()), (done.denials.len(), ANSWERS * CALLS));
}

/// Returns an answer or an error of any kind, including kinds that no provider sends.
fn anything(dice: &mut Dice, n: usize) -> Result<Reply, ModelError> {
    let class = ErrorClass::ALL[dice.throw(ErrorClass::ALL.len() as u64) as usize];
    if dice.throw(2) == 0 {
        let figure = |dice: &mut Dice| (dice.throw(2) == 0).then(|| dice.throw(4_000));
        let figures = Figures {
            input: figure(dice),
            output: figure(dice),
            limit: figure(dice),
            over: figure(dice),
        };
        return Err(ModelError { figures, ..ModelError::new(class, "it failed") });
    }
    let blocks = (0..dice.throw(4)).map(|i| match dice.throw(7) {
        0 => text(" "),
        1 => r#"{"type":"thinking","thinking":"hm","signature":"s"}"#.to_owned(),
        2 => r#"{"type":"tool_result","tool_use_id":"t1","content":"x"}"#.to_owned(),
        3 => r#"{"type":"image","source":{}}"#.to_owned(),
        4 => text("words \n"),
        _ => one(dice, n * 10 + i as usize),
    });
    let blocks: Vec<String> = blocks.collect();
    let stop = match dice.throw(6) {
        0 => Stop::MaxTokens,
        1 => Stop::PauseTurn,
        2 => Stop::WindowFull,
        3 => Stop::Refusal,
        _ => Stop::ToolUse,
    };
    Ok(reply(stop, &blocks))
}

/// The types rule out invalid prompts. This test shows that no run panics, hangs, calls the model too often or loses
/// its instruction.
#[test]
fn whatever_a_model_does_a_run_ends_within_its_bounds() {
    let request = long_instruction();
    let (mut ends, mut most) = (std::collections::HashMap::<String, u32>::new(), 0);
    for seed in 0..1_500 {
        let mut dice = Dice(seed);
        let script = Script::new((0..80).map(|n| anything(&mut dice, n)));
        let (world, edit) = (World::default(), Edit::default());
        let turns = dice.throw(5) as u32;
        let budget = Budget { turns, max_output: 4_000, ..BUDGET };
        let tools: &[&dyn Tool] = if dice.throw(3) == 0 { &[] } else { &[&edit] };
        let fork = Fork { request: &request, budget, tools };
        let end = match finish(run(fork, &script, &world)) {
            Ok(done) => {
                assert!(done.turns <= turns);
                format!("{:?}", done.ended)
            }
            Err(error) => format!("{:?}", error.class),
        };
        *ends.entry(end.chars().take(12).collect()).or_default() += 1;
        let asked = script.asked();
        most = most.max(asked.len());
        assert!(asked.len() <= (turns * bethink_model::recovery::MAX_CALLS) as usize);
        for request in &asked {
            let json = String::from_utf8(request.messages_json()).unwrap();
            assert!(json.contains("Summarise."), "seed {seed}");
        }
        assert!(edit.made.lock().unwrap().iter().all(|input| input == NOTES));
    }
    // Every way to end occurred, and some runs had many calls.
    for end in ["Done", "OutOf(\"turns", "OutOf(\"denia", "Failed(Model", "Forbidden"] {
        assert!(ends.keys().any(|met| met.starts_with(end)), "{end} in {ends:?}");
    }
    assert!(most >= 8, "{most}");
}
