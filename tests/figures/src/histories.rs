//! Runs generated histories with random cuts and decisions through the engines, and checks the prompts with an
//! independent validator.

use std::sync::Arc;

use bethink_context::budget::{self, BudgetLimits};
use bethink_context::decision::ClearedResult;
use bethink_context::microcompact::{self, MicrocompactLimits};
use bethink_context::{
    Attachment, Boundary, Decision, Decisions, Hints, History, HistoryEntry, ViewOptions, assemble,
    snip, view,
};
use bethink_harness::history::{Shape, history};
use bethink_harness::{Rng, prompt};
use bethink_transcript::arrange::Repair;
use bethink_transcript::cuts::cut_points;
use bethink_transcript::message::MessageSource;
use bethink_transcript::{
    Message, MessageId, MessageMeta, Seq, ToolSelection, UnixMicros, ValidPrompt,
};
use bytes::Bytes;
use serde_json::Value;

/// The results of many histories.
#[derive(Clone, Debug, Default)]
pub struct Tried {
    pub tried: usize,
    /// Seed and problem of each history with an invalid prompt.
    pub invalid: Vec<(u64, String)>,
    /// Number of histories that were cut, and of those that at least one stage changed.
    pub cut: usize,
    pub changed: usize,
}

/// Tries `count` histories with consecutive seeds from `seed` on, on all cores.
pub fn run(count: usize, seed: u64) -> Tried {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = count.div_ceil(threads).max(1);
    let parts = (0..count).step_by(share).map(|from| (from, share.min(count - from)));
    std::thread::scope(|scope| {
        let workers: Vec<_> = parts
            .map(|(from, count)| scope.spawn(move || stretch(count, seed + from as u64)))
            .collect();
        let tried = workers.into_iter().map(|worker| worker.join().expect("a worker"));
        tried.fold(Tried::default(), Tried::and)
    })
}

impl Tried {
    fn and(mut self, other: Self) -> Self {
        self.tried += other.tried;
        self.invalid.extend(other.invalid);
        self.cut += other.cut;
        self.changed += other.changed;
        self
    }
}

fn stretch(count: usize, seed: u64) -> Tried {
    let mut all = Tried::default();
    for one in (seed..).take(count) {
        all.tried += 1;
        let mut case = Case::new(one);
        case.decide();
        all.cut += usize::from(case.decisions.boundary.is_some());
        all.changed += usize::from(case.decisions.has_replaced());
        if let Err(fault) = case.check() {
            all.invalid.push((one, fault));
        }
    }
    all
}

struct Case {
    rng: Rng,
    unbroken: bool,
    source: Vec<Value>,
    history: History,
    decisions: Decisions,
}

impl Case {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let shape = Shape::any(&mut rng);
        let source = self::history(&mut rng, shape);
        let mut history = History::default();
        for (message, seq) in source.iter().zip(1..) {
            let id = MessageId::new(&format!("m{seq}")).expect("an id");
            let meta = MessageMeta { seq: Seq(seq), id, created_at: UnixMicros(seq as i64) };
            let raw = Bytes::from(message.to_string());
            let message = Message::parse(meta, raw, MessageSource::Client)
                .unwrap_or_else(|e| panic!("seed {seed}: a well-formed message is refused: {e}"));
            history.push(HistoryEntry::new(Arc::new(message)));
        }
        Self { rng, unbroken: !shape.broken, source, history, decisions: Decisions::default() }
    }

    /// Applies a random cut, and random stages and attachments.
    fn decide(&mut self) {
        let boundary = self.rng.one_in(2).then(|| self.boundary());
        self.decisions = Decisions::new(boundary, &self.history);
        let mut records = Vec::new();
        if self.rng.one_in(2) {
            let attachment = self.attachment();
            records.push(Decision::Attached(attachment));
        }
        self.apply(records);
        let hints = Hints { session: "s".to_owned() };
        if self.rng.one_in(2) {
            let limits = BudgetLimits {
                result_chars: self.rng.below(3000) as u64,
                results_chars: self.rng.below(5000) as u64,
                ..BudgetLimits::default()
            };
            let (records, _) = budget::decide(&self.history, &self.decisions, &limits, &hints);
            self.apply(records);
        }
        if self.rng.one_in(3) {
            let (records, _) = snip::decide(&self.history, &self.decisions, &hints);
            self.apply(records);
        }
        if self.rng.one_in(2) {
            let limits = MicrocompactLimits {
                idle_minutes: 60,
                keep: self.rng.below(3),
                above: 1,
                tools: ToolSelection::new(["Read", "Bash", "Grep"]),
            };
            let now = UnixMicros(0);
            let (records, _) =
                microcompact::decide(&self.history, &self.decisions, &limits, None, now, &hints);
            self.apply(records);
        }
        if self.rng.one_in(4) {
            let through = self.seq();
            self.apply(vec![Decision::Shown { through }]);
        }
        if self.rng.one_in(4) {
            let boundary = self.boundary();
            self.decisions = self.decisions.rebased(boundary, &self.history);
        }
    }

    fn apply(&mut self, records: Vec<Decision>) {
        for record in records {
            self.decisions.apply(&record, &self.history);
        }
    }

    fn boundary(&mut self) -> Boundary {
        let messages = self.history.entries().iter().map(|e| &*e.message);
        let cut = *self.rng.pick(&cut_points(messages));
        let kept_from = Seq(cut as u64 + 1);
        let results: Vec<ClearedResult> = self
            .history
            .from(kept_from)
            .iter()
            .flat_map(|e| e.message.tool_results().map(|(id, _, _)| (id.clone(), e.message.seq)))
            .map(|(tool_use_id, seq)| ClearedResult {
                tool_use_id,
                seq,
                text: "clipped".to_owned(),
            })
            .collect();
        let clipped = results.into_iter().filter(|_| self.rng.one_in(3)).collect();
        let restored = (0..self.rng.below(3)).map(|_| self.attachment()).collect();
        Boundary {
            id: "b".to_owned(),
            kept_from,
            made_after: self.history.last_seq(),
            marker: "(compacted)".to_owned(),
            summary: "1. Primary Request and Intent".to_owned(),
            tokens: 9,
            restored,
            clipped,
        }
    }

    fn attachment(&mut self) -> Attachment {
        let text = (*self.rng.pick(&["todos: none", "plan\n", "<x>&\"\\"])).to_owned();
        Attachment {
            after: self.seq(),
            what: "todos".to_owned(),
            name: String::new(),
            text,
            tokens: 5,
        }
    }

    fn seq(&mut self) -> Seq {
        Seq(self.rng.below(self.source.len() + 1) as u64)
    }

    /// Checks the bytes that a provider would receive.
    fn check(&mut self) -> Result<(), String> {
        let options = ViewOptions { preserved_thinking: self.rng.one_in(2) };
        let view = view(&self.history, &self.decisions, options);
        if view.messages.is_empty() {
            return self.is_blank();
        }
        if self.unbroken
            && let Some(repair) =
                view.repairs.iter().find(|r| !matches!(r, Repair::MediaDropped { .. }))
        {
            return Err(format!("an unbroken history was mended: {repair:?}"));
        }
        let prompt = ValidPrompt::check(view.messages).map_err(|f| format!("refused: {f:?}"))?;
        let body = assemble(&prompt, &[], "[]", self.decisions.boundary.is_some());
        let messages: Vec<Value> = serde_json::from_slice(&body.messages)
            .map_err(|e| format!("not JSON: {e}: {}", String::from_utf8_lossy(&body.messages)))?;
        let faults = prompt::faults(&messages);
        if !faults.is_empty() {
            return Err(format!("{faults:?}"));
        }
        let edited = self.decisions.boundary.is_some();
        if options.preserved_thinking && edited && prompt::thinks(&messages) {
            return Err("thinking after an edit, where the model would notice".to_owned());
        }
        match prompt::thinking_kept(&self.source, &messages) {
            true => Ok(()),
            false => Err("thinking was changed or moved".to_owned()),
        }
    }

    /// A missing prompt is correct only if the history is empty.
    fn is_blank(&self) -> Result<(), String> {
        let from = usize::try_from(self.decisions.kept_from().0.saturating_sub(1)).unwrap_or(0);
        let shown = self.source.get(from..).unwrap_or_default().iter().flat_map(prompt::blocks);
        let said = shown
            .filter(|b| b["type"] == "text")
            .any(|b| b["text"].as_str().is_some_and(|text| !text.trim().is_empty()));
        if said { Err("nothing is shown of a history with text".to_owned()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of histories in a debug build; the figures program tries 200,000.
    const COUNT: usize = 5_000;

    #[test]
    fn no_generated_history_gives_an_invalid_prompt() {
        let seed = std::env::var("BETHINK_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
        let all = run(COUNT, seed);
        println!(
            "histories tried {} from seed {seed}: cut {}, changed {}, invalid {}",
            all.tried,
            all.cut,
            all.changed,
            all.invalid.len()
        );
        assert!(all.invalid.is_empty(), "{:#?}", &all.invalid[..all.invalid.len().min(5)]);
        assert!(all.cut > COUNT / 4 && all.changed > COUNT / 10, "{all:?}");
    }
}
