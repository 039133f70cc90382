//! Random histories from a seed: valid ones as agents record them, and broken ones.
//!
//! Every single message is well-formed, so the daemon must accept it; only the structure between
//! messages may be broken.

use serde_json::{Value, json};

use crate::rng::Rng;

/// What history to make.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Steps of the conversation; one makes about one to eight messages.
    pub steps: usize,
    /// Adds results without a call, duplicates, missing results, blank texts, and blocks in the wrong role.
    pub broken: bool,
    /// Maximum bytes of a tool result.
    pub longest: usize,
}

impl Shape {
    /// A small one, broken or not; one in twenty has long results.
    pub fn any(rng: &mut Rng) -> Self {
        let longest = if rng.one_in(20) { 60_000 } else { 400 };
        Self { steps: 1 + rng.below(12), broken: rng.one_in(2), longest }
    }
}

/// Messages in the shape of `POST …/messages`.
pub fn history(rng: &mut Rng, shape: Shape) -> Vec<Value> {
    let mut maker =
        Maker { rng, shape, out: Vec::new(), made: 0, late: Vec::new(), ids: Vec::new() };
    let assistant_first = shape.broken && maker.rng.one_in(8);
    if !assistant_first {
        maker.speech();
    }
    for _ in 0..shape.steps {
        maker.step();
    }
    maker.out
}

struct Maker<'a> {
    rng: &'a mut Rng,
    shape: Shape,
    out: Vec<Value>,
    made: usize,
    /// Results that were held back, to come too late.
    late: Vec<Value>,
    /// Call ids used so far.
    ids: Vec<String>,
}

impl Maker<'_> {
    fn step(&mut self) {
        match self.rng.below(6) {
            0 => self.speech(),
            1 => self.answer(),
            _ => self.round(),
        }
        if self.rng.one_in(50) {
            self.gallery();
        }
        if self.shape.broken && self.rng.one_in(3) {
            self.mishap();
        }
    }

    /// The user writes a message.
    fn speech(&mut self) {
        let content = match self.rng.below(6) {
            0 => json!([text(&self.words()), image()]),
            1 => json!([text(&self.words()), unknown(), text(&self.words())]),
            2 => json!([text(&self.words()), {"type": "document", "source": {"type": "text",
                "media_type": "text/plain", "data": "page one"}}]),
            _ => Value::from(self.words()),
        };
        self.out.push(json!({"role": "user", "content": content}));
    }

    /// Many images: two such messages have more than a prompt may have.
    fn gallery(&mut self) {
        let images = vec![image(); 70 + self.rng.below(60)];
        self.out.push(json!({"role": "user", "content": images}));
    }

    /// The assistant answers without a call.
    fn answer(&mut self) {
        let mut blocks = Vec::new();
        if self.rng.one_in(3) {
            blocks.push(self.thinking());
        }
        blocks.push(text(&self.words()));
        self.assistant(None, blocks);
    }

    /// One assistant message in chunks, and the results of its calls.
    fn round(&mut self) {
        let calls: Vec<String> = (0..1 + self.rng.below(4)).map(|_| self.call_id()).collect();
        let message_id = format!("msg_{}", self.number());
        let mut chunks = self.chunks(&calls);
        let mut results: Vec<Value> = Vec::new();
        for id in &calls {
            if self.shape.broken && self.rng.one_in(8) {
                if self.rng.one_in(2) {
                    let late = self.result(id);
                    self.late.push(late);
                }
                continue;
            }
            results.push(self.result(id));
        }
        match self.rng.below(4) {
            // One assistant message, and one user message with all results.
            0 => {
                let blocks = chunks.into_iter().flatten().collect();
                self.assistant(Some(&message_id), blocks);
                self.results(results);
            }
            // All chunks, then all results, in any order, in one message or in several.
            1 => {
                chunks.drain(..).for_each(|chunk| self.assistant(Some(&message_id), chunk));
                self.rng.shuffle(&mut results);
                if self.rng.one_in(2) {
                    self.results(results);
                } else {
                    results.into_iter().for_each(|result| self.results(vec![result]));
                }
            }
            // Chunk, result, chunk, result: what clients record for parallel calls.
            _ => {
                for chunk in chunks {
                    let ids: Vec<String> = called(&chunk);
                    self.assistant(Some(&message_id), chunk);
                    let (now, later) = results.into_iter().partition(|result: &Value| {
                        ids.iter().any(|id| result["tool_use_id"] == id.as_str())
                    });
                    results = later;
                    self.results(now);
                }
            }
        }
    }

    /// Thinking, text and calls, cut into chunks.
    fn chunks(&mut self, calls: &[String]) -> Vec<Vec<Value>> {
        let mut blocks = Vec::new();
        if self.rng.one_in(2) {
            blocks.push(self.thinking());
        }
        if self.rng.one_in(2) {
            blocks.push(text(&self.words()));
        }
        for id in calls {
            blocks.push(self.call(id));
        }
        let mut chunks: Vec<Vec<Value>> = vec![Vec::new()];
        for block in blocks {
            match chunks.last_mut() {
                Some(chunk) if chunk.is_empty() || self.rng.one_in(2) => chunk.push(block),
                _ => chunks.push(vec![block]),
            }
        }
        chunks
    }

    fn results(&mut self, mut results: Vec<Value>) {
        if results.is_empty() {
            return;
        }
        // The user's text after the results, or, which is invalid, before them.
        if self.rng.one_in(10) {
            let place = if self.rng.one_in(2) { 0 } else { results.len() };
            let words = self.words();
            results.insert(place, text(&words));
        }
        self.out.push(json!({"role": "user", "content": results}));
    }

    /// Adds one invalid thing.
    fn mishap(&mut self) {
        match self.rng.below(11) {
            0 => {
                let orphan = self.result("toolu_of_nobody");
                self.out.push(json!({"role": "user", "content": [orphan]}));
            }
            1 => {
                if let Some(id) = self.known_id() {
                    let double = self.result(&id);
                    self.out.push(json!({"role": "user", "content": [double]}));
                }
            }
            2 => {
                if let Some(id) = self.known_id() {
                    let again = self.call(&id);
                    self.assistant(None, vec![again]);
                }
            }
            3 => {
                let blank = *self.rng.pick(&["", " ", "\n\t ", "\u{a0}"]);
                let role = *self.rng.pick(&["user", "assistant"]);
                self.out.push(json!({"role": role, "content": [text(blank)]}));
            }
            4 => {
                let late = std::mem::take(&mut self.late);
                self.results(late);
            }
            5 => {
                let id = self.call_id();
                let call = self.call(&id);
                self.out.push(json!({"role": "user", "content": [call]}));
            }
            6 => {
                let id = self.known_id().unwrap_or_else(|| "toolu_none".to_owned());
                let result = self.result(&id);
                self.assistant(None, vec![result, text("as I said")]);
            }
            7 => self.out.push(json!({"role": "user", "content": []})),
            8 => self.out.push(json!({"role": "user", "content": ""})),
            9 => {
                let thought = self.thinking();
                self.out.push(json!({"role": "user", "content": [thought, text("x")]}));
            }
            _ => self.assistant(None, vec![text("a last word \n ")]),
        }
    }

    fn assistant(&mut self, message_id: Option<&str>, blocks: Vec<Value>) {
        let mut message = json!({"role": "assistant"});
        message["content"] = Value::Array(blocks);
        if let Some(id) = message_id {
            message["assistant_message_id"] = Value::from(id);
        }
        self.out.push(message);
    }

    fn call(&mut self, id: &str) -> Value {
        let name = *self.rng.pick(&["Read", "Bash", "Grep", "Edit", "WebFetch", "mcp__own__tool"]);
        let path = format!("src/part_{}.rs", self.rng.below(8));
        json!({"type": "tool_use", "id": id, "name": name,
            "input": {"file_path": path, "command": self.words()}})
    }

    fn result(&mut self, id: &str) -> Value {
        let content = match self.rng.below(8) {
            0 => json!([text(&self.words()), image()]),
            1 => json!([]),
            2 => Value::from(""),
            3 => json!([text(&self.words()), text(&self.words())]),
            4 => Value::from(self.long()),
            _ => Value::from(self.words()),
        };
        let mut result = json!({"type": "tool_result", "tool_use_id": id, "content": content});
        if self.rng.one_in(6) {
            result["is_error"] = Value::from(true);
        }
        result
    }

    fn long(&mut self) -> String {
        let bytes = self.rng.below(self.shape.longest);
        let line = format!("{}: {}\n", self.number(), self.words());
        line.repeat(bytes / line.len() + 1)
    }

    fn thinking(&mut self) -> Value {
        if self.rng.one_in(5) {
            return json!({"type": "redacted_thinking", "data": format!("r{}", self.number())});
        }
        json!({"type": "thinking", "thinking": self.words(), "signature": format!("s{}", self.number())})
    }

    fn words(&mut self) -> String {
        const WORDS: [&str; 14] = [
            "fix",
            "the",
            "parser",
            "src/lib.rs",
            "läuft",
            "日本語のテスト",
            "\"quoted\"",
            "C:\\path",
            "\u{1f980}",
            "snake_case",
            "--flag",
            "E0308",
            "line\nbreak",
            "\u{2028}",
        ];
        let mut words: Vec<&str> = (0..self.rng.below(9)).map(|_| *self.rng.pick(&WORDS)).collect();
        words.push("end");
        words.join(" ")
    }

    fn call_id(&mut self) -> String {
        let id = format!("toolu_{}", self.number());
        self.ids.push(id.clone());
        id
    }

    fn known_id(&mut self) -> Option<String> {
        (!self.ids.is_empty()).then(|| self.rng.pick(&self.ids).clone())
    }

    fn number(&mut self) -> usize {
        self.made += 1;
        self.made
    }
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn image() -> Value {
    json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}})
}

fn unknown() -> Value {
    json!({"type": "container_upload", "file_id": "file_1", "extra": {"kept": [1, 2.50, null]}})
}

fn called(chunk: &[Value]) -> Vec<String> {
    let calls = chunk.iter().filter(|b| b["type"] == "tool_use");
    calls.filter_map(|b| b["id"].as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_the_same_history_and_both_kinds_are_made() {
        let shape = Shape { steps: 12, broken: true, longest: 100 };
        assert_eq!(history(&mut Rng::new(3), shape), history(&mut Rng::new(3), shape));
        let kinds: Vec<bool> = (0..50).map(|seed| Shape::any(&mut Rng::new(seed)).broken).collect();
        assert!(kinds.contains(&true) && kinds.contains(&false));
    }

    #[test]
    fn an_unbroken_history_answers_every_call_once_and_a_broken_one_need_not() {
        let unanswered = |broken: bool| {
            (0..200)
                .filter(|seed| {
                    let shape = Shape { steps: 8, broken, longest: 50 };
                    let made = history(&mut Rng::new(*seed), shape);
                    let blocks: Vec<Value> = made.iter().flat_map(crate::prompt::blocks).collect();
                    let mut calls = called(&blocks);
                    let mut results: Vec<String> = blocks
                        .iter()
                        .filter_map(|b| b["tool_use_id"].as_str().map(str::to_owned))
                        .collect();
                    calls.sort();
                    results.sort();
                    calls != results
                })
                .count()
        };
        assert_eq!(unanswered(false), 0);
        assert!(unanswered(true) > 50);
    }
}
