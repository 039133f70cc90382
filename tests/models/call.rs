//! Tests streaming calls, with the client alone and with the loop of a fork.

use std::time::{Duration, Instant};

use bethink_agent::{AgentStep, Budget, Ended, Finished, Fork, Host, Waited};
use bethink_model::{ErrorClass, ModelError};
use bethink_model_http::{Endpoint, HttpLimits, KeySource, Provider};
use bethink_model_server::{Fault, Script, Server, Split, Wire};
use bethink_transcript::TokenUsage;

use crate::expect::{self, Expect};
use crate::prompt;
use crate::table::Cell;

/// Time limit for silence. Short, so that the table is ready soon, but long enough for a busy machine.
const IDLE: Duration = Duration::from_millis(1000);
const CONNECT: Duration = Duration::from_millis(700);
/// Time limit for one cell of the table.
const DEADLINE: Duration = Duration::from_secs(6);
/// Shorter than the limit for silence, so that only a deadline ends the call.
const DRIP_MS: u64 = 100;
const EVENT: usize = 256 << 10;
const ANSWER: usize = 4 << 20;
/// Maximum number of calls for one answer, as the recovery guarantees.
const MOST_CALLS: u64 = bethink_model::recovery::MAX_CALLS as u64;
const TURNS: u32 = 3;
const KEY: &str = "sk-canary-4711";
const BUDGET: Budget =
    Budget { turns: TURNS, tokens: 10_000_000, cost: 1_000_000, calls: 32, max_output: 8_000 };

/// The server has this fault every time.
pub(crate) fn always(fault: Fault, wire: Wire, stream: bool) -> Cell {
    let run = Run::new(Script { drip_ms: DRIP_MS, ..Script::always(fault) }, wire, stream);
    let mut wrong = run.wrong();
    wrong.extend(run.unexpected(expect::call(fault, wire, stream)));
    if fault.is_permanent() && !fault.is_overflow() && run.requests() > 2 {
        wrong.push("a refusal for good was followed by more than one changed request".to_owned());
    }
    let column = match (wire, stream) {
        (Wire::Anthropic, true) => "messages, streamed",
        (Wire::Anthropic, false) => "messages, whole",
        (Wire::OpenAi | Wire::Responses | Wire::Gemini, _) => "chat, streamed",
    };
    run.cell(column, wrong)
}

/// The server has this fault once.
pub(crate) fn once(fault: Fault, wire: Wire) -> Cell {
    let run = Run::new(Script { drip_ms: DRIP_MS, ..Script::first(&[fault]) }, wire, true);
    let mut wrong = run.wrong();
    if expect::heals(fault) != run.is_answer() {
        wrong.push(format!("once: {}", run.came()));
    }
    run.cell("messages, once", wrong)
}

/// Returns the result of an answer whose stream is split in this way.
pub(crate) fn cut(split: Split, fault: Option<Fault>, wire: Wire) -> String {
    let script = fault.map_or_else(Script::good, Script::always);
    let server = Server::start(Script { split, ..script }).unwrap();
    let request = prompt::request();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let reply = runtime.block_on(async {
        let model = bethink_model_http::open(&endpoint(&server.url(), wire, true)).unwrap();
        model.call(&request).await.unwrap()
    });
    reply.text()
}

/// Returns how a call to this address ends.
pub(crate) fn nowhere(url: &str) -> ErrorClass {
    let request = prompt::request();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let ended = runtime.block_on(async {
        let model = bethink_model_http::open(&endpoint(url, Wire::Anthropic, true)).unwrap();
        let fork = Fork { request: &request, budget: BUDGET, tools: &[] };
        let run = bethink_agent::run(fork, model.as_ref(), &World);
        tokio::time::timeout(DEADLINE * 2, run).await.expect("it ends by itself")
    });
    ended.unwrap_err().class
}

struct Run {
    server: Server,
    /// `None` if the deadline ended it.
    ended: Option<Result<Finished, ModelError>>,
    took: Duration,
}

impl Run {
    fn new(script: Script, wire: Wire, stream: bool) -> Self {
        let server = Server::start(script).unwrap();
        let request = prompt::request();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let start = Instant::now();
        let ended = runtime.block_on(async {
            let model = bethink_model_http::open(&endpoint(&server.url(), wire, stream)).unwrap();
            let fork = Fork { request: &request, budget: BUDGET, tools: &[] };
            tokio::time::timeout(DEADLINE, bethink_agent::run(fork, model.as_ref(), &World))
                .await
                .ok()
        });
        Self { server, ended, took: start.elapsed() }
    }

    fn requests(&self) -> u64 {
        self.server.counts().requests
    }

    fn is_answer(&self) -> bool {
        matches!(&self.ended, Some(Ok(Finished { ended: Ended::Done | Ended::OutOf(_), .. })))
    }

    fn came(&self) -> String {
        match &self.ended {
            None => "deadline".to_owned(),
            Some(Err(error)) => error.class.to_string(),
            Some(Ok(Finished { ended: Ended::Failed(error), .. })) => {
                format!("then {}", error.class)
            }
            Some(Ok(Finished { ended: Ended::OutOf(budget), .. })) => format!("out of {budget}"),
            Some(Ok(Finished { last, .. })) => match last.usage_doubtful {
                true => "answer, usage doubtful".to_owned(),
                false => "answer".to_owned(),
            },
        }
    }

    /// Returns the errors that must not occur with any fault.
    fn wrong(&self) -> Vec<String> {
        let counts = self.server.counts();
        let mut wrong = Vec::new();
        let mut never =
            |is: bool, what: &str| wrong.extend(is.then(|| format!("{what}: {counts:?}")));
        never(self.took > DEADLINE + Duration::from_secs(2), "past its deadline");
        never(counts.invalid_prompts > 0, "invalid prompts");
        never(counts.invalid_envelopes > 0, "invalid envelopes");
        never(counts.repeated > 0, "a refused request was sent again unchanged");
        never(counts.elsewhere > 0, "a redirect was followed");
        never(counts.requests > MOST_CALLS * u64::from(TURNS), "more calls than the ladder has");
        never(counts.requests == 0, "no request");
        wrong.extend(growing(&self.server));
        if let Some(Err(error)) = &self.ended {
            let clean =
                !error.message.contains(KEY) && !error.message.chars().any(char::is_control);
            wrong.extend((!clean).then(|| format!("the message {:?}", error.message)));
        }
        wrong
    }

    fn unexpected(&self, expect: Expect) -> Option<String> {
        let class = match &self.ended {
            Some(Err(error)) => Some(error.class),
            Some(Ok(Finished { ended: Ended::Failed(error), .. })) => Some(error.class),
            _ => None,
        };
        let fits = match (expect, class) {
            (Expect::Deadline, None) => self.ended.is_none(),
            (Expect::Answer, None) => self.is_answer(),
            (Expect::Error(allowed), Some(class)) => allowed.contains(&class),
            (Expect::Either(_), None) => self.is_answer(),
            (Expect::Either(allowed), Some(class)) => allowed.contains(&class),
            _ => false,
        };
        (!fits).then(|| format!("{} instead of {expect:?}: {:?}", self.came(), self.ended))
    }

    fn cell(self, column: &'static str, wrong: Vec<String>) -> Cell {
        Cell { column, came: self.came(), requests: self.requests(), took: self.took, wrong }
    }
}

/// Finds a request after an overflow that is not smaller than the rejected one.
pub(crate) fn growing(server: &Server) -> Option<String> {
    let seen = server.requests();
    let refused = |fault: Option<Fault>| fault.is_some_and(Fault::is_overflow);
    let grew = seen
        .windows(2)
        .find(|pair| refused(pair[0].fault) && weight(&pair[1].json) >= weight(&pair[0].json));
    grew.map(|pair| format!("request {} is not smaller than the refused one", pair[1].number))
}

/// Returns the size that an overflow depends on: the prompt and the output limit.
fn weight(body: &serde_json::Value) -> usize {
    let limit = ["max_tokens", "max_completion_tokens"].iter().find_map(|key| body[*key].as_u64());
    body["messages"].to_string().len() + usize::try_from(limit.unwrap_or(0)).unwrap_or(0)
}

fn endpoint(url: &str, wire: Wire, streaming: bool) -> Endpoint {
    Endpoint {
        provider: match wire {
            Wire::Anthropic => Provider::Anthropic,
            Wire::OpenAi | Wire::Responses => Provider::OpenAi,
            Wire::Gemini => Provider::Gemini,
        },
        base_url: url.to_owned(),
        key: KeySource::Command(format!("printf {KEY}")),
        allow_plain_http: false,
        streaming,
        limits: HttpLimits { connect: CONNECT, idle: IDLE, event: EVENT, answer: ANSWER },
    }
}

/// A host whose waits end at once.
pub(crate) struct World;

impl Host for World {
    fn wait(&self, _: Duration) -> Waited<'_> {
        Box::pin(async {})
    }

    fn cost(&self, _: &str, _: &TokenUsage) -> Option<u64> {
        None
    }

    fn record(&self, _: &AgentStep) {}
}
