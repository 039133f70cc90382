//! A compaction is measured by the names used after it, and a bad result is reported with its reason.

use bethink_compactor::Fidelity;
use bethink_compactor::fidelity::{Pressure, look_back, warning};
use bethink_context::{Decisions, History};
use serde_json::{Value, json};

use crate::support::{Ask, answer, call, facts_of, history, result, say, try_compact};

fn names(from: usize, to: usize) -> String {
    (from..to).map(|n| format!("handler_number_{n} ")).collect()
}

/// Returns a session with more names than a summary has room for, each used twice, long before the cut.
fn crowded() -> Vec<Value> {
    let mut messages = vec![say("Go through the handlers.")];
    for n in 0..70 {
        let id = format!("t{n}");
        let text = names(n * 40, n * 40 + 40);
        messages.push(answer(&text));
        messages.push(call(&id, "Bash", &json!({ "command": format!("check {text}") })));
        messages.push(result(&id, &"fine ".repeat(60)));
    }
    messages.push(say("And now?"));
    messages
}

fn judged(later: &[Value]) -> (Option<Fidelity>, Decisions) {
    let mut messages = crowded();
    let outcome = try_compact(&messages, &Ask::default()).unwrap();
    messages.extend_from_slice(later);
    let all: History = history(&messages);
    let kept = all.without_before(outcome.boundary.kept_from);
    (look_back(&kept, &outcome.decisions, &facts_of(&all)), outcome.decisions)
}

#[test]
fn names_used_again_are_looked_for_where_the_prompt_stood() {
    let near = names(2_790, 2_800);
    let (found, decisions) = judged(&[answer(&near)]);
    let found = found.unwrap();
    assert_eq!((found.names, found.kept, found.score), (10, 10, 1.0));

    let summary = &decisions.boundary.unwrap().summary;
    let lost: String = (0..2_500)
        .map(|n| format!("handler_number_{n} "))
        .filter(|name| !summary.contains(name.trim()))
        .take(10)
        .collect();
    assert!(!lost.is_empty(), "the summary holds everything; the story is too small");
    let (found, _) = judged(&[answer(&format!("{near} {lost}"))]);
    let found = found.unwrap();
    assert_eq!((found.names, found.kept), (20, 10));
    assert!(found.lost.iter().all(|name| lost.contains(name.as_str())), "{:?}", found.lost);
}

#[test]
fn what_is_new_or_only_seen_or_too_little_judges_nothing() {
    let fresh =
        answer("brand_new_name another_new_name third_new_name fourth_new_name fifth_new_name");
    assert_eq!(judged(&[fresh]).0, None);
    let seen = [call("z", "Bash", &json!({ "command": "ls" })), result("z", &names(0, 50))];
    assert_eq!(judged(&seen).0, None);
    assert_eq!(judged(&[answer(&names(0, 2))]).0, None);
    assert_eq!(judged(&[]).0, None);
}

#[test]
fn a_falling_fidelity_is_told_with_its_reason() {
    let score = |score: f64| Fidelity { score, names: 50, kept: 40, lost: vec!["a_name".into()] };
    let roomy = Pressure { fixed: 1_000, auto: 20_000, summary: 5_000, refused: 0 };
    let told = |now: f64, before: Option<f64>, hindsight: Option<f64>, pressure: Pressure| {
        let hindsight = hindsight.map(|score| Fidelity {
            score,
            names: 10,
            kept: (score * 10.0) as u64,
            lost: vec!["b_name".into()],
        });
        warning(&score(now), before, hindsight.as_ref(), pressure)
    };
    assert_eq!(told(0.95, Some(0.97), Some(1.0), roomy), None);
    assert_eq!(told(0.95, None, None, roomy), None);
    let fell = told(0.85, Some(0.97), None, roomy).unwrap();
    assert!(
        fell.starts_with("fidelity fell from 0.97 to 0.85: the summary (5000 tokens)"),
        "{fell}"
    );
    assert!(fell.ends_with("a_name"), "{fell}");
    let full = told(0.5, None, None, Pressure { fixed: 9_000, ..roomy }).unwrap();
    assert!(
        full.contains(
            "the system prompt and the tools take 9000 tokens, and compaction starts at 20000 tokens"
        ),
        "{full}"
    );
    let tight = told(0.5, None, None, Pressure { refused: 2, ..roomy }).unwrap();
    assert!(tight.contains("2 earlier attempts at this compaction were rejected"), "{tight}");
    let missed = told(0.95, None, Some(0.5), roomy).unwrap();
    assert!(missed.contains("lacked 5 of the 10 names") && missed.ends_with("b_name"), "{missed}");
}
