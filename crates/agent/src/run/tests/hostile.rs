//! A model that calls whatever it can think of.

use super::*;

/// Numbers without a pattern, the same in every run.
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
    // Both kinds really occurred.
    assert!(made.len() > 500 && done.denials.len() > 5_000, "{} made", made.len());
    let recorded = world.steps.lock().unwrap();
    let denied = recorded.iter().filter(|step| matches!(step, Step::Denied(_))).count();
    assert_eq!((denied, recorded.len()), (done.denials.len(), ANSWERS * CALLS));
}
