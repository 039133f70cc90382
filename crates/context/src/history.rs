//! A session's messages from some point on, with what every view of them needs, worked out once.

use std::collections::HashMap;
use std::sync::Arc;

use bethink_tokens::Estimator;
use bethink_transcript::message::is_white;
use bethink_transcript::{Block, BlockKind, Message, Seq, ToolUseId};
use serde::Deserialize;

/// What is worked out of a block when it arrives, so that no view reads its text again.
#[derive(Clone, Copy, Debug, Default)]
pub struct BlockFacts {
    pub tokens: u32,
    /// A text block without content.
    pub blank: bool,
    /// A tool result without content.
    pub empty_result: bool,
    /// Characters of a tool result's text.
    pub result_chars: u32,
}

/// One message with its facts.
#[derive(Clone, Debug)]
pub struct Entry {
    pub message: Arc<Message>,
    pub facts: Box<[BlockFacts]>,
}

impl Entry {
    pub fn new(message: Arc<Message>, estimator: &dyn Estimator) -> Self {
        let facts = message.blocks.iter().map(|b| facts_of(b, estimator)).collect();
        Self { message, facts }
    }

    pub fn tokens(&self) -> u64 {
        self.facts.iter().map(|f| u64::from(f.tokens)).sum()
    }

    pub fn blocks(&self) -> impl Iterator<Item = (&Block, &BlockFacts)> {
        self.message.blocks.iter().zip(&self.facts)
    }
}

fn facts_of(block: &Block, estimator: &dyn Estimator) -> BlockFacts {
    let tokens = estimator.block(block);
    match block.kind {
        BlockKind::Text => BlockFacts {
            tokens,
            blank: block.text().chars().all(is_white),
            ..BlockFacts::default()
        },
        BlockKind::ToolResult { .. } => {
            let chars = block.text().chars().count();
            BlockFacts {
                tokens,
                empty_result: chars == 0 && block.media == 0,
                result_chars: u32::try_from(chars).unwrap_or(u32::MAX),
                ..BlockFacts::default()
            }
        }
        _ => BlockFacts { tokens, ..BlockFacts::default() },
    }
}

/// A tool call that is in view.
#[derive(Clone, Debug)]
pub struct Call {
    pub name: Arc<str>,
    pub seq: Seq,
    /// The file that it is about, where its input names one.
    pub path: Option<Arc<str>>,
}

/// Append-only by type: there is no way to change or remove a message.
#[derive(Clone, Debug, Default)]
pub struct History {
    entries: Vec<Entry>,
    calls: HashMap<ToolUseId, Call>,
    weight: usize,
}

impl History {
    /// Appends; seqs ascend.
    pub fn push(&mut self, entry: Entry) {
        for (id, name, block) in entry.message.tool_uses() {
            let call = Call { name: name.into(), seq: entry.message.seq, path: path_of(block) };
            self.calls.entry(id.clone()).or_insert(call);
        }
        self.weight += entry.message.weight() + entry.facts.len() * size_of::<BlockFacts>();
        self.entries.push(entry);
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The messages from `seq` on.
    pub fn from(&self, seq: Seq) -> &[Entry] {
        let start = self.entries.partition_point(|e| e.message.seq < seq);
        self.entries.get(start..).unwrap_or_default()
    }

    pub fn last_seq(&self) -> Seq {
        self.entries.last().map_or(Seq::ZERO, |e| e.message.seq)
    }

    pub fn call(&self, id: &ToolUseId) -> Option<&Call> {
        self.calls.get(id)
    }

    /// The same history without what lies before `seq`; for a view that begins there.
    pub fn without_before(&self, seq: Seq) -> Self {
        let mut rest = Self::default();
        for entry in self.from(seq) {
            rest.push(entry.clone());
        }
        rest
    }

    /// Bytes held in memory.
    pub fn weight(&self) -> usize {
        self.weight
    }

    /// The block that carries the result of `id`, from `seq` on.
    pub fn result(&self, id: &ToolUseId, seq: Seq) -> Option<&Block> {
        self.from(seq)
            .iter()
            .flat_map(|e| e.message.tool_results())
            .find_map(|(found, _, block)| (found == id).then_some(block))
    }
}

fn path_of(block: &Block) -> Option<Arc<str>> {
    #[derive(Deserialize)]
    struct Input {
        #[serde(default, alias = "path", alias = "notebook_path", alias = "filePath")]
        file_path: Option<String>,
    }
    serde_json::from_str::<Input>(block.input()).ok()?.file_path.map(Into::into)
}
