//! A session's messages from some point on, with facts about them that every view needs, computed once.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use bethink_tokens::block_tokens;
use bethink_transcript::message::is_white;
use bethink_transcript::{Block, BlockKind, Message, Seq, ToolKind, ToolUseId};
use serde::Deserialize;

/// Facts about a block, computed when it arrives. No view reads its text again.
#[derive(Clone, Copy, Debug, Default)]
pub struct BlockFacts {
    pub tokens: u32,
    pub blank: bool,
    pub empty_result: bool,
    pub result_chars: u32,
}

#[derive(Clone, Debug)]
pub struct HistoryEntry {
    pub message: Arc<Message>,
    pub facts: Box<[BlockFacts]>,
}

impl HistoryEntry {
    pub fn new(message: Arc<Message>) -> Self {
        let facts = message.blocks.iter().map(facts_of).collect();
        Self { message, facts }
    }

    pub fn tokens(&self) -> u64 {
        self.facts.iter().map(|f| u64::from(f.tokens)).sum()
    }

    pub fn blocks(&self) -> impl Iterator<Item = (&Block, &BlockFacts)> {
        self.message.blocks.iter().zip(&self.facts)
    }
}

fn facts_of(block: &Block) -> BlockFacts {
    let text = block.text();
    let mut facts = BlockFacts { tokens: block_tokens(block, &text), ..BlockFacts::default() };
    match block.kind {
        BlockKind::Text => facts.blank = text.chars().all(is_white),
        BlockKind::ToolResult { .. } => {
            let chars = text.chars().count();
            facts.empty_result = chars == 0 && block.media == 0;
            facts.result_chars = u32::try_from(chars).unwrap_or(u32::MAX);
        }
        _ => {}
    }
    facts
}

#[derive(Clone, Debug)]
pub struct VisibleCall {
    pub name: Arc<str>,
    pub kind: Option<ToolKind>,
    pub seq: Seq,
    /// The file that the call's input names, if any.
    pub path: Option<Arc<str>>,
}

/// Messages in order. There is no method to change or remove one.
#[derive(Clone, Debug, Default)]
pub struct History {
    entries: Vec<HistoryEntry>,
    calls: HashMap<ToolUseId, VisibleCall>,
    /// Later calls with an id that was used before, oldest first.
    reused: HashMap<ToolUseId, Vec<VisibleCall>>,
    weight: usize,
}

impl History {
    /// Appends an entry; the sequence numbers must ascend.
    pub fn push(&mut self, entry: HistoryEntry) {
        for (id, name, block) in entry.message.tool_uses() {
            let call = VisibleCall {
                name: name.into(),
                kind: ToolKind::of(name),
                seq: entry.message.seq,
                path: path_of(block),
            };
            match self.calls.entry(id.clone()) {
                Entry::Vacant(free) => drop(free.insert(call)),
                Entry::Occupied(_) => self.reused.entry(id.clone()).or_default().push(call),
            }
        }
        self.weight += entry.message.weight() + entry.facts.len() * size_of::<BlockFacts>();
        self.entries.push(entry);
    }

    pub fn entries(&self) -> &[HistoryEntry] {
        &self.entries
    }

    pub fn from(&self, seq: Seq) -> &[HistoryEntry] {
        let start = self.entries.partition_point(|e| e.message.seq < seq);
        self.entries.get(start..).unwrap_or_default()
    }

    pub fn last_seq(&self) -> Seq {
        self.entries.last().map_or(Seq::ZERO, |e| e.message.seq)
    }

    /// Returns the newest call with this id before message `before`, which contains its result.
    pub fn call(&self, id: &ToolUseId, before: Seq) -> Option<&VisibleCall> {
        let later =
            self.reused.get(id).and_then(|calls| calls.iter().rev().find(|call| call.seq < before));
        later.or_else(|| self.calls.get(id))
    }

    /// Returns the history from `seq` on, for a view that begins there.
    pub fn without_before(&self, seq: Seq) -> Self {
        let mut rest = Self::default();
        self.from(seq).iter().cloned().for_each(|entry| rest.push(entry));
        rest
    }

    pub fn weight(&self) -> usize {
        self.weight
    }

    /// Returns the block with the result of `id`, in a message from `seq` on.
    pub fn result(&self, id: &ToolUseId, seq: Seq) -> Option<&Block> {
        self.from(seq)
            .iter()
            .flat_map(|e| e.message.tool_results())
            .find_map(|(found, _, block)| (found == id).then_some(block))
    }
}

fn path_of(block: &Block) -> Option<Arc<str>> {
    #[derive(Deserialize)]
    struct FileToolInput {
        #[serde(alias = "path", alias = "notebook_path", alias = "filePath")]
        file_path: Option<String>,
    }
    serde_json::from_str::<FileToolInput>(block.input()).ok()?.file_path.map(Into::into)
}
