//! System prompt and tools, which precede the messages of a model call.

use bethink_api::SystemPart;
use bethink_tokens::{json_tokens, text_tokens};
use bethink_transcript::prompt::hash_of;

use crate::assemble::{SystemBlock, UnknownPart, order_system};

/// The part of the system prompt that is about the project.
const PROJECT: &str = "project_context";

/// The texts that bethink adds to the project part of the system prompt.
#[derive(Clone, Debug, Default)]
pub struct ProjectTexts {
    pub instructions: Option<String>,
    /// The memory's index.
    pub memory: Option<String>,
}

/// System prompt and tools of a call, ready to be joined.
#[derive(Clone, Debug, Default)]
pub struct SystemAndTools {
    pub system: Vec<SystemBlock>,
    pub tools: String,
    pub tokens: FixedTokens,
    /// Whether the texts are unknown and assumed to be those of the last prompt.
    is_assumed: bool,
}

/// Number of tokens in the system prompt and tools, by part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FixedTokens {
    pub system: u64,
    pub instructions: u64,
    /// The memory's index.
    pub memory: u64,
    pub tools: u64,
}

impl FixedTokens {
    pub fn total(self) -> u64 {
        self.system + self.instructions + self.memory + self.tools
    }

    /// Returns the system prompt and tools without their texts, for callers that need only the numbers of tokens. The texts
    /// are assumed to be those of the last prompt.
    pub fn without_texts(self) -> SystemAndTools {
        let tools = "[]".to_owned();
        SystemAndTools { system: Vec::new(), tools, tokens: self, is_assumed: true }
    }
}

impl SystemAndTools {
    /// Returns hashes of the system prompt and tools, if they are known.
    pub(crate) fn hashes(&self) -> Option<[u64; 2]> {
        (!self.is_assumed).then(|| [hash_of(&self.system), hash_of(&self.tools)])
    }

    /// Joins the client's parts and bethink's. bethink's texts about the project follow the client's.
    pub fn new(
        client: &[SystemPart],
        tools: String,
        added: ProjectTexts,
    ) -> Result<Self, UnknownPart> {
        let parts = client.iter().map(|p| (p.part.clone(), p.text.clone()));
        let memory = added.memory.as_ref().map_or(0, |text| u64::from(text_tokens(text)));
        let own = [added.instructions, added.memory].into_iter().flatten();
        let parts = parts.chain(own.map(|text| (PROJECT.to_owned(), text))).collect();
        let system = order_system(parts)?;
        let of = |project: bool| -> u64 {
            let blocks = system.iter().filter(|b| (b.part == PROJECT) == project);
            blocks.map(|b| u64::from(text_tokens(&b.text))).sum()
        };
        let tokens = FixedTokens {
            system: of(false),
            instructions: of(true).saturating_sub(memory),
            memory,
            tools: if tools.len() > 2 { u64::from(json_tokens(&tools)) } else { 0 },
        };
        Ok(Self { system, tools, tokens, is_assumed: false })
    }

    /// Returns the text that bethink adds to the client's system prompt.
    pub fn added(&self) -> Option<String> {
        let added = self.system.iter().filter(|block| block.part == PROJECT);
        let added: Vec<&str> = added.map(|block| block.text.as_str()).collect();
        (!added.is_empty()).then(|| added.join("\n\n"))
    }
}
