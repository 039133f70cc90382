use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bethink_model::{Answer, Counted, Figures, Hearer, Silence, Stop};
use bethink_transcript::message::{MessageMeta, Source};
use bethink_transcript::{
    Block, BlockKind, Message, MessageId, PromptMessage, Role, Seq, UnixMicros, ValidPrompt,
};
use bytes::Bytes;

use super::*;
use crate::fork::Budget;
use crate::host::Waited;
use crate::tool::{Call, Done, Permit, Tool};

mod hostile;

/// Answers in turn, and remembers what it was asked; with nothing left to say it repeats its last words.
#[derive(Debug)]
struct Script {
    answers: Mutex<VecDeque<Result<Reply, ModelError>>>,
    asked: Mutex<Vec<Request>>,
}

impl Script {
    fn new(answers: impl IntoIterator<Item = Result<Reply, ModelError>>) -> Self {
        Self { answers: Mutex::new(answers.into_iter().collect()), asked: Mutex::default() }
    }

    fn asked(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }
}

impl Model for Script {
    fn provider(&self) -> &'static str {
        "anthropic"
    }

    fn call<'a>(&'a self, request: &'a Request, _: &'a dyn Hearer) -> Answer<'a> {
        self.asked.lock().unwrap().push(request.clone());
        let mut answers = self.answers.lock().unwrap();
        let next = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        Box::pin(async move { next.unwrap() })
    }

    fn count<'a>(&'a self, _: &'a Request) -> Counted<'a> {
        Box::pin(async { Ok(None) })
    }
}

/// Time passes at once; a call costs what `price` says.
#[derive(Default)]
struct World {
    steps: Mutex<Vec<Step>>,
    waits: Mutex<Vec<Duration>>,
    price: Option<u64>,
}

impl Host for World {
    fn wait(&self, time: Duration) -> Waited<'_> {
        self.waits.lock().unwrap().push(time);
        Box::pin(async {})
    }

    fn cost(&self, _: &str, _: &Usage) -> Option<u64> {
        self.price
    }

    fn record(&self, step: &Step) {
        self.steps.lock().unwrap().push(step.clone());
    }
}

/// Edits one file and nothing else; says what it did.
#[derive(Default)]
struct Edit {
    made: Mutex<Vec<String>>,
}

const NOTES: &str = r#"{"path":"notes.md"}"#;

impl Tool for Edit {
    fn name(&self) -> &str {
        "edit"
    }

    fn permit(&self, call: Call<'_>) -> Permit {
        if call.input == NOTES { Permit::Allow } else { Permit::Deny("only notes.md".to_owned()) }
    }

    fn run<'a>(&'a self, call: Call<'a>) -> Done<'a> {
        self.made.lock().unwrap().push(call.input.to_owned());
        Box::pin(async { Ok("edited".to_owned()) })
    }
}

const BUDGET: Budget =
    Budget { turns: 3, tokens: 1_000_000, cost: 1_000_000, calls: 5, max_output: 4_000 };

/// Runs it to its end without a runtime; what never gets ready fails the test.
fn finish<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..1_000 {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
    panic!("it hangs")
}

fn forked(
    script: &Script,
    world: &World,
    tools: &[&dyn Tool],
    budget: Budget,
) -> Result<Finished, ModelError> {
    let request = instruction();
    finish(run(Fork { request: &request, budget, tools, heard: &Silence }, script, world))
}

fn instruction() -> Request {
    Request {
        model: "small".to_owned(),
        system: Bytes::from_static(b"[]"),
        tools: Bytes::from_static(b"[]"),
        prompt: ValidPrompt::check(vec![PromptMessage::said("Take notes.", Seq(1), 3)]).unwrap(),
        marks: Vec::new(),
        max_tokens: 1_000,
    }
}

/// Thirty rounds of words, then the instruction.
fn long_instruction() -> Request {
    let said = |role, text: &str| PromptMessage { role, ..PromptMessage::said(text, Seq(1), 30) };
    let words = "word ".repeat(40);
    let mut messages: Vec<PromptMessage> = (0..30)
        .flat_map(|_| [said(Role::User, "question"), said(Role::Assistant, &words)])
        .collect();
    messages.push(said(Role::User, "Summarise."));
    Request { prompt: ValidPrompt::check(messages).unwrap(), ..instruction() }
}

fn blocks(blocks: &[String]) -> Vec<Block> {
    let raw = format!(r#"{{"role":"assistant","content":[{}]}}"#, blocks.join(","));
    let meta =
        MessageMeta { seq: Seq(1), id: MessageId::new("m").unwrap(), created_at: UnixMicros(0) };
    Message::parse(meta, Bytes::from(raw), Source::Client).unwrap().blocks.into_vec()
}

fn reply(stop: Stop, content: &[String]) -> Reply {
    Reply {
        id: "msg_1".to_owned(),
        model: "small".to_owned(),
        content: blocks(content),
        stop,
        usage: Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() },
        usage_doubtful: false,
    }
}

fn text(text: &str) -> String {
    serde_json::json!({"type": "text", "text": text}).to_string()
}

fn call(id: &str, name: &str, input: &str) -> String {
    format!(r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{input}}}"#)
}

fn says(words: &str) -> Result<Reply, ModelError> {
    Ok(reply(Stop::EndTurn, &[text(words)]))
}

fn calls(content: &[String]) -> Result<Reply, ModelError> {
    Ok(reply(Stop::ToolUse, content))
}

fn fails(class: Class) -> Result<Reply, ModelError> {
    Err(ModelError::new(class, "it failed"))
}

/// What the model reads after its own words: the prompt from message `from` on, one block a line.
fn reads(request: &Request, from: usize) -> String {
    let messages = request.prompt.messages().iter().enumerate().skip(from);
    let lines = messages.flat_map(|(at, message)| {
        message.blocks.iter().map(move |block| {
            let shown = Block::shown(block.json.clone(), block.kind.clone());
            let what = match &block.kind {
                BlockKind::ToolResult { tool_use_id, is_error } => {
                    let state = if *is_error { "error" } else { "ok" };
                    format!("{} {state}: {}", tool_use_id.as_str(), shown.text())
                }
                BlockKind::Text => shown.text().into_owned(),
                _ => shown.as_str().to_owned(),
            };
            format!("{at} {}: {what}", message.role)
        })
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn one_answer_without_calls_is_the_end() {
    let (script, world) = (Script::new([says("a summary")]), World::default());
    let done = forked(&script, &world, &[], BUDGET).unwrap();
    assert_eq!((done.text.as_str(), &done.ended, done.turns), ("a summary", &Ended::Done, 1));
    assert_eq!(done.usage.total(), 15);
    assert_eq!(script.asked()[0].messages_json(), instruction().messages_json());
    assert!(world.steps.lock().unwrap().is_empty());
}

#[test]
fn allowed_calls_are_made_and_answered_in_order_in_one_message() {
    let thought = r#"{"type":"thinking", "thinking":"hm\u0020","signature":"s"}"#.to_owned();
    let first = [
        thought,
        text("I edit. "),
        call("t1", "edit", NOTES),
        call("t2", "edit", r#"{"path":"../notes.md"}"#),
        call("t3", "edit", NOTES),
    ];
    let (script, world, edit) =
        (Script::new([calls(&first), says("done")]), World::default(), Edit::default());
    let done = forked(&script, &world, &[&edit], BUDGET).unwrap();
    assert_eq!((done.text.as_str(), &done.ended, done.turns), ("done", &Ended::Done, 2));
    assert_eq!(edit.made.lock().unwrap().len(), 2);
    assert_eq!(done.denials.len(), 1);
    let second = &script.asked()[1];
    insta::assert_snapshot!(reads(second, 1), @r#"
    1 assistant: {"type":"thinking", "thinking":"hm\u0020","signature":"s"}
    1 assistant: I edit. 
    1 assistant: {"type":"tool_use","id":"t1","name":"edit","input":{"path":"notes.md"}}
    1 assistant: {"type":"tool_use","id":"t2","name":"edit","input":{"path":"../notes.md"}}
    1 assistant: {"type":"tool_use","id":"t3","name":"edit","input":{"path":"notes.md"}}
    2 user: t1 ok: edited
    2 user: t2 error: Denied: only notes.md
    2 user: t3 ok: edited
    "#);
    let first = script.asked()[0].messages_json();
    assert!(second.messages_json().starts_with(first.strip_suffix(b"]").unwrap()));
    let ok = |ok| Step::Called { tool: "edit".to_owned(), ok };
    let denied = Step::Denied(done.denials[0].clone());
    assert_eq!(*world.steps.lock().unwrap(), [denied, ok(true), ok(true)]);
}

#[test]
fn what_is_not_allowed_is_denied_and_the_model_told_why() {
    let huge = format!(r#"{{"path":"{}"}}"#, "x".repeat(300_000));
    let first = [
        call("t1", "bash", "{}"),
        call("t2", "edit", "{}"),
        call("t1", "edit", NOTES),
        call("t3", "", NOTES),
        call("t4", "edit file\\u0007", NOTES),
        call("t5", "edit", "[1]"),
        call("t6", "edit", "null"),
        call("t7", "edit", &huge),
        call("t8", "edit", NOTES),
    ];
    let (script, world, edit) =
        (Script::new([calls(&first), says("well")]), World::default(), Edit::default());
    let done = forked(&script, &world, &[&edit], BUDGET).unwrap();
    assert_eq!(done.denials.len(), 9);
    assert!(edit.made.lock().unwrap().is_empty());
    insta::assert_snapshot!(reads(&script.asked()[1], 1), @r#"
    1 assistant: {"type":"tool_use","id":"t1","name":"bash","input":{}}
    1 assistant: {"type":"tool_use","id":"t2","name":"edit","input":{}}
    1 assistant: {"type":"tool_use","id":"t8","name":"edit","input":{"path":"notes.md"}}
    2 user: t1 error: "bash" may not be called here. Allowed: edit.
    2 user: t2 error: Denied: only notes.md
    2 user: t8 error: Not called: at most 5 calls in one answer. Call it in your next one.
    2 user: A call of "edit" was left out: its id was used before.
    A call of "" was left out: a tool's name has 1 to 128 letters, digits, _ or -.
    A call of "edit file" was left out: a tool's name has 1 to 128 letters, digits, _ or -.
    A call of "edit" was left out: its input is not a JSON object.
    A call of "edit" was left out: its input is not a JSON object.
    A call of "edit" was left out: its input has 300011 bytes, at most 262144 are allowed.
    "#);
}

/// Denies at length.
struct Talks;

impl Tool for Talks {
    fn name(&self) -> &str {
        "talk"
    }

    fn permit(&self, _: Call<'_>) -> Permit {
        Permit::Deny("no ".repeat(10_000))
    }

    fn run<'a>(&'a self, _: Call<'a>) -> Done<'a> {
        Box::pin(async { Ok(String::new()) })
    }
}

#[test]
fn a_reason_is_bounded() {
    let script = Script::new([calls(&[call("t1", "talk", "{}")]), says("well")]);
    let done = forked(&script, &World::default(), &[&Talks], BUDGET).unwrap();
    assert!(done.denials[0].reason.len() < 600);
    assert!(reads(&script.asked()[1], 2).len() < 600);
}

#[test]
fn an_id_of_an_earlier_turn_is_used_too() {
    let same = [call("t1", "edit", NOTES)];
    let (script, world, edit) = (
        Script::new([calls(&same), calls(&same), says("well")]),
        World::default(),
        Edit::default(),
    );
    let done = forked(&script, &world, &[&edit], BUDGET).unwrap();
    assert_eq!((edit.made.lock().unwrap().len(), done.denials.len()), (1, 1));
    insta::assert_snapshot!(reads(&script.asked()[2], 1), @r#"
    1 assistant: {"type":"tool_use","id":"t1","name":"edit","input":{"path":"notes.md"}}
    2 user: t1 ok: edited
    2 user: A call of "edit" was left out: its id was used before.
    "#);
}

#[test]
fn a_fork_without_tools_is_told_once() {
    let first = [text("<summary>x</summary>"), call("t1", "edit", NOTES)];
    let again = [call("t2", "edit", NOTES)];
    let world = World::default();
    let script = Script::new([calls(&first), calls(&again), says("never asked for")]);
    let done = forked(&script, &world, &[], Budget { turns: 9, ..BUDGET }).unwrap();
    // Words that came with a call are not lost to a later turn without any.
    assert_eq!(done.text, "<summary>x</summary>");
    assert_eq!((done.ended, done.turns, done.denials.len()), (Ended::OutOf("denials"), 2, 2));
    insta::assert_snapshot!(reads(&script.asked()[1], 2), @"2 user: t1 error: No tools may be called here. Answer in words only.");
    let one = forked(&Script::new([calls(&first)]), &world, &[], Budget { turns: 1, ..BUDGET });
    let one = one.unwrap();
    assert_eq!((one.text.as_str(), one.ended), ("<summary>x</summary>", Ended::OutOf("turns")));
}

#[test]
fn an_endless_loop_of_calls_ends_at_the_budget() {
    let answer = |n: usize| calls(&[text("more"), call(&format!("t{n}"), "edit", NOTES)]);
    let (world, edit) = (World { price: Some(40), ..World::default() }, Edit::default());
    for (budget, ended, turns) in [
        (Budget { turns: 7, ..BUDGET }, "turns", 7),
        (Budget { turns: 99, tokens: 150, ..BUDGET }, "tokens", 3),
        (Budget { turns: 99, cost: 100, ..BUDGET }, "cost", 3),
    ] {
        let script = Script::new((0..99).map(answer));
        let done = forked(&script, &world, &[&edit], budget).unwrap();
        assert_eq!((done.ended, done.turns), (Ended::OutOf(ended), turns));
        assert_eq!(script.asked().len(), turns as usize);
    }
}

#[test]
fn without_a_budget_nothing_is_asked() {
    for budget in [Budget { turns: 0, ..BUDGET }, Budget { tokens: 2, ..BUDGET }] {
        let script = Script::new([says("x")]);
        let error = forked(&script, &World::default(), &[], budget).unwrap_err();
        assert_eq!(error.class, Class::Forbidden);
        assert!(script.asked().is_empty());
    }
    // A model that costs nothing needs no money.
    let free = Budget { cost: 0, ..BUDGET };
    assert!(forked(&Script::new([says("x")]), &World::default(), &[], free).is_ok());
}

#[test]
fn doubtful_figures_count_as_what_was_sent() {
    let answer = |n: usize| {
        let reply = reply(Stop::ToolUse, &[call(&format!("t{n}"), "edit", NOTES)]);
        Ok(Reply { usage: Usage::default(), usage_doubtful: true, ..reply })
    };
    let script = Script::new((0..99).map(answer));
    let budget = Budget { turns: 99, tokens: 300, ..BUDGET };
    let done = forked(&script, &World::default(), &[&Edit::default()], budget).unwrap();
    assert_eq!(done.ended, Ended::OutOf("tokens"));
    // About 45 tokens more with every turn, each of which sends all that came before.
    assert!(done.turns <= 4 && done.usage.total() == 0, "{} turns", done.turns);
}

#[test]
fn failures_are_recovered_from_and_every_step_is_told() {
    let figures = Figures { input: Some(1_000), limit: Some(900), ..Figures::default() };
    let overflow = ModelError { figures, ..ModelError::new(Class::Overflow, "too long") };
    let script = Script::new([fails(Class::Overloaded), Err(overflow.clone()), says("a summary")]);
    let (world, request) = (World::default(), long_instruction());
    let fork = Fork { request: &request, budget: BUDGET, tools: &[], heard: &Silence };
    let done = finish(run(fork, &script, &world)).unwrap();
    assert_eq!((done.text.as_str(), done.turns), ("a summary", 1));
    let asked = script.asked();
    assert_eq!(asked[0].messages_json(), asked[1].messages_json());
    assert!(asked[2].prompt.tokens() + 100 <= asked[1].prompt.tokens());
    assert_eq!(*world.waits.lock().unwrap(), [Duration::from_secs(1)]);
    let weight = |n: usize| asked[n].weight();
    let change = "asked again";
    let overloaded = ModelError::new(Class::Overloaded, "it failed");
    let expected = [
        Step::Failed { error: overloaded, attempt: 1 },
        Step::Again { change, wait: Duration::from_secs(1), weight: weight(1) },
        Step::Failed { error: overflow, attempt: 2 },
        Step::Again { change: "oldest rounds dropped", wait: Duration::ZERO, weight: weight(2) },
    ];
    assert_eq!(*world.steps.lock().unwrap(), expected);
}

#[test]
fn the_instruction_and_what_followed_it_outlive_every_drop() {
    let figures = Figures { over: Some(u64::MAX), ..Figures::default() };
    let overflow = || Err(ModelError { figures, ..ModelError::new(Class::Overflow, "too long") });
    let part = || Ok(reply(Stop::MaxTokens, &[text("half, ")]));
    let first = [text("a half"), call("t1", "edit", NOTES)];
    let budget = Budget { max_output: 1, ..BUDGET };
    for script in [
        Script::new([overflow(), part(), calls(&first), says("done")]),
        Script::new([part(), overflow(), calls(&first), says("done")]),
        Script::new([part(), calls(&first), overflow(), says("done")]),
    ] {
        let (world, edit, request) = (World::default(), Edit::default(), long_instruction());
        let fork = Fork { request: &request, budget, tools: &[&edit], heard: &Silence };
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

/// Hears everything.
struct Listens;

impl Hearer for Listens {
    fn listens(&self) -> bool {
        true
    }

    fn text(&self, _: &str) {}
}

#[test]
fn what_was_heard_is_not_begun_again() {
    let part = Ok(reply(Stop::MaxTokens, &[text("one, ")]));
    let script = Script::new([part, says("two")]);
    let request = instruction();
    let fork = Fork { request: &request, budget: BUDGET, tools: &[], heard: &Listens };
    let done = finish(run(fork, &script, &World::default())).unwrap();
    assert_eq!((done.text.as_str(), script.asked()[1].max_tokens), ("one, two", 1_000));
}

#[test]
fn a_first_call_that_fails_for_good_is_an_error_and_a_later_one_an_end() {
    let world = World::default();
    let error = forked(&Script::new([fails(Class::Auth)]), &world, &[], BUDGET).unwrap_err();
    assert_eq!(error.class, Class::Auth);
    assert!(matches!(world.steps.lock().unwrap()[..], [Step::Failed { .. }, Step::GaveUp { .. }]));
    let first = [text("I edit."), call("t1", "edit", NOTES)];
    let script = Script::new([calls(&first), fails(Class::Quota)]);
    let edit = Edit::default();
    let done = forked(&script, &world, &[&edit], BUDGET).unwrap();
    assert!(matches!(&done.ended, Ended::Failed(error) if error.class == Class::Quota));
    assert_eq!(
        (done.text.as_str(), done.turns, edit.made.lock().unwrap().len()),
        ("I edit.", 1, 1)
    );
}

#[test]
fn a_long_answer_is_put_together_from_its_parts() {
    let part = |words: &str| Ok(reply(Stop::MaxTokens, &[text(words)]));
    let script = Script::new([part("void"), part("one, "), part("two, "), says("three")]);
    let budget = Budget { turns: 1, max_output: 2_000, ..BUDGET };
    let done = forked(&script, &World::default(), &[], budget).unwrap();
    assert_eq!((done.text.as_str(), &done.ended, done.turns), ("one, two, three", &Ended::Done, 1));
    let limits: Vec<u64> = script.asked().iter().map(|request| request.max_tokens).collect();
    assert_eq!(limits, [1_000, 2_000, 2_000, 2_000]);
    assert_eq!(done.usage.total(), 60);
    insta::assert_snapshot!(reads(&script.asked()[3], 1), @r"
    1 assistant: one, 
    2 user: Your answer was cut off. Continue exactly where you stopped, without repeating anything.
    3 assistant: two, 
    4 user: Your answer was cut off. Continue exactly where you stopped, without repeating anything.
    ");
    // What came before a continuation failed stands.
    let script = Script::new([part("one, "), fails(Class::Invalid)]);
    let budget = Budget { max_output: 1, ..budget };
    let done = forked(&script, &World::default(), &[], budget).unwrap();
    assert_eq!(done.text, "one, ");
    assert!(matches!(done.ended, Ended::Failed(_)));
}

#[test]
fn a_call_in_an_answer_that_was_cut_off_is_not_made() {
    let cut = reply(Stop::MaxTokens, &[text("I"), call("t1", "edit", NOTES)]);
    let (script, edit) = (Script::new([Ok(cut), says("done")]), Edit::default());
    let budget = Budget { max_output: 1, ..BUDGET };
    let done = forked(&script, &World::default(), &[&edit], budget).unwrap();
    assert_eq!((edit.made.lock().unwrap().len(), done.denials.len()), (0, 1));
    insta::assert_snapshot!(reads(&script.asked()[1], 2), @"2 user: t1 error: Not called: the answer was cut off before its end. Call again, with less in one answer.");
}

/// Ends only once two of them have begun.
#[derive(Default)]
struct Meet(AtomicUsize);

impl Tool for Meet {
    fn name(&self) -> &str {
        "meet"
    }

    fn permit(&self, _: Call<'_>) -> Permit {
        Permit::Allow
    }

    fn run<'a>(&'a self, call: Call<'a>) -> Done<'a> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            let met = || self.0.load(Ordering::SeqCst) >= 2;
            poll_fn(|_| if met() { Poll::Ready(()) } else { Poll::Pending }).await;
            if call.input == "{}" { Ok("é".repeat(40_000)) } else { Err(" ".to_owned()) }
        })
    }
}

#[test]
fn calls_of_one_answer_run_at_the_same_time_and_their_output_is_bounded() {
    let first = [call("t1", "meet", "{}"), call("t2", "meet", r#"{"n":1}"#)];
    let script = Script::new([calls(&first), says("done")]);
    forked(&script, &World::default(), &[&Meet::default()], BUDGET).unwrap();
    let read = reads(&script.asked()[1], 2);
    let (long, empty) = read.split_once("\n2 user: t2").unwrap();
    assert!(long.ends_with("é\n[cut here: 80000 bytes in all]"), "{}", &long[long.len() - 60..]);
    assert!(long.len() < 50_100);
    assert_eq!(empty, " error: (no output)");
}

/// Never answers, and tells when nobody waits any more.
#[derive(Debug, Default)]
struct Hangs {
    dropped: Arc<AtomicBool>,
}

struct Notice(Arc<AtomicBool>);

impl Drop for Notice {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Model for Hangs {
    fn provider(&self) -> &'static str {
        "openai"
    }

    fn call<'a>(&'a self, _: &'a Request, _: &'a dyn Hearer) -> Answer<'a> {
        let notice = Notice(self.dropped.clone());
        Box::pin(async move {
            let _notice = notice;
            std::future::pending().await
        })
    }

    fn count<'a>(&'a self, _: &'a Request) -> Counted<'a> {
        Box::pin(async { Ok(None) })
    }
}

#[test]
fn to_drop_a_run_is_to_drop_its_call() {
    let (model, world, request) = (Hangs::default(), World::default(), instruction());
    let fork = Fork { request: &request, budget: BUDGET, tools: &[], heard: &Silence };
    let mut running: Pin<Box<dyn Future<Output = _> + Send>> = Box::pin(run(fork, &model, &world));
    let mut context = Context::from_waker(Waker::noop());
    assert!(running.as_mut().poll(&mut context).is_pending());
    assert!(!model.dropped.load(Ordering::SeqCst));
    drop(running);
    assert!(model.dropped.load(Ordering::SeqCst));
}
